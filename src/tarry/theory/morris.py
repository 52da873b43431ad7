"""Bounds for the Morris scheduler: admit with probability (1+ε)^(−|S_t|), never preempt. This project's own."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_int, as_positive
from tarry.theory.arguments import Array, harmonic

PATIENCE = 8
LARGEST_ORDER = 2048


def morris_moments(backlogs: ArrayLike, *, epsilon: float) -> Array:
    """E[w_t²] ≤ 1 + εσ_t.

    >>> morris_moments([0, 4], epsilon=0.5)
    array([1., 3.])
    """
    return 1.0 + as_positive(epsilon, "epsilon") * np.asarray(backlogs, dtype=np.float64)


def morris_markov_tail(*, epsilon: float, backlog: int, capacity: int) -> float:
    """P(|S_t| = C) ≤ (1 + εσ_t)(1+ε)^(−C), at most 1.

    >>> round(morris_markov_tail(epsilon=0.5, backlog=200, capacity=16), 2)
    0.15
    """
    rate = math.log1p(as_positive(epsilon, "epsilon"))
    return min(1.0, (1.0 + epsilon * backlog) * math.exp(-rate * as_int(capacity, "capacity", 1)))


def morris_tail(*, epsilon: float, backlog: int, capacity: int) -> float:
    """P(|S_t| = C) ≤ min_k (1+ε)^(−kC) Σ_{j≤k} binom(σ_t, j) Π_{i=k−j+1}^{k}((1+ε)^i − 1); 0 where σ_t < C.

    Summed in logarithms; k stops growing once it no longer helps, and every k is a bound. k = 1 is Markov's.

    >>> [round(morris_tail(epsilon=e, backlog=200, capacity=16), 4) for e in (0.35, 0.5)]
    [0.3047, 0.0003]
    """
    from scipy.special import gammaln, logsumexp

    n, c, x = (
        as_int(backlog, "backlog"),
        as_int(capacity, "capacity", 1),
        math.log1p(as_positive(epsilon, "epsilon")),
    )
    if n < c:
        return 0.0
    orders = np.arange(1, LARGEST_ORDER + 1)
    steps = np.concatenate(([0.0], np.cumsum(orders * x + np.log(-np.expm1(-orders * x)))))  # Σ_{i≤k} ln((1+ε)^i − 1)
    j = np.arange(min(LARGEST_ORDER, n) + 1)
    choices = gammaln(n + 1.0) - gammaln(j + 1.0) - gammaln(n - j + 1.0)
    best, idle = 0.0, 0
    for k in range(1, LARGEST_ORDER + 1):
        most = min(k, n)
        bound = float(logsumexp(choices[: most + 1] + steps[k] - steps[k - j[: most + 1]])) - k * c * x
        idle = 0 if bound < best else idle + 1
        best = min(best, bound)
        if idle == PATIENCE:
            break
    return math.exp(best)


def morris_saturation(*, epsilon: float, horizon: int, total_delay: float, capacity: int) -> float:
    """Σ_t P(|S_t| = C) ≤ (T + ε d_tot)(1+ε)^(−C).

    >>> morris_saturation(epsilon=1.0, horizon=1000, total_delay=24, capacity=10)
    1.0
    """
    return float((horizon + as_positive(epsilon, "epsilon") * total_delay) * (1.0 + epsilon) ** -float(capacity))


def morris_convex_bound(
    *,
    diameter: float,
    gradient_bound: float,
    epsilon: float,
    horizon: int,
    total_delay: float,
    capacity: int,
    anytime: bool = False,
) -> float:
    """GD√(T + (2+ε)d_tot) + GD·sat with the rate of ``morris_cost``; 1.5 times the root with anytime rates.

    sat is :func:`morris_saturation`.

    >>> game = dict(diameter=1.0, gradient_bound=1.0, epsilon=1.0, horizon=1000, total_delay=24)
    >>> round(morris_convex_bound(**game, capacity=10) ** 2, 3)
    1138.483
    """
    full = morris_saturation(epsilon=epsilon, horizon=horizon, total_delay=total_delay, capacity=capacity)
    root = math.sqrt(horizon + (2.0 + epsilon) * total_delay)
    return gradient_bound * diameter * ((1.5 if anytime else 1.0) * root + full)


def morris_strongly_convex_bound(
    *,
    gradient_bound: float,
    strong_convexity: float,
    epsilon: float,
    horizon: int,
    max_backlog: int,
    saturation: float,
) -> float:
    """(G²/λ)(1 + H_{T−1})(½ + (1 + ε/2)σ_max) + (4G²/λ)·sat, η_t = 1/(λt).

    ``saturation`` is Σ P(|S_t| = C) or a bound on it, as :func:`morris_saturation`.

    >>> game = dict(gradient_bound=1.0, strong_convexity=1.0, epsilon=1.0, horizon=2, max_backlog=1)
    >>> morris_strongly_convex_bound(**game, saturation=0.5)
    6.0
    """
    scale = gradient_bound**2 / as_positive(strong_convexity, "strong_convexity")
    noise = 0.5 + (1.0 + 0.5 * as_positive(epsilon, "epsilon")) * max_backlog
    return scale * ((1.0 + harmonic(horizon - 1)) * noise + 4.0 * saturation)
