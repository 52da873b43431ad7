"""Rates and radii as their theorems state them, written anew: what the rules of the learners are held against."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import LARGEST, as_int, as_positive
from tarry.theory.arguments import Array, Counts


def strongly_convex_rate(t: ArrayLike, *, strong_convexity: float) -> Array:
    """η_t = 1/(λt), with or without bandit feedback (both main theorems).

    >>> strongly_convex_rate([1, 2, 4], strong_convexity=0.5)
    array([2. , 1. , 0.5])
    """
    return 1.0 / (as_positive(strong_convexity, "strong_convexity") * np.asarray(t, dtype=np.float64))


def anytime_rates(
    backlogs: ArrayLike, *, diameter: float, gradient_bound: float, own: float = 1.0, pending: float = 2.0
) -> Array:
    """η_1..η_T with η_{t−1} = D/(G√Σ_{s≤t}(own + pending·σ_s)) and η_T = η_{T−1}.

    σ_t is known when x_t is computed, so these need acknowledgements and no horizon. (1, 2) for Priority and
    VarOpt (Theorem 4 (b) of this project), (1, 2+ε) for Morris, (1/p, 2) for one coin p.

    >>> anytime_rates([0, 1, 2], diameter=2.0, gradient_bound=1.0)
    array([1.        , 0.66666667, 0.66666667])
    """
    running = np.cumsum(own + pending * np.asarray(backlogs, dtype=np.float64))
    ahead = np.concatenate((running[1:], running[-1:]))
    return np.asarray(diameter / (as_positive(gradient_bound, "gradient_bound") * np.sqrt(ahead)))


def bandit_anytime_smoothing(t: ArrayLike, *, spread: float, level: float) -> Array:
    """δ_t/r = min{1, √(νk) (ρ/t)^(1/4)}, Theorem 5 (b) of this project.

    >>> round(float(bandit_anytime_smoothing(81, spread=1.0, level=16.0)), 6)
    0.666667
    """
    return np.minimum(1.0, math.sqrt(spread) * (level / np.asarray(t, dtype=np.float64)) ** 0.25)


def bandit_anytime_rates(
    backlogs: ArrayLike, *, diameter: float, gradient_bound: float, spread: float, level: float
) -> Array:
    """η_1..η_T with η_{t−1} = D/(2G√Σ_{s≤t}(1.5σ_s + a_s²ρ)), η_T = η_{T−1}: Theorem 5 (b).

    >>> bandit_anytime_rates([0], diameter=2.0, gradient_bound=1.0, spread=1.0, level=1.0)
    array([1.])
    """
    sigma = np.asarray(backlogs, dtype=np.float64)
    lengths = spread / bandit_anytime_smoothing(np.arange(1.0, sigma.size + 1.0), spread=spread, level=level)
    running = np.cumsum(1.5 * sigma + lengths**2 * level)
    ahead = np.concatenate((running[1:], running[-1:]))
    return np.asarray(diameter / (2.0 * as_positive(gradient_bound, "gradient_bound") * np.sqrt(ahead)))


def bandit_curved_smoothing(t: ArrayLike, *, spread: float, level: float) -> Array:
    """δ_t/r = min{1, ((νk)²ρ ln(t+1)/t)^(1/3)}, Theorem 5 (d) of this project, with η_t = 1/(λt).

    >>> round(float(bandit_curved_smoothing(1000, spread=1.0, level=8.0)), 6)
    0.380917
    """
    n = np.asarray(t, dtype=np.float64)
    return np.minimum(1.0, np.cbrt(spread**2 * level * np.log(n + 1.0) / n))


def energy_thresholds(capacity: int, count: int) -> Counts:
    """H_j = 2^j max(1, ⌊C/8⌋) − 1 for j = 0..count−1: epoch j lasts while σ_t ≤ H_j (unreviewed).

    >>> energy_thresholds(16, 4)
    array([ 1,  3,  7, 15])
    """
    unit, epochs = max(1, as_int(capacity, "capacity", 1) // 8), as_int(count, "count")
    if epochs and unit << (epochs - 1) >= LARGEST:
        raise ValueError(f"count must keep thresholds below 2**62, got {count} at capacity {capacity}")
    return unit * 2 ** np.arange(epochs, dtype=np.int64) - 1


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


def energy_offset(*, spread: float, probability: float) -> float:
    """A = (νk)²/p (unreviewed).

    >>> energy_offset(spread=3.0, probability=0.5)
    18.0
    """
    return as_positive(spread, "spread") ** 2 / as_positive(probability, "probability")
