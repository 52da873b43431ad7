"""What a delay sequence does to the backlog: the quantities every bound is written in."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Counts = NDArray[np.int64]


def cut(delays: ArrayLike) -> Counts:
    """The delays cut to T − t, as the paper assumes them.

    >>> cut([5, 0, 9])
    array([2, 0, 0])
    """
    d = np.asarray(delays)
    if d.ndim != 1 or d.size == 0:
        raise ValueError(f"delays must be a sequence with one number per round, got shape {d.shape}")
    if np.any(d < 0) or np.any(d != np.floor(d)):
        raise ValueError(f"delays must be whole numbers, not negative, got {d[(d < 0) | (d != np.floor(d))][0]}")
    return np.asarray(np.minimum(d, np.arange(d.size - 1, -1, -1)), dtype=np.int64)


def backlogs(delays: ArrayLike) -> Counts:
    """σ_t = |{s < t : s + d_s ≥ t}| for t = 1..T; Σσ_t = d_tot (the paper's lemma "Backlog properties").

    >>> backlogs([2, 2, 0, 1, 0])
    array([0, 1, 2, 1, 1])
    """
    d = cut(delays)
    steps = np.zeros(d.size + 2, dtype=np.int64)
    s = np.arange(d.size)
    np.add.at(steps, s + 1, 1)
    np.add.at(steps, s + d + 1, -1)
    return np.cumsum(steps)[: d.size]


def life_peaks(delays: ArrayLike) -> Counts:
    """N_t = max{σ_v : t ≤ v ≤ t + d_t}, the largest backlog in a round's life. O(T log T).

    Σ N_t ≤ 2 d_tot. This project's notation for its own schedulers.

    >>> life_peaks([2, 2, 0, 1, 0])
    array([2, 2, 2, 1, 1])
    """
    d = cut(delays)
    tables = [backlogs(d)]
    while 2 ** len(tables) <= int(d.max()) + 1:
        half = 2 ** (len(tables) - 1)
        below = tables[-1]
        tables.append(np.maximum(below[:-half], below[half:]))
    # Two overlapping windows of a power of two cover a life of d + 1 rounds.
    level = np.frexp(d + 1.0)[1] - 1
    peaks = np.empty(d.size, dtype=np.int64)
    for depth, table in enumerate(tables):
        t = np.flatnonzero(level == depth)
        peaks[t] = np.maximum(table[t], table[t + d[t] + 1 - 2**depth])
    return peaks
