"""The naive policies against their definitions."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tarry.schedulers import Always, DropNewest, DropOldest, RandomEvict, Reservoir, Timeout
from tarry.schedulers.base import RecordedUniforms
from tarry.testing import follow


def slow_trace(delays, capacity, choose, age=None):
    """(entered, preempted_at) of a policy: ``choose(members)`` names the one to evict, or None to decline."""
    horizon = len(delays)
    tracked: list[int] = []
    entered, preempted_at = np.zeros(horizon, bool), np.zeros(horizon, np.int64)
    for t in range(1, horizon + 1):
        for s in [s for s in tracked if age is not None and s + age < t]:
            tracked.remove(s)
            preempted_at[s - 1] = t
        if len(tracked) == capacity:
            out = choose(tracked)
            if out is not None:
                tracked.remove(out)
                preempted_at[out - 1] = t
        if len(tracked) < capacity:
            tracked.append(t)
            entered[t - 1] = True
        tracked = [s for s in tracked if min(s + delays[s - 1], horizon) > t]
    return entered, preempted_at


@pytest.mark.parametrize(
    ("scheduler", "choose", "age"),
    [
        (DropNewest(), lambda members: None, None),
        (DropOldest(), min, None),
        (Timeout(5), lambda members: None, 5),
        (Timeout(0), lambda members: None, 0),
    ],
)
@pytest.mark.parametrize("capacity", [1, 3, 8])
def test_policies_without_chance(scheduler, choose, age, capacity):
    delays = np.random.default_rng(capacity).integers(0, 14, 400)
    trace = follow(scheduler, delays, capacity=capacity)
    entered, preempted_at = slow_trace(delays, capacity, choose, age)
    assert np.array_equal(trace.slot >= 0, entered)
    assert np.array_equal(trace.preempted_at, preempted_at)
    assert np.array_equal(trace.weight, (entered & (preempted_at == 0)).astype(float))


def fate_of_last(scheduler, delays, capacity, u):
    """The round that the last round evicted, or 0 if the last round was declined."""
    draws = RecordedUniforms(np.array([*[1.0] * (len(delays) - 1), u]))
    trace = follow(scheduler, delays, capacity=capacity, draws=draws)
    out = np.flatnonzero(trace.preempted_at == len(delays))
    return int(out[0]) + 1 if out.size else 0


def test_random_evict_is_uniform():
    grid = (np.arange(60) + 0.5) / 60
    lost = Counter(fate_of_last(RandomEvict(), [9] * 5, 4, u) for u in grid)
    assert lost == {1: 15, 2: 15, 3: 15, 4: 15}
    assert fate_of_last(RandomEvict(), [9] * 5, 4, 1.0) > 0


def test_reservoir_enters_in_proportion():
    """Six rounds pend before the last one and three are tracked: it enters with probability 3/7."""
    grid = (np.arange(70) + 0.5) / 70
    lost = Counter(fate_of_last(Reservoir(), [9] * 7, 3, u) for u in grid)
    assert lost == {0: 40, 1: 10, 2: 10, 3: 10}


def test_reservoir_counts_what_is_pending():
    """Declined rounds count until they are acknowledged: two of five have been, so the chance is 2/4."""
    grid = (np.arange(40) + 0.5) / 40
    lost = Counter(fate_of_last(Reservoir(), [9, 9, 1, 1, 9, 9], 2, u) for u in grid)
    assert lost[0] == 20


def test_always_sees_everything():
    trace = follow(Always(), np.random.default_rng(0).integers(0, 50, 200), capacity=None)
    assert np.all(trace.weight == 1.0)
