"""VarOpt's run layout against a slow reference, and its invariant."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from marking import slow_but
from paths import overflow

from tarry.schedulers import VarOpt, varopt
from tarry.schedulers.base import RecordedUniforms, allocate, held, without_unused
from tarry.testing import follow
from tarry.tracking.tally import WEIGHT, balance


def restless_delays(rng, horizon, capacity):
    """Blocks of idle, busy and crowded rounds, so that runs are merged, emptied and compacted."""
    blocks = []
    while sum(map(len, blocks)) < horizon:
        largest = rng.choice([1, capacity // 2 + 1, capacity, 3 * capacity, 20 * capacity])
        blocks.append(rng.integers(0, largest + 1, rng.integers(1, 6 * capacity)))
    return np.concatenate(blocks)[:horizon]


def slow_weights(delays, capacity, trace, sizes=None):
    """Weights by the definition, O(C) a round, losing whom the trace lost."""
    horizon = delays.size
    sizes = np.ones(horizon) if sizes is None else sizes
    cut = np.minimum(delays, np.arange(horizon)[::-1])
    members: dict[int, float] = {}
    weights = np.zeros(horizon)
    due: dict[int, list[int]] = {}
    for t in range(1, horizon + 1):
        due.setdefault(t + int(cut[t - 1]), []).append(t)
        members[t] = sizes[t - 1]
        if len(members) > capacity:
            ordered = np.sort(list(members.values()))
            sums = np.cumsum(ordered)
            k = 2
            while k < ordered.size and sums[k - 1] / (k - 1) > ordered[k]:
                k += 1
            theta = sums[k - 1] / (k - 1)
            gone = np.flatnonzero(trace.preempted_at == t)
            lost = int(gone[0]) + 1 if gone.size else t
            assert members.pop(lost) < theta * (1 + 1e-12), f"round {lost} could not be lost in round {t}"
            members = {s: max(w, theta) for s, w in members.items()}
        assert trace.after[t - 1] == len(members)
        for s in due.pop(t, []):
            if s in members:
                weights[s - 1] = members.pop(s) / sizes[s - 1]
    return weights


@pytest.mark.parametrize("capacity", slow_but([1, 2, 3, 7, 16, 40], {1, 3, 16}))
def test_runs_equal_the_slow_reference(capacity, monkeypatch):
    compactions = []
    compact = varopt.compact

    def spy(state):
        compactions.append(int(state.top[0]))
        compact(state)

    monkeypatch.setattr(varopt, "compact", spy)
    delays = restless_delays(np.random.default_rng(capacity), 4000, capacity)
    trace = follow(VarOpt(), delays, capacity=capacity, seed=capacity)
    assert np.allclose(trace.weight, slow_weights(delays, capacity, trace), rtol=1e-9, atol=0)
    assert capacity < 3 or len(compactions) > 3


@given(
    delays=st.lists(st.integers(0, 60), min_size=1, max_size=150),
    capacity=st.integers(1, 9),
    seed=st.integers(0, 2**32),
)
def test_any_delays(delays, capacity, seed):
    def watch(player, state, t):
        runs = state.scheduler
        used = runs.weight[: runs.top[0]]
        assert np.all(np.diff(used) <= 0), "runs stand by decreasing weight"
        assert runs.size[: runs.top[0]].sum() == state.table.counts[0]
        total = state.tally.sums[WEIGHT] + held(player.scheduler, state.scheduler)
        assert abs(total - t) <= 1e-10 * t

    trace = follow(VarOpt(), delays, capacity=capacity, seed=seed, watch=watch)
    slow = slow_weights(np.array(delays), capacity, trace)
    assert np.allclose(trace.weight, slow, rtol=1e-9, atol=0)
    assert abs(trace.weight.sum() - len(delays)) <= 1e-10 * len(delays)


SIZES = {
    "log-normal": lambda rng, n: np.exp(rng.normal(0.0, 1.5, n)),
    "few values": lambda rng, n: rng.choice([0.5, 1.0, 4.0, 50.0], n),
    "rising": lambda rng, n: 1.01 ** np.arange(n),
    "falling": lambda rng, n: 1.01 ** -np.arange(n),
}


def check_runs(player, state, t):
    """The layout after a round: decreasing weights, no overlap, every member where it is said to stand."""
    runs, top = state.scheduler, int(state.scheduler.top[0])
    start, size = runs.start[:top], runs.size[:top]
    assert np.all(np.diff(runs.weight[:top]) <= 0), "runs stand by decreasing weight"
    assert np.all(start[:-1] + size[:-1] <= start[1:])
    placed = [int(runs.members[at]) for a, n in zip(start, size, strict=True) for at in range(a, a + n)]
    assert sorted(placed) == np.flatnonzero(state.table.rounds).tolist()
    assert all(runs.members[runs.place[slot]] == slot for slot in placed)
    assert top == 0 or size[-1] > 0
    assert np.isclose(balance(state.tally, held(player.scheduler, state.scheduler), t), 1.0, rtol=1e-11)


@pytest.mark.parametrize("kind", SIZES)
@pytest.mark.parametrize("capacity", [1, 2, 7, 40])
def test_sizes_equal_the_slow_reference(capacity, kind, monkeypatch):
    compactions = []
    compact = varopt.compact
    monkeypatch.setattr(varopt, "compact", lambda state: (compactions.append(1), compact(state)))
    rng = np.random.default_rng(capacity)
    delays = restless_delays(rng, 600, capacity)
    sizes = SIZES[kind](rng, 600)
    trace = follow(VarOpt(), delays, capacity=capacity, seed=capacity, sizes=sizes, watch=check_runs)
    assert np.allclose(trace.weight, slow_weights(delays, capacity, trace, sizes), rtol=1e-9, atol=0)
    assert capacity != 7 or kind != "log-normal" or compactions


@given(
    rounds=st.lists(st.tuples(st.integers(0, 30), st.floats(1e-3, 1e3)), min_size=1, max_size=80),
    capacity=st.integers(1, 6),
    seed=st.integers(0, 2**32),
)
def test_any_delays_and_sizes(rounds, capacity, seed):
    delays, sizes = (np.array(column) for column in zip(*rounds, strict=True))
    trace = follow(VarOpt(), delays, capacity=capacity, seed=seed, sizes=sizes, watch=check_runs)
    assert np.allclose(trace.weight, slow_weights(delays, capacity, trace, sizes), rtol=1e-9, atol=0)
    assert np.isclose((trace.weight * sizes).sum(), sizes.sum(), rtol=1e-10)


@pytest.mark.parametrize("newcomer", [0.3, 2.0, 40.0])
def test_the_chance_to_be_lost_is_that_of_the_definition(newcomer):
    """One overflow, a grid of uniforms: the share of them that loses each candidate."""
    sizes, grid = [5.0, 0.7, 11.0, newcomer], 400
    _, chances = overflow(dict(enumerate(map(Fraction, sizes), 1)), 3)
    lost = dict.fromkeys(chances, 0)
    for i in range(grid):
        draws = RecordedUniforms(np.full(4, (i + 0.5) / grid))
        trace = follow(VarOpt(), [9, 9, 9, 9], capacity=3, draws=draws, sizes=sizes)
        gone = np.flatnonzero(trace.preempted_at == 4)
        lost[int(gone[0]) + 1 if gone.size else 4] += 1
    assert all(abs(count / grid - chances[s]) <= 1 / grid for s, count in lost.items())


def test_sizes_of_one_change_no_bit():
    delays = restless_delays(np.random.default_rng(3), 2000, 7)
    plain, sized = (follow(VarOpt(), delays, capacity=7, seed=4, sizes=sizes) for sizes in (None, np.ones(2000)))
    assert np.array_equal(plain.weight, sized.weight)
    assert np.array_equal(plain.preempted_at, sized.preempted_at)


def test_without_a_limit_nothing_is_weighed():
    sizes = SIZES["log-normal"](np.random.default_rng(3), 300)
    trace = follow(VarOpt(), np.full(300, 60), capacity=None, sizes=sizes, grow=True)
    assert np.all(trace.weight == 1.0)


@pytest.mark.jit(only=True)
def test_compiled_sizes_equal_plain():
    rng = np.random.default_rng(8)
    delays, sizes = restless_delays(rng, 3000, 12), SIZES["log-normal"](rng, 3000)
    plain = follow(VarOpt(), delays, capacity=12, seed=9, sizes=sizes)
    compiled = follow(VarOpt(), delays, capacity=12, seed=9, sizes=sizes, compiled=True)
    assert np.array_equal(plain.weight, compiled.weight)


@pytest.mark.jit(only=True)
@pytest.mark.parametrize("capacity", [3, 40])
def test_compiled_equals_plain(capacity):
    delays = restless_delays(np.random.default_rng(capacity), 3000, capacity)
    plain = follow(VarOpt(), delays, capacity=capacity, seed=9)
    compiled = follow(VarOpt(), delays, capacity=capacity, seed=9, compiled=True)
    assert np.array_equal(plain.weight, compiled.weight)


def test_free_slots_are_never_refused():
    trace = follow(VarOpt(), np.full(50, 6), capacity=7, seed=2)
    assert np.all(trace.weight == 1.0)


def test_a_subclass_keeps_all_of_its_state_on_a_gpu():
    class Noting(VarOpt):
        """A scheduler of one's own, which may look at all that VarOpt has."""

    state = allocate(Noting(), 3, 3)
    assert without_unused(VarOpt(), state, RecordedUniforms(np.ones(1))).rounds.size == 0
    assert without_unused(Noting(), state, RecordedUniforms(np.ones(1))).rounds.size == 3
