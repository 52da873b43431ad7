"""The bounds on DW-FTBL's expected weighted regret (the paper's DW-BCO theorem)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_positive
from tarry.theory.arguments import Array, previous, same_length
from tarry.theory.pathwise import curvature_sum
from tarry.theory.schedules import spread_of


def bandit_weighted_regret_bound(
    *,
    weights: ArrayLike,
    delays: ArrayLike,
    rates: ArrayLike,
    smoothing: ArrayLike,
    diameter: float,
    gradient_bound: float,
    value_bound: float,
    inner_radius: float,
    dimension: int,
    sharpened: bool = False,
) -> float:
    """D²/(2η_T) + 2G² Σ η_{t−1}(a_t² w_t² + a_t w_t √(Σ_{B_t} w_s²) + w_t Σ_{B_t} w_s) + (3GD/r) Σ w_t δ_t.

    a_t = kM/(Gδ_t); convex losses, weights fixed, in expectation over the directions. ``sharpened`` reads ½a_t² w_t²
    and drops the factor 2, as E|ĝ−g|² ≤ E|ĝ|² allows (this project). O(T · backlog).

    >>> one = dict(weights=[1.0], delays=[0], rates=[0.5], smoothing=[1.0], diameter=2.0, gradient_bound=1.0)
    >>> bandit_weighted_regret_bound(**one, value_bound=1.0, inner_radius=1.0, dimension=2)
    14.0
    """
    scale = {"value_bound": value_bound, "gradient_bound": gradient_bound, "inner_radius": inner_radius}
    spread = spread_of(**scale, dimension=dimension)
    noise = bandit_noise(weights, delays, rates, spread * inner_radius / np.asarray(smoothing), sharpened=sharpened)
    drift = 3.0 * gradient_bound * diameter / inner_radius * float(np.sum(np.multiply(weights, smoothing)))
    last = float(np.asarray(rates, dtype=np.float64)[-1])
    return diameter**2 / (2.0 * last) + gradient_bound**2 * noise + drift


def strongly_convex_bandit_weighted_regret_bound(
    *,
    weights: ArrayLike,
    delays: ArrayLike,
    rates: ArrayLike,
    smoothing: ArrayLike,
    distances: ArrayLike,
    gradient_bound: float,
    value_bound: float,
    inner_radius: float,
    dimension: int,
    strong_convexity: float,
    sharpened: bool = False,
) -> float:
    """Σ ½(α_t − w_t λ)|y_t − u|² + 2G² Σ η_{t−1}(…) + (10G²/(λr)) Σ w_t δ_t, the brackets as in the convex case.

    ``distances`` are |y_t − u| of the centres; take the mean of the result over runs. ``sharpened`` as above.

    >>> one = dict(weights=[1.0], delays=[0], rates=[0.5], smoothing=[1.0], distances=[1.0], gradient_bound=1.0)
    >>> game = dict(value_bound=1.0, inner_radius=1.0, dimension=2, strong_convexity=2.0)
    >>> strongly_convex_bandit_weighted_regret_bound(**one, **game)
    9.0
    """
    scale = {"value_bound": value_bound, "gradient_bound": gradient_bound, "inner_radius": inner_radius}
    spread = spread_of(**scale, dimension=dimension)
    noise = bandit_noise(weights, delays, rates, spread * inner_radius / np.asarray(smoothing), sharpened=sharpened)
    slope = 10.0 * gradient_bound**2 / (as_positive(strong_convexity, "strong_convexity") * inner_radius)
    start = curvature_sum(weights=weights, rates=rates, distances=distances, strong_convexity=strong_convexity)
    return start + gradient_bound**2 * noise + slope * float(np.sum(np.multiply(weights, smoothing)))


def bandit_noise(
    weights: ArrayLike, delays: ArrayLike, rates: ArrayLike, lengths: Array, *, sharpened: bool = False
) -> float:
    """2 Σ η_{t−1}(a_t² w_t² + a_t w_t √(Σ_{B_t} w_s²) + w_t Σ_{B_t} w_s), or with ½, 1, 1 for 2, 2, 2.

    ``lengths`` are a_t = kM/(Gδ_t), how much longer than G an estimate may be.

    >>> bandit_noise([1.0, 1.0], [1, 0], [0.5, 0.5], [2.0, 2.0])
    11.0
    """
    w, d, eta, a = same_length(weights=weights, delays=delays, rates=rates, lengths=lengths)
    arrival = np.arange(w.size) + d
    own = rest = 0.0
    for t, rate in enumerate(previous(eta)):
        waiting = w[:t][arrival[:t] >= t]
        own += rate * (a[t] * w[t]) ** 2
        rest += rate * w[t] * (a[t] * float(np.sqrt(np.sum(waiting**2))) + float(waiting.sum()))
    return float(0.5 * own + rest if sharpened else 2.0 * (own + rest))
