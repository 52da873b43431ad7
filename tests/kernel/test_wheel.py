"""The timing wheel against a sorted list."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from tarry.kernel.wheel import grow_wheel, make_wheel, schedule, take, turn


@pytest.mark.parametrize("start", [1, 1_000_000, 2**30 - 3000])
def test_items_come_out_when_due_in_the_order_of_their_rounds(start: int) -> None:
    rng = np.random.default_rng(start)
    waits = np.floor(rng.pareto(0.4, size=3000)).clip(0, 5000).astype(int)
    wheel, expected = make_wheel(4), {}
    for now in range(start, start + 8100):
        turn(wheel, now)
        if now - start < waits.size:
            if wheel.meta[1] == wheel.room:
                wheel = grow_wheel(wheel, 2 * wheel.room)
            due = now + int(waits[now - start])
            schedule(wheel, now, due, now)
            expected.setdefault(due, []).append(now)
        came = list(iter(partial(take, wheel, now), -1))
        assert came == expected.pop(now, [])
    assert not expected
    assert wheel.meta[1] == 0
