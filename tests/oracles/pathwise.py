"""The sums in the paper's bounds on weighted regret by their definitions, which ``tarry.theory`` is held against."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tarry.theory.arguments import Array, per_round


def previous(rates: ArrayLike) -> Array:
    """η_{t−1} for t = 1..T from η_1..η_T, with the convention η_0 = η_1."""
    eta = np.asarray(rates, dtype=np.float64)
    return np.concatenate((eta[:1], eta[:-1]))


def bound_from_sums(
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

    >>> float(bound_from_sums(diameter=2, gradient_bound=1, last_rate=0.5, own=1.0, pairs=0.0))
    4.5
    """
    share = 0.5 if sharpened else 1.0
    spread = diameter**2 / (2.0 * np.asarray(last_rate, dtype=np.float64))
    return np.asarray(spread + gradient_bound**2 * (share * np.asarray(own) + np.asarray(pairs)))


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
    w, eta, far = per_round(weights=weights, rates=rates, distances=distances)
    return float(np.sum(0.5 * (increments(eta) - strong_convexity * w) * far**2))


def backlog_sums(weights: ArrayLike, delays: ArrayLike, rates: ArrayLike) -> tuple[float, float]:
    """``own`` and ``pairs`` from whole sequences, O(T · backlog): the definition, for checking.

    >>> backlog_sums([1.0, 2.0], [1, 0], [0.5, 0.5])
    (2.5, 1.0)
    """
    w, d, eta = per_round(weights=weights, delays=delays, rates=rates)
    arrival = np.arange(w.size) + d
    own = pairs = 0.0
    for t, rate in enumerate(previous(eta)):
        own += rate * w[t] ** 2
        pairs += rate * w[t] * float(w[:t][arrival[:t] >= t].sum())
    return float(own), float(pairs)


def bandit_noise(
    weights: ArrayLike, delays: ArrayLike, rates: ArrayLike, lengths: Array, *, sharpened: bool = False
) -> float:
    """2 Σ η_{t−1}(a_t² w_t² + a_t w_t √(Σ_{B_t} w_s²) + w_t Σ_{B_t} w_s), or with ½, 1, 1 for 2, 2, 2.

    ``lengths`` are a_t = kM/(Gδ_t), how much longer than G an estimate may be.

    >>> bandit_noise([1.0, 1.0], [1, 0], [0.5, 0.5], [2.0, 2.0])
    11.0
    """
    w, d, eta, a = per_round(weights=weights, delays=delays, rates=rates, lengths=lengths)
    arrival = np.arange(w.size) + d
    own = rest = 0.0
    for t, rate in enumerate(previous(eta)):
        waiting = w[:t][arrival[:t] >= t]
        own += rate * (a[t] * w[t]) ** 2
        rest += rate * w[t] * (a[t] * float(np.sqrt(np.sum(waiting**2))) + float(waiting.sum()))
    return float(0.5 * own + rest if sharpened else 2.0 * (own + rest))
