"""What delays are: one non-negative integer per round, fixed before play, cut to the horizon.

A delays type answers the verb ``delay(delays, t)`` with min(d_t, horizon − t). Feedback of round t
arrives at the end of round t + d_t; zero means in the same round.

    O_t = {s < t : s + d_s < t}    arrived before t        σ_t = |B_t|   the backlog
    B_t = {s < t : s + d_s ≥ t}    pending at t            Σ_t σ_t = Σ_t d_t after the cut
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarry.checks import as_int
from tarry.kernel import entry, verb


@verb
def delay(delays: Any, t: int) -> int:
    """The delay of round t (from 1), cut to the horizon."""


@entry
def _fill(delays: Any, out: Any) -> None:
    for t in range(1, out.size + 1):
        out[t - 1] = delay(delays, t)


class Backlog(NamedTuple):
    """The quantities the theory speaks of."""

    total_delay: int
    max_delay: int
    max_backlog: int


class Delays:
    """The Python face shared by every delays type (mixin)."""

    __slots__ = ()

    horizon: int

    def first(self, rounds: int) -> NDArray[np.int64]:
        """The delays of rounds 1..``rounds``, cut to the horizon."""
        out = np.zeros(rounds, np.int64)
        _fill.dispatcher_for(self)(self, out)
        return out

    @property
    def values(self) -> NDArray[np.int64]:
        """All delays as an array, cut to the horizon."""
        return self.first(self.horizon)

    def backlog(self) -> NDArray[np.int64]:
        """σ_t for t = 1..horizon: rounds played before t whose feedback is still out."""
        return backlog_of(self.values)

    def summary(self) -> Backlog:
        """Total delay, largest delay and largest backlog."""
        values = self.values
        return Backlog(int(values.sum()), int(values.max()), int(backlog_of(values).max()))

    @property
    def total_delay(self) -> int:
        return int(self.values.sum())

    @property
    def max_delay(self) -> int:
        return int(self.values.max())

    @property
    def max_backlog(self) -> int:
        return int(self.backlog().max())

    def observed_set(self, t: int) -> NDArray[np.int64]:
        """O_t: the rounds before t whose feedback arrived before t, in increasing order."""
        earlier, arrived = self._arrived(t)
        return np.asarray(earlier[arrived])

    def backlog_set(self, t: int) -> NDArray[np.int64]:
        """B_t: the rounds before t whose feedback is still out, in increasing order."""
        earlier, arrived = self._arrived(t)
        return np.asarray(earlier[~arrived])

    def _arrived(self, t: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        if as_int(t, "t", 1) > self.horizon:
            raise ValueError(f"t must be at most the horizon {self.horizon}, got {t}")
        earlier = np.arange(1, int(t), dtype=np.int64)
        return earlier, earlier + self.first(int(t) - 1) < t


def backlog_of(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """σ_t from cut delays: rounds s < t minus those with s + d_s < t."""
    horizon = values.size
    arrivals = np.bincount(np.arange(horizon) + values, minlength=horizon)
    gone = np.concatenate(([0], np.cumsum(arrivals)[:-1]))
    return np.asarray(np.arange(horizon) - gone, dtype=np.int64)


def as_horizon(horizon: Any) -> int:
    """A positive whole number of rounds."""
    return as_int(horizon, "horizon", 1)
