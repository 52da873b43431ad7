"""The conditional-energy tuning of *Beyond Peak Backlog* (Xiang, Yang, Shen), **unreviewed and not checked here**.

Values (bandit feedback) under a capacity, one coin p for all. Convex losses: epochs with thresholds on the global
backlog, a fixed radius in each, and a rate from how many rounds are tracked. Strongly convex losses: rates and radii
shifted by A = (νk)²/p. νk is the spread (:func:`tarry.theory.spread_of`).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import LARGEST, as_int, as_positive
from tarry.theory.arguments import Array
from tarry.theory.backlog import Counts


def energy_thresholds(capacity: int, count: int) -> Counts:
    """H_j = 2^j max(1, ⌊C/8⌋) − 1 for j = 0..count−1: epoch j lasts while σ_t ≤ H_j (unreviewed).

    >>> energy_thresholds(16, 4)
    array([ 1,  3,  7, 15])
    """
    unit, epochs = max(1, as_int(capacity, "capacity", 1) // 8), as_int(count, "count")
    if epochs and unit << (epochs - 1) >= LARGEST:
        raise ValueError(f"count must keep thresholds below 2**62, got {count} at capacity {capacity}")
    return unit * 2 ** np.arange(epochs, dtype=np.int64) - 1


def energy_probability(threshold: int, *, capacity: int, safety: float = 8.0) -> float:
    """p = min{1, C/(8(H + 1))} (unreviewed).

    >>> energy_probability(7, capacity=16)
    0.25
    """
    room = as_positive(safety, "safety") * (as_int(threshold, "threshold") + 1)
    return min(1.0, as_int(capacity, "capacity", 1) / room)


def energy_smoothing(*, spread: float, horizon: int, probability: float, factor: float = 1.0) -> float:
    """δ/r = min{1, c √(νk) (T·p)^(−1/4)} (unreviewed; the constant c is left open).

    >>> energy_smoothing(spread=1.0, horizon=256, probability=1.0)
    0.25
    """
    scale = as_positive(factor, "factor") * math.sqrt(as_positive(spread, "spread"))
    return min(1.0, scale * math.pow(as_int(horizon, "horizon", 1) * as_positive(probability, "probability"), -0.25))


def energy_rates(
    tracked: ArrayLike,
    *,
    diameter: float,
    gradient_bound: float,
    length: float,
    probability: float,
    threshold: int,
    capacity: int,
) -> Array:
    """η_t = D/(G√A_t), A_t = A_0 + Σ_{s≤t} 1{c_s < C}(z² + z√c_s + c_s)/p, A_0 = 2(z² + min(C−1, H) + 1)/p.

    Unreviewed. ``tracked`` are the c_t = |S_t| of an epoch's rounds, before each asks for a slot; ``length`` is
    z = νk/(δ/r).

    >>> game = dict(diameter=2.0, gradient_bound=1.0, length=1.0, probability=1.0, threshold=0, capacity=8)
    >>> energy_rates([0, 1], **game).round(4)
    array([0.8944, 0.7071])
    """
    c = np.asarray(tracked, dtype=np.float64)
    energy = np.where(c < capacity, length**2 + length * np.sqrt(c) + c, 0.0)
    start = 2.0 * (length**2 + min(capacity - 1, threshold) + 1.0)
    total = (start + np.cumsum(energy)) / as_positive(probability, "probability")
    return np.asarray(diameter / (as_positive(gradient_bound, "gradient_bound") * np.sqrt(total)))


def energy_offset(*, spread: float, probability: float) -> float:
    """A = (νk)²/p (unreviewed).

    >>> energy_offset(spread=3.0, probability=0.5)
    18.0
    """
    return as_positive(spread, "spread") ** 2 / as_positive(probability, "probability")


def energy_curved_rate(t: ArrayLike, *, strong_convexity: float, offset: float) -> Array:
    """η_t = 1/(λ(A + t)), strongly convex losses (unreviewed).

    >>> energy_curved_rate([1, 3], strong_convexity=0.5, offset=1.0)
    array([1. , 0.5])
    """
    curvature = as_positive(strong_convexity, "strong_convexity")
    return 1.0 / (curvature * (as_positive(offset, "offset") + np.asarray(t, dtype=np.float64)))


def energy_curved_smoothing(t: ArrayLike, *, offset: float) -> Array:
    """δ_t/r = (A/(A + t))^(1/3), strongly convex losses (unreviewed).

    >>> round(float(energy_curved_smoothing(7, offset=1.0)), 12)
    0.5
    """
    a = as_positive(offset, "offset")
    return np.asarray(np.cbrt(a / (a + np.asarray(t, dtype=np.float64))))
