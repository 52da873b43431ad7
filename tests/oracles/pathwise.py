"""The bounds on weighted regret as the paper states them, from whole sequences: DW-OCO and DW-BCO, and the wrapper."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_positive
from tarry.theory.arguments import Array, spread_of


def previous(rates: ArrayLike) -> Array:
    """η_{t−1} for t = 1..T from η_1..η_T, with the convention η_0 = η_1."""
    eta = np.asarray(rates, dtype=np.float64)
    return np.concatenate((eta[:1], eta[:-1]))


def same_length(**sequences: ArrayLike) -> list[Array]:
    """The sequences as arrays, refused unless each holds one number per round."""
    listed = {name: np.asarray(values, dtype=np.float64) for name, values in sequences.items()}
    sizes = {name: values.shape for name, values in listed.items()}
    if len(set(sizes.values())) > 1 or any(len(shape) != 1 or shape[0] == 0 for shape in sizes.values()):
        raise ValueError(f"one number per round is needed in each of {', '.join(sizes)}, got shapes {sizes}")
    return list(listed.values())


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


def wrapper_bound(weighted_regret: float, saturation: ArrayLike, *, diameter: float, gradient_bound: float) -> float:
    """E[R_T] ≤ E[R^w_T] + GD Σ_t P(|S_t| = C) (the theorem "Regret of Algorithm 1").

    >>> wrapper_bound(10.0, [0.0, 0.25], diameter=2.0, gradient_bound=1.0)
    10.5
    """
    return float(weighted_regret + gradient_bound * diameter * np.sum(np.asarray(saturation, dtype=np.float64)))
