"""Delays given as an array."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarry.delays.base import Delays, delay
from tarry.kernel import Parameters


class Listed(Parameters, Delays, init=False):
    """One delay per round; ``truncated`` says how many reached past the horizon and were cut.

    >>> delays = array([2, 0, 5])
    >>> delays.values.tolist(), delays.truncated, delays.backlog().tolist()
    ([2, 0, 0], 1, [0, 1, 1])
    """

    cut: np.ndarray
    truncated: int

    def __new__(cls, values: ArrayLike) -> Self:
        given = as_delays(values)
        room = given.size - 1 - np.arange(given.size)
        cut = np.minimum(given, room)
        return cls.make(np.ascontiguousarray(cut), int(np.count_nonzero(given > room)))

    @property
    def horizon(self) -> int:  # type: ignore[override]
        return int(self.cut.size)

    def first(self, rounds: int) -> NDArray[np.int64]:
        return np.asarray(self.cut[:rounds])


@delay.on(Listed)
def _delay(delays: Any, t: Any) -> Any:
    return delays.cut[t - 1]


def array(values: ArrayLike) -> Listed:
    """Delays from an array, one per round."""
    return Listed(values)


def as_delays(values: ArrayLike) -> NDArray[np.int64]:
    """Validated delays: whole, not negative, one-dimensional."""
    given = np.asarray(values)
    if given.ndim != 1 or given.size == 0:
        raise ValueError(f"delays must be a list with one entry per round, got shape {given.shape}")
    if given.dtype.kind not in "iuf":
        raise ValueError(f"delays must be whole numbers of rounds, got {given[0]!r}: convert them first")
    if given.dtype.kind == "f" and np.any(_is_broken(given)):
        bad = given[_is_broken(given)][0]
        raise ValueError(f"delays must be whole numbers of rounds, got {bad!r}: round them first")
    if np.any(given > 2**62):
        raise ValueError(f"delays must be at most 2**62, got {given.max()!r}: cut them first")
    whole = given.astype(np.int64)
    if np.any(whole < 0):
        t = int(np.flatnonzero(whole < 0)[0])
        raise ValueError(f"delays must not be negative, got {whole[t]} in round {t + 1}")
    return whole


def _is_broken(given: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray(~np.isfinite(given) | (given != np.floor(given)))
