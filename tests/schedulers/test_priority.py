"""Priority's heap and stack against the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from marking import slow_but

from tarry.schedulers import Priority, priority
from tarry.schedulers.base import RecordedUniforms
from tarry.testing import follow


def slow_weights(delays, capacity, uniforms):
    """Thresholds written to every member at every overflow, O(C) a round."""
    horizon = len(delays)
    weights = np.zeros(horizon)
    tau: dict[int, float] = {}
    for t in range(1, horizon + 1):
        tau[t] = 1.0
        if len(tau) > capacity:
            lost = max(tau, key=lambda s: uniforms[s - 1])
            del tau[lost]
            tau = {s: min(level, uniforms[lost - 1]) for s, level in tau.items()}
        for s in sorted(tau):
            if min(s + delays[s - 1], horizon) == t:
                weights[s - 1] = 1 / tau.pop(s)
    return weights


def ramps(rng, horizon, length):
    """Uniforms that mostly rise: evicted values rise with them and the stack of thresholds fills."""
    position = np.arange(horizon) % length
    return np.where(rng.random(horizon) < 0.1, rng.random(horizon), (position + rng.random(horizon)) / length)


@pytest.mark.parametrize("capacity", slow_but([1, 2, 3, 8, 40], {1, 8}))
def test_stack_equals_the_definition(capacity, monkeypatch):
    prunings = []
    prune = priority.prune

    def spy(state):
        before = int(state.counts[1])
        prune(state)
        prunings.append((before, int(state.counts[1])))

    monkeypatch.setattr(priority, "prune", spy)
    rng = np.random.default_rng(capacity)
    for uniforms in (rng.random(3000) + 1e-9, ramps(rng, 3000, 20 * capacity) + 1e-9):
        delays = rng.integers(0, 30 * capacity, 3000) * (rng.random(3000) < 0.8)
        uniforms = np.minimum(uniforms, 1.0)
        scheduler = Priority(allow_single=True)
        trace = follow(scheduler, delays, capacity=capacity, draws=RecordedUniforms(uniforms))
        assert np.array_equal(trace.weight, slow_weights(delays, capacity, uniforms))
    assert prunings
    assert all(after <= capacity for _, after in prunings)


@given(
    delays=st.lists(st.integers(0, 40), min_size=1, max_size=120),
    capacity=st.integers(1, 6),
    seed=st.integers(0, 2**32),
)
def test_any_delays(delays, capacity, seed):
    uniforms = 1.0 - np.random.default_rng(seed).random(len(delays))
    scheduler = Priority(allow_single=True)
    trace = follow(scheduler, delays, capacity=capacity, draws=RecordedUniforms(uniforms))
    assert np.array_equal(trace.weight, slow_weights(delays, capacity, uniforms))


def test_one_slot_is_refused():
    with pytest.raises(ValueError, match="infinite second moment at capacity 1"):
        Priority().check_capacity(1)
    Priority().check_capacity(2)
    Priority().check_capacity(None)
    Priority(allow_single=True).check_capacity(1)
