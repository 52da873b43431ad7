"""The rates and smoothing radii of the paper's two main theorems, as functions of the round.

``t`` is a round or an array of rounds, from 1: ``rounds(T)`` gives them all. The bandit schedules know
the game by its *spread* νk = kM/(Gr), see :func:`spread_of`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_int, as_positive
from tarry.theory.arguments import Array


def rounds(horizon: int) -> Array:
    """1, 2, …, T as floats.

    >>> rounds(3)
    array([1., 2., 3.])
    """
    return np.arange(1.0, as_int(horizon, "horizon", 1) + 1.0)


def spread_of(*, value_bound: float, gradient_bound: float, inner_radius: float, dimension: int) -> float:
    """νk = kM/(Gr): how much longer one-point estimates are than gradients when δ = r.

    >>> spread_of(value_bound=2.0, gradient_bound=1.5, inner_radius=1.0, dimension=3)
    4.0
    """
    scale = as_positive(gradient_bound, "gradient_bound") * as_positive(inner_radius, "inner_radius")
    return as_int(dimension, "dimension", 1) * as_positive(value_bound, "value_bound") / scale


def convex_rate(*, diameter: float, gradient_bound: float, horizon: int, total_delay: float) -> float:
    """η = (D/G)/√(d_tot + T), the same in every round ("Capacity-Constrained OCO with Delays").

    >>> convex_rate(diameter=2.0, gradient_bound=1.0, horizon=60, total_delay=40)
    0.2
    """
    return (
        diameter
        / as_positive(gradient_bound, "gradient_bound")
        / math.sqrt(total_delay + as_int(horizon, "horizon", 1))
    )


def strongly_convex_rate(t: ArrayLike, *, strong_convexity: float) -> Array:
    """η_t = 1/(λt), with or without bandit feedback (both main theorems).

    >>> strongly_convex_rate([1, 2, 4], strong_convexity=0.5)
    array([2. , 1. , 0.5])
    """
    return 1.0 / (as_positive(strong_convexity, "strong_convexity") * np.asarray(t, dtype=np.float64))


def bandit_convex_smoothing(
    t: ArrayLike, *, spread: float, max_backlog: int, capacity: int, inner_radius: float = 1.0
) -> Array:
    """δ_t = r min{1, √(νk) t^(−1/4) (1 + σ_max/C)^(1/4)} ("Capacity-Constrained BCO with Delays").

    δ_t = r, so that the centre is ignored, for every t ≤ (νk)² (1 + σ_max/C).

    >>> round(float(bandit_convex_smoothing(81, spread=1.0, max_backlog=15, capacity=1)), 6)
    0.666667
    """
    crowding = 1.0 + max_backlog / as_int(capacity, "capacity", 1)
    return inner_radius * np.minimum(1.0, math.sqrt(spread) * (crowding / np.asarray(t, dtype=np.float64)) ** 0.25)


def bandit_convex_rate(
    t: ArrayLike, *, diameter: float, gradient_bound: float, spread: float, max_backlog: int, capacity: int
) -> Array:
    """η_t = (D/G)/(√t √(σ_max + (νk/(δ_t/r))² (1 + σ_max/C))) ("Capacity-Constrained BCO with Delays").

    >>> float(bandit_convex_rate(16, diameter=2.0, gradient_bound=1.0, spread=1.0, max_backlog=0, capacity=1))
    0.25
    """
    length = spread / bandit_convex_smoothing(t, spread=spread, max_backlog=max_backlog, capacity=capacity)
    variance = max_backlog + length**2 * (1.0 + max_backlog / capacity)
    ratio = diameter / as_positive(gradient_bound, "gradient_bound")
    return np.asarray(ratio / np.sqrt(np.asarray(t, dtype=np.float64) * variance))


def bandit_strongly_convex_smoothing(
    t: ArrayLike, *, spread: float, max_backlog: int, capacity: int, inner_radius: float = 1.0
) -> Array:
    """δ_t = r min{1, ((νk)² ln(t+1)/t)^(1/3) (1 + σ_max/C)^(1/3)} ("Capacity-Constrained BCO with Delays").

    >>> round(float(bandit_strongly_convex_smoothing(1000, spread=1.0, max_backlog=7, capacity=1)), 6)
    0.380917
    """
    n = np.asarray(t, dtype=np.float64)
    crowding = 1.0 + max_backlog / as_int(capacity, "capacity", 1)
    return inner_radius * np.minimum(1.0, np.cbrt(spread**2 * crowding * np.log(n + 1.0) / n))
