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

    @property
    def values(self) -> NDArray[np.int64]:
        """All delays as an array, cut to the horizon."""
        out = np.zeros(self.horizon, np.int64)
        _fill.of(self)(self, out)
        return out

    def backlog(self) -> NDArray[np.int64]:
        """σ_t for t = 1..horizon: rounds played before t whose feedback is still out."""
        return backlog_of(self.values)

    def summary(self) -> Backlog:
        """Total delay, largest delay and largest backlog."""
        values = self.values
        return Backlog(int(values.sum()), int(values.max()), int(backlog_of(values).max()))

    @property
    def total_delay(self) -> int:
        return self.summary().total_delay

    @property
    def max_delay(self) -> int:
        return self.summary().max_delay

    @property
    def max_backlog(self) -> int:
        return self.summary().max_backlog


def backlog_of(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """σ_t from cut delays: rounds s < t minus those with s + d_s < t."""
    horizon = values.size
    arrivals = np.bincount(np.arange(horizon) + values, minlength=horizon)
    gone = np.concatenate(([0], np.cumsum(arrivals)[:-1]))
    return np.asarray(np.arange(horizon) - gone, dtype=np.int64)


def as_horizon(horizon: Any) -> int:
    """A positive whole number of rounds."""
    if int(horizon) != horizon or horizon < 1:
        raise ValueError(f"horizon must be a whole number of at least 1, got {horizon}")
    return int(horizon)
