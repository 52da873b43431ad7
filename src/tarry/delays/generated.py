"""Delays made up round by round by a rule, in memory that does not grow with the horizon.

A generated type answers ``uncut(delays, t)``, the delay as if play never ended; the cut to the
horizon is made here, once for all of them. The uncut delay of a round does not depend on the
horizon, so a longer game begins like a shorter one.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarry.delays.base import Backlog, Delays, delay
from tarry.delays.survey import Survey, survey
from tarry.kernel import entry, step, verb

# Beyond this a delay is for ever, and adding a round to it still fits 64 bits.
LONGEST = 2.0**62


@verb
def uncut(delays: Any, t: int) -> int:
    """The delay of round t (from 1) before it is cut to the horizon."""


@step
def whole_rounds(x: Any) -> Any:
    """⌊x⌋ of a number x ≥ 0 (infinity too), clipped so that it fits 64 bits."""
    return int(min(x, LONGEST))


@entry
def _fill_uncut(delays: Any, start: Any, out: Any) -> None:
    for i in range(out.size):
        out[i] = uncut(delays, start + i)


class Generated(Delays):
    """The Python face of generated delays (mixin): summaries stream, only ``values`` is long."""

    __slots__ = ()

    def uncut(self, rounds: int, start: int = 1) -> NDArray[np.int64]:
        """The delays of ``rounds`` rounds from ``start`` on, before the cut."""
        out = np.zeros(rounds, np.int64)
        _fill_uncut.dispatcher_for(self)(self, start, out)
        return out

    def first(self, rounds: int) -> NDArray[np.int64]:
        return np.minimum(self.uncut(rounds), self.horizon - np.arange(1, rounds + 1))

    def summary(self) -> Backlog:
        return Backlog(*_surveyed(self)[:3])

    @property
    def total_delay(self) -> int:
        return _surveyed(self).total_delay

    @property
    def max_delay(self) -> int:
        return _surveyed(self).max_delay

    @property
    def max_backlog(self) -> int:
        return _surveyed(self).max_backlog

    @property
    def truncated(self) -> int:
        """How many rounds' delays reached past the horizon and were cut."""
        return _surveyed(self).truncated


@delay.on(Generated)
def _delay(delays: Any, t: Any) -> Any:
    return min(uncut(delays, t), delays.horizon - t)


@functools.lru_cache(maxsize=128)
def _surveyed(delays: Generated) -> Survey:
    return survey(delays.horizon, delays.uncut)
