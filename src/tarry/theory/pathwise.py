"""The pathwise bound on DW-FTRL's weighted regret (the paper's DW-OCO theorem)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tarry.theory.arguments import Array, previous, same_length


def weighted_regret_bound(
    *,
    diameter: float,
    gradient_bound: float,
    last_rate: ArrayLike,
    own: ArrayLike,
    pairs: ArrayLike,
    sharpened: bool = True,
) -> Array:
    """D²/(2η_T) + G² (c Σ η_{t−1} w_t² + Σ η_{t−1} w_t Σ_{s∈B_t} w_s), η_0 = η_1.

    ``own`` is Σ η_{t−1} w_t² and ``pairs`` the double sum. c is ½ as the proof gives it, or 1 as the
    theorem prints it (``sharpened=False``).

    >>> float(weighted_regret_bound(diameter=2, gradient_bound=1, last_rate=0.5, own=1.0, pairs=0.0))
    4.5
    """
    share = 0.5 if sharpened else 1.0
    spread = diameter**2 / (2.0 * np.asarray(last_rate, dtype=np.float64))
    return np.asarray(spread + gradient_bound**2 * (share * np.asarray(own) + np.asarray(pairs)))


def strongly_convex_weighted_regret_bound(
    *,
    weights: ArrayLike,
    delays: ArrayLike,
    rates: ArrayLike,
    distances: ArrayLike,
    gradient_bound: float,
    strong_convexity: float,
    sharpened: bool = True,
) -> float:
    """Σ ½(α_t − w_t λ)|x_t − u|² + G² (c Σ η_{t−1} w_t² + Σ η_{t−1} w_t Σ_{s∈B_t} w_s): its second form.

    ``distances`` are |x_t − u|; with λ = 0 it bounds convex losses too, below D²/(2η_T). c as above.

    >>> one = dict(weights=[1.0], delays=[0], rates=[0.5], gradient_bound=1.0, strong_convexity=2.0)
    >>> strongly_convex_weighted_regret_bound(**one, distances=[1.0])
    0.25
    """
    own, pairs = backlog_sums(weights, delays, rates)
    share = 0.5 if sharpened else 1.0
    start = curvature_sum(weights=weights, rates=rates, distances=distances, strong_convexity=strong_convexity)
    return start + gradient_bound**2 * (share * own + pairs)


def increments(rates: ArrayLike) -> Array:
    """α_1 = 1/η_1, α_t = 1/η_t − 1/η_{t−1}; λ in every round for η_t = 1/(λt).

    >>> increments([0.5, 0.25, 0.25])
    array([2., 2., 0.])
    """
    return np.diff(1.0 / np.asarray(rates, dtype=np.float64), prepend=0.0)


def curvature_sum(*, weights: ArrayLike, rates: ArrayLike, distances: ArrayLike, strong_convexity: float) -> float:
    """Σ ½(α_t − w_t λ)|x_t − u|², which has mean zero for unbiased weights and η_t = 1/(λt).

    >>> curvature_sum(weights=[2.0, 0.0], rates=[1.0, 0.5], distances=[1.0, 2.0], strong_convexity=1.0)
    1.5
    """
    w, eta, far = same_length(weights=weights, rates=rates, distances=distances)
    return float(np.sum(0.5 * (increments(eta) - strong_convexity * w) * far**2))


def backlog_sums(weights: ArrayLike, delays: ArrayLike, rates: ArrayLike) -> tuple[float, float]:
    """``own`` and ``pairs`` from whole sequences, O(T · backlog): the definition, for checking.

    >>> backlog_sums([1.0, 2.0], [1, 0], [0.5, 0.5])
    (2.5, 1.0)
    """
    w, d, eta = same_length(weights=weights, delays=delays, rates=rates)
    arrival = np.arange(w.size) + d
    own = pairs = 0.0
    for t, rate in enumerate(previous(eta)):
        own += rate * w[t] ** 2
        pairs += rate * w[t] * float(w[:t][arrival[:t] >= t].sum())
    return float(own), float(pairs)
