"""Expected regret with this project's own schedulers: Theorems 4 and 5.

Stated for Priority at capacity C ≥ 2. For VarOpt pass C − 1 (C ≥ 3). There is no saturation term: every weight has
mean one. Losses and delays are fixed in advance.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_int, as_positive
from tarry.theory.arguments import harmonic, previous, same_length
from tarry.theory.moments import kappa
from tarry.theory.tunings import tracking_cost


def expected_bound(
    *, diameter: float, gradient_bound: float, rates: ArrayLike, moments: ArrayLike, backlogs: ArrayLike
) -> float:
    """D²/(2η_T) + G² Σ η_{t−1}(½E[w_t²] + σ_t), convex losses, any rates fixed in advance (Theorem 4).

    >>> expected_bound(diameter=2.0, gradient_bound=1.0, rates=[0.5, 0.5], moments=[1.0, 2.0], backlogs=[0, 1])
    5.25
    """
    eta, square, sigma = same_length(rates=rates, moments=moments, backlogs=backlogs)
    noise = float(np.sum(previous(eta) * (0.5 * square + sigma)))
    return float(diameter**2 / (2.0 * eta[-1])) + gradient_bound**2 * noise


def expected_bandit_bound(
    *,
    diameter: float,
    gradient_bound: float,
    spread: float,
    rates: ArrayLike,
    ratios: ArrayLike,
    moments: ArrayLike,
    crosses: ArrayLike,
    backlogs: ArrayLike,
) -> float:
    """D²/(2η_T) + G² Σ η_{t−1}(½a_t²E[w_t²] + a_t E[w_t√(Σ_{B_t} w_s²)] + σ_t) + 3GD Σ δ_t/r (Theorem 5).

    ``ratios`` are δ_t/r, a_t = νk/(δ_t/r); ``crosses`` the middle means, at most min{σ_t, √(σ_t ρ)}.

    >>> one = dict(rates=[0.5], ratios=[0.5], moments=[2.0], crosses=[0.0], backlogs=[0])
    >>> expected_bandit_bound(diameter=2.0, gradient_bound=1.0, spread=1.0, **one)
    9.0
    """
    eta, ratio, square, cross, sigma = same_length(
        rates=rates, ratios=ratios, moments=moments, crosses=crosses, backlogs=backlogs
    )
    a = spread / ratio
    noise = float(np.sum(previous(eta) * (0.5 * a**2 * square + a * cross + sigma)))
    start = float(diameter**2 / (2.0 * eta[-1])) + gradient_bound**2 * noise
    return start + 3.0 * gradient_bound * diameter * float(ratio.sum())


def tracking_convex_bound(
    *, diameter: float, gradient_bound: float, horizon: int, total_delay: float, capacity: int, tuned: bool = True
) -> float:
    """GD√(T + (2+3κ_C)d_tot) at its own rate, or 1.5(1+κ_C)GD√(T + d_tot) at the paper's: Theorem 4 (a).

    Tuned by ``optimised_rate`` with ``tracking_cost``.

    >>> game = dict(diameter=1.0, gradient_bound=1.0, horizon=100, total_delay=0, tuned=False)
    >>> [round(tracking_convex_bound(**game, capacity=c) / 10, 2) for c in (2, 8, 16)]
    [5.74, 2.02, 1.75]
    """
    scale = gradient_bound * diameter
    if tuned:
        return scale * math.sqrt(2.0 * tracking_cost(horizon=horizon, total_delay=total_delay, capacity=capacity))
    return 1.5 * (1.0 + kappa(capacity)) * scale * math.sqrt(horizon + total_delay)


def tracking_anytime_bound(
    *, diameter: float, gradient_bound: float, horizon: int, total_delay: float, capacity: int
) -> float:
    """GD√(T+2d_tot)·[1.5 + (c/2)(3 + log2(T+2d_tot))], c = eT^(1/C)/(C−1), with ``anytime_rates``: Theorem 4 (b).

    >>> round(tracking_anytime_bound(diameter=1.0, gradient_bound=1.0, horizon=1, total_delay=0, capacity=2), 3)
    5.577
    """
    c = math.e * math.pow(horizon, 1.0 / as_int(capacity, "capacity", 2)) / (capacity - 1.0)
    total = horizon + 2.0 * total_delay
    return gradient_bound * diameter * math.sqrt(total) * (1.5 + 0.5 * c * (3.0 + math.log2(total)))


def tracking_strongly_convex_bound(
    *, gradient_bound: float, strong_convexity: float, horizon: int, max_backlog: int, capacity: int
) -> float:
    """(G²/λ)(1+H_{T−1})[½ + σ_max(1 + e²/(2(C−1)))], η_t = 1/(λt), C ≥ ln T: Theorem 4 (c).

    For smaller C ≥ 2, κ_C(1+(C−1)T/σ_max)^(1/C) stands for e²/(C−1).

    >>> game = dict(gradient_bound=1.0, strong_convexity=1.0, max_backlog=2)
    >>> round(tracking_strongly_convex_bound(**game, horizon=2, capacity=2), 3)
    19.778
    """
    c = as_int(capacity, "capacity", 2)
    scale = gradient_bound**2 / as_positive(strong_convexity, "strong_convexity")
    if c >= math.log(horizon) or max_backlog == 0:
        factor = math.e**2 / (c - 1.0)
    else:
        factor = kappa(c) * (1.0 + (c - 1.0) * horizon / max_backlog) ** (1.0 / c)
    return scale * (1.0 + harmonic(horizon - 1)) * (0.5 + max_backlog * (1.0 + 0.5 * factor))


def tracking_bandit_bound(
    *,
    diameter: float,
    gradient_bound: float,
    spread: float,
    level: float,
    horizon: int,
    total_delay: float,
    anytime: bool = False,
) -> float:
    """GD[1.74√d_tot + 4.13 ρ^(1/4)√(νk)T^(3/4)], or 2.45 and 6 with anytime rates: Theorem 5 (a), (b).

    1.74 and 4.13 are √3 and 2√3·2^(1/4) rounded up. It holds for any scheduler whose moments are at most ρ, given its
    saturation term on top: ρ = 1/p for one coin p, 1 + εσ_max for Morris.

    >>> game = dict(diameter=1.0, gradient_bound=1.0, spread=1.0, level=1.0, horizon=16)
    >>> tracking_bandit_bound(**game, total_delay=0), tracking_bandit_bound(**game, total_delay=0, anytime=True)
    (33.04, 48.0)
    """
    late, noisy = (2.45, 6.0) if anytime else (1.74, 4.13)
    noise = math.pow(level * horizon**3, 0.25) * math.sqrt(spread)
    return gradient_bound * diameter * (late * math.sqrt(total_delay) + noisy * noise)


def tracking_free_bandit_bound(
    *, diameter: float, gradient_bound: float, spread: float, horizon: int, total_delay: float, capacity: int
) -> float:
    """GD[1.74√d_tot + 3.47√(νk)T^(3/4)(1 + (1+3κ_C)d_tot/T)^(1/4)], every C ≥ 2, no ρ: Theorem 5 (c).

    Tuned by ``bandit_free_smoothing`` and ``bandit_free_rate``.

    >>> game = dict(diameter=1.0, gradient_bound=1.0, spread=1.0, horizon=16, total_delay=0)
    >>> tracking_free_bandit_bound(**game, capacity=2)
    27.76
    """
    crowding = 1.0 + (1.0 + 3.0 * kappa(capacity)) * total_delay / horizon
    noise = math.sqrt(spread) * math.pow(horizon**3 * crowding, 0.25)
    return gradient_bound * diameter * (1.74 * math.sqrt(total_delay) + 3.47 * noise)


def tracking_strongly_convex_bandit_bound(
    *, gradient_bound: float, strong_convexity: float, spread: float, level: float, horizon: int, max_backlog: int
) -> float:
    """(G²/λ)[1.5σ_max(2 + ln T) + 18(ρ(νk)²T² ln(T+1))^(1/3)], η_t = 1/(λt): Theorem 5 (d).

    Smoothed by ``bandit_curved_smoothing``.

    >>> game = dict(gradient_bound=1.0, strong_convexity=1.0, spread=1.0, level=1.0, horizon=1)
    >>> round(tracking_strongly_convex_bandit_bound(**game, max_backlog=0), 3)
    15.93
    """
    scale = gradient_bound**2 / as_positive(strong_convexity, "strong_convexity")
    noise = float(np.cbrt(level * spread**2 * horizon**2 * math.log(horizon + 1.0)))
    return scale * (1.5 * max_backlog * (2.0 + math.log(horizon)) + 18.0 * noise)
