"""The pathwise bound on DW-FTRL's weighted regret (the paper's DW-OCO theorem)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


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


def backlog_sums(weights: ArrayLike, delays: ArrayLike, rates: ArrayLike) -> tuple[float, float]:
    """``own`` and ``pairs`` from whole sequences, O(T · backlog): the definition, for checking.

    >>> backlog_sums([1.0, 2.0], [1, 0], [0.5, 0.5])
    (2.5, 1.0)
    """
    w, d, eta = (np.asarray(values, dtype=np.float64) for values in (weights, delays, rates))
    arrival = np.arange(w.size) + d
    own = pairs = 0.0
    for t in range(w.size):
        rate = eta[max(t - 1, 0)]
        waiting = arrival[:t] >= t
        own += rate * w[t] ** 2
        pairs += rate * w[t] * float(w[:t][waiting].sum())
    return float(own), float(pairs)
