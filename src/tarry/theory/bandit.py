"""The bound on DW-FTBL's expected weighted regret (the paper's DW-BCO theorem)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


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
) -> float:
    """D²/(2η_T) + 2G² Σ η_{t−1}(a_t² w_t² + a_t w_t √(Σ_{B_t} w_s²) + w_t Σ_{B_t} w_s) + (3GD/r) Σ w_t δ_t.

    a_t = kM/(Gδ_t); convex losses, weights fixed, in expectation over the directions. O(T · backlog).
    """
    w, d, eta, delta = (np.asarray(v, dtype=np.float64) for v in (weights, delays, rates, smoothing))
    arrival = np.arange(w.size) + d
    spread = dimension * value_bound / (gradient_bound * delta)
    total = 0.0
    for t in range(w.size):
        waiting = w[:t][arrival[:t] >= t]
        cross = spread[t] * w[t] * float(np.sqrt(np.sum(waiting**2)))
        total += eta[max(t - 1, 0)] * (spread[t] ** 2 * w[t] ** 2 + cross + w[t] * float(waiting.sum()))
    drift = 3.0 * gradient_bound * diameter / inner_radius * float(np.sum(w * delta))
    return float(diameter**2 / (2.0 * eta[-1]) + 2.0 * gradient_bound**2 * total + drift)
