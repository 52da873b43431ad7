"""Delays made up round by round by a rule, in memory that does not grow with the horizon.

A generated type answers ``uncut(delays, t)``, the delay as if play never ended; the cut to the horizon is made here.
The uncut delay of a round does not depend on the horizon, so a longer game begins like a shorter one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from tarry.checks import Count
from tarry.delays.base import Backlog, Counts, Delays, delay
from tarry.kernel import entry, step, verb
from tarry.kernel.wheel import Wheel, grow_wheel, make_wheel, schedule, take, turn

# Beyond this a delay is for ever, and adding a round to it still fits 64 bits.
LONGEST = 2.0**62
BLOCK = 1 << 16  # rounds surveyed together: half a megabyte, and compiled calls too long to count
TOTAL, LARGEST, PEAK, CUT, LASTING = range(5)


class Generated(Delays):
    """Base of generated delays: summaries stream, only ``values`` is long."""

    horizon: Count

    def uncut(self, rounds: int, start: int = 1) -> Counts:
        """Return the delays of ``rounds`` rounds from ``start`` on, before the cut."""
        out = np.zeros(rounds, np.int64)
        _fill_uncut.dispatcher_for(self)(self, start, out)
        return out

    def first(self, rounds: int) -> Counts:
        return np.minimum(self.uncut(rounds), self.horizon - np.arange(1, rounds + 1))

    def summary(self) -> Backlog:
        return _surveyed(self)[0]

    @property
    def truncated(self) -> int:
        return _surveyed(self)[1]


@verb
def uncut(delays: Generated, t: int) -> int:
    """Return the delay of round t (from 1) before it is cut to the horizon."""


@delay.on(Generated)
def _delay(delays: Generated, t: int) -> int:
    return min(uncut(delays, t), delays.horizon - t)


@step
def whole_rounds(x: float) -> int:
    """Return ⌊x⌋ of a number x ≥ 0 (infinity too), clipped so that it fits 64 bits."""
    return int(min(x, LONGEST))


@entry
def _fill_uncut(delays: Generated, start: int, out: Counts) -> None:
    for i in range(out.size):
        out[i] = uncut(delays, start + i)


@functools.lru_cache(maxsize=128)
def _surveyed(delays: Generated) -> tuple[Backlog, int]:
    return survey(delays.horizon, delays.uncut)


def survey(horizon: int, uncut: Callable[[int, int], Counts]) -> tuple[Backlog, int]:
    """Return the backlog of delays and how many were cut; ``uncut(rounds, start)`` gives a block before the cut.

    One pass, in memory bounded by the backlog and one block: pending rounds wait in a timing wheel, whose count is
    the backlog.
    """
    wheel = make_wheel(min(BLOCK, horizon))
    sums = np.zeros(5, np.int64)
    run = _survey.dispatcher_for()
    for start in range(1, horizon + 1, BLOCK):
        block = uncut(min(BLOCK, horizon + 1 - start), start)
        room = int(wheel.meta[1]) + block.size
        if room > wheel.room:  # at least half more each time, so that growing is paid for by the rounds
            wheel = grow_wheel(wheel, max(room, 3 * wheel.room // 2))
        run(block, start, horizon, wheel, sums)
    return Backlog(*sums[: PEAK + 1].tolist()), int(sums[CUT])


@entry
def _survey(block: Counts, start: int, horizon: int, wheel: Wheel, sums: Counts) -> None:
    for i in range(block.size):
        t = start + i
        turn(wheel, t)
        sums[PEAK] = max(sums[PEAK], wheel.meta[1] + sums[LASTING])
        wait = block[i]
        if wait > horizon - t:
            wait = horizon - t
            sums[CUT] += 1
        sums[TOTAL] += wait
        sums[LARGEST] = max(sums[LARGEST], wait)
        # Feedback that comes with the last round never leaves the backlog in time: it is counted, not scheduled.
        if wait == horizon - t:
            sums[LASTING] += 1
        else:
            schedule(wheel, t, t + wait, t)
        while take(wheel, t) > 0:
            pass  # leaving the wheel is all that an arrival does here
