"""One pass over delays of any number, in memory bounded by the backlog and one block.

Delays come in blocks; pending rounds wait in a timing wheel, whose count is the backlog. A round
whose feedback comes with the last round never leaves the backlog in time and is only counted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarry.kernel import entry
from tarry.kernel.wheel import grow_wheel, make_wheel, schedule, take, turn

BLOCK = 1 << 16
TOTAL, LONGEST, PEAK, CUT, LASTING = range(5)


class Survey(NamedTuple):
    """What one pass finds, after the cut to the horizon."""

    total_delay: int
    max_delay: int
    max_backlog: int
    truncated: int


def survey(horizon: int, uncut: Callable[[int, int], NDArray[np.int64]]) -> Survey:
    """Survey delays given as ``uncut(rounds, start)``, the next so many rounds before the cut."""
    wheel = make_wheel(min(BLOCK, horizon))
    sums = np.zeros(5, np.int64)
    run = _survey.dispatcher_for()
    for start in range(1, horizon + 1, BLOCK):
        block = uncut(min(BLOCK, horizon + 1 - start), start)
        room = int(wheel.meta[1]) + block.size
        if room > wheel.room:
            wheel = grow_wheel(wheel, max(room, 3 * wheel.room // 2))
        run(block, start, horizon, wheel, sums)
    return Survey(*sums[:LASTING].tolist())


@entry
def _survey(block: Any, start: Any, horizon: Any, wheel: Any, sums: Any) -> None:
    for i in range(block.size):
        t = start + i
        turn(wheel, t)
        sums[PEAK] = max(sums[PEAK], wheel.meta[1] + sums[LASTING])
        wait = block[i]
        if wait > horizon - t:
            wait = horizon - t
            sums[CUT] += 1
        sums[TOTAL] += wait
        sums[LONGEST] = max(sums[LONGEST], wait)
        if wait == horizon - t:
            sums[LASTING] += 1
        else:
            schedule(wheel, t, t + wait, t)
        while take(wheel, t) > 0:
            pass
