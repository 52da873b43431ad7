"""Bounds for the batching scheduler: one round of every b, drawn evenly, weight b. This project's own."""

from __future__ import annotations

import math

from tarry.checks import as_int, as_positive
from tarry.errors import ArgumentError
from tarry.theory.arguments import harmonic


def batch_length(*, max_delay: int, capacity: int) -> int:
    """b = max{1, ⌈d_max/(C−1)⌉}, the shortest batch that never fills C ≥ 2 slots (C ≥ 1 for d_max = 0).

    >>> [batch_length(max_delay=6, capacity=c) for c in (2, 3, 4, 7, 8)]
    [6, 3, 2, 1, 1]
    """
    slots = as_int(capacity, "capacity", 1)
    delay = as_int(max_delay, "max_delay")
    if slots == 1 and delay > 0:
        remedy = "raise it, or use Bernoulli(probability=…), which keeps its rounds too"
        raise ArgumentError("capacity", f"must be at least 2 for batches and delays of up to {delay}", slots, remedy)
    return max(1, -(-delay // max(1, slots - 1)))


def batching_cost(*, horizon: int, total_delay: float, max_delay: int, capacity: int, is_fixed: bool = False) -> float:
    """Σ(½E[w_t²] + Σ_{s∈B_t} E[w_s w_t]) ≤ ½bT + d_tot, with equality where no two of a batch wait at once.

    If every delay is d_max (``is_fixed``) rounds of a batch wait together, exclude each other, and pay for b: the sum
    is ½(T + m(b−m)) + d_tot, m = T mod b the length of a batch cut by the end.

    >>> game = dict(horizon=100, total_delay=1790, max_delay=20, capacity=3)
    >>> batching_cost(**game), batching_cost(**game, is_fixed=True)
    (2290.0, 1840.0)
    """
    rounds, total = as_int(horizon, "horizon", 1), float(total_delay)
    batch = batch_length(max_delay=max_delay, capacity=capacity)
    if not 0 <= total < math.inf:
        raise ValueError(f"total_delay must be finite and not negative, got {total_delay!r}")
    if is_fixed and total < _fixed_total(rounds, max_delay):
        raise ValueError(
            f"{rounds} delays of {max_delay}, cut at the end, add up to {_fixed_total(rounds, max_delay)}, got "
            f"total_delay={total_delay}: is_fixed means that every delay equals max_delay"
        )
    cut = rounds % batch
    own = rounds + cut * (batch - cut) if is_fixed else batch * rounds
    return 0.5 * own + total


def _fixed_total(horizon: int, delay: int) -> int:
    """Σ_t min(d, T − t)."""
    most = min(int(delay), horizon)
    return most * horizon - most * (most + 1) // 2


def batching_convex_bound(
    *,
    diameter: float,
    gradient_bound: float,
    horizon: int,
    total_delay: float,
    max_delay: int,
    capacity: int,
    is_fixed: bool = False,
) -> float:
    """GD√(bT + 2d_tot) at its own rate, convex losses, delays of at most d_max; GD√(T + m(b−m) + 2d_tot) if all equal.

    Tuned by ``optimised_rate`` with :func:`batching_cost`.

    >>> game = dict(diameter=1.0, gradient_bound=1.0, horizon=100, total_delay=1790, max_delay=20, capacity=3)
    >>> round(batching_convex_bound(**game) ** 2), round(batching_convex_bound(**game, is_fixed=True) ** 2)
    (4580, 3680)
    """
    cost = batching_cost(
        horizon=horizon, total_delay=total_delay, max_delay=max_delay, capacity=capacity, is_fixed=is_fixed
    )
    return as_positive(gradient_bound, "gradient_bound") * as_positive(diameter, "diameter") * math.sqrt(2.0 * cost)


def batching_strongly_convex_bound(
    *, gradient_bound: float, strong_convexity: float, horizon: int, max_backlog: int, max_delay: int, capacity: int
) -> float:
    """(G²/λ)(1 + H_{T−1})(b/2 + σ_max), η_t = 1/(λt).

    >>> game = dict(gradient_bound=1.0, strong_convexity=1.0, horizon=2, max_backlog=4, max_delay=6)
    >>> batching_strongly_convex_bound(**game, capacity=4)
    10.0
    """
    batch = batch_length(max_delay=max_delay, capacity=capacity)
    scale = as_positive(gradient_bound, "gradient_bound") ** 2 / as_positive(strong_convexity, "strong_convexity")
    waiting = as_int(max_backlog, "max_backlog")
    return scale * (1.0 + harmonic(as_int(horizon, "horizon", 1) - 1)) * (0.5 * batch + waiting)
