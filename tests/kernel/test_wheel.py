"""The timing wheel against a dictionary of lists."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tarry.kernel import entry
from tarry.kernel.wheel import (
    META,
    expect,
    grow_wheel,
    make_line,
    make_slot_queue,
    make_wheel,
    origin_of,
    schedule,
    slot_of,
    take,
    take_next,
    turn,
)

pytestmark = pytest.mark.jit


@entry
def _run(wheel: Any, start: Any, dues: Any, counts: Any, out: Any, taken: Any) -> None:
    """Rounds from ``start`` on: enter, schedule that round's items (numbered from 1), take what is due."""
    pushed = wheel.meta[META]
    n = 0
    for i in range(counts.size):
        now = start + i
        turn(wheel, now)
        for _ in range(counts[i]):
            schedule(wheel, now, dues[pushed], pushed + 1)
            pushed += 1
        item = take(wheel, now)
        while item >= 0:
            out[n, 0] = now
            out[n, 1] = origin_of(wheel, item, counts)
            n += 1
            item = take(wheel, now)
    wheel.meta[META] = pushed
    taken[0] = n


class Machine:
    """A wheel that is driven in stretches and grown in between."""

    def __init__(self, start: int, dues: list[int], nodes: int, rounds: int = 0) -> None:
        # No level to spare either, where the number of rounds is told.
        wheel = make_wheel(nodes, max(*dues, start + rounds, 0)) if rounds else make_wheel(nodes)
        self.wheel = wheel._replace(meta=np.array([*wheel.meta, 0], np.int64))
        self.now, self.dues = start, np.array([*dues, 0], np.int64)

    def grow(self, nodes: int) -> None:
        pushed = self.wheel.meta[META]
        wheel = grow_wheel(self.wheel, nodes)
        self.wheel = wheel._replace(meta=np.array([*wheel.meta, pushed], np.int64))

    def inside(self) -> int:
        """Return how many nodes were opened and are not unused."""
        nodes, (last, unused) = self.wheel.nodes, self.wheel.meta[:META].tolist()
        count = last // 4
        while unused:
            count, unused = count - 1, int(nodes[unused])
        return count

    def run(self, counts: list[int]) -> list[tuple[int, int]]:
        out, taken = np.zeros((self.dues.size, 2), np.int64), np.zeros(1, np.int64)
        _run.dispatcher_for()(self.wheel, self.now, self.dues, np.array(counts, np.int64), out, taken)
        self.now += len(counts)
        return [tuple(row) for row in out[: taken[0]].tolist()]


def brute_force(start: int, dues: list[int], counts: list[int]) -> list[tuple[int, int]]:
    """What comes out: by round, then in the order in which it went in."""
    waiting: dict[int, list[int]] = defaultdict(list)
    out, s = [], 0
    for now in range(start, start + len(counts)):
        for _ in range(counts[now - start]):
            waiting[dues[s]].append(s + 1)
            s += 1
        out += [(now, origin) for origin in waiting.pop(now, [])]
    return out


def plan(start: int, counts: list[int], waits: list[int]) -> list[int]:
    rounds = [start + i for i, n in enumerate(counts) for _ in range(n)]
    return [now + wait for now, wait in zip(rounds, waits, strict=True)]


BITS = (10, 20, 30, 40, 50)
starts = st.one_of(
    st.just(1),
    st.builds(
        lambda bits, k, off: max(1, (k << bits) - off),
        st.sampled_from(BITS),
        st.integers(1, 5),
        st.integers(0, 40),
    ),
)
wait_lengths = st.one_of(st.integers(0, 60), st.sampled_from([1023, 1024, 1025, 2**20, 2**20 + 3, 2**35]))


@given(start=starts, counts=st.lists(st.integers(0, 3), min_size=1, max_size=70), data=st.data())
def test_equals_brute_force(start: int, counts: list[int], data: st.DataObject) -> None:
    total = sum(counts)
    dues = plan(start, counts, data.draw(st.lists(wait_lengths, min_size=total, max_size=total)))
    cut = data.draw(st.integers(0, len(counts)))
    inside = sum(counts[:cut])
    machine = Machine(start, dues, max(1, inside), len(counts))
    found = machine.run(counts[:cut])
    # No node to spare, so that those freed before the growth are needed after it.
    machine.grow(max(max(1, inside) + 1, total - len(found)))
    found += machine.run(counts[cut:])
    assert found == brute_force(start, dues, counts)
    assert machine.inside() == total - len(found)


@given(seed=st.integers(0, 1000))
@example(seed=0)
@settings(max_examples=8)
def test_long_waits_run_to_their_end(seed: int) -> None:
    """Thousands of rounds, so that items cascade from the second level, and every item comes out."""
    draws = np.random.default_rng(seed)
    start = int(draws.choice([1, 2**20 - 700, 2**30 - 1500, 2**40 - 1024]))
    counts = [1] * 600 + [0] * 3500
    dues = plan(start, counts, draws.integers(0, 3500, 600).tolist())
    found = Machine(start, dues, 600, len(counts)).run(counts)
    assert found == brute_force(start, dues, counts)
    assert len(found) == 600


def test_one_round_comes_out_in_order_of_origin() -> None:
    """Items that waited at different levels and fall due together keep the order they went in."""
    counts = [1] * 3000
    dues = [max(now, 2500) for now in range(1, 3001)]
    found = Machine(1, dues, 3000).run(counts)
    assert [s for now, s in found if now == 2500] == list(range(1, 2501))


def test_nodes_are_used_again() -> None:
    counts = [1] * 5000
    dues = plan(1, counts, [7] * 5000)
    machine = Machine(1, dues, 8)
    assert machine.run(counts) == [(t + 7, t) for t in range(1, 4994)]
    assert machine.wheel.room == 8


@pytest.mark.jit(only=True)
def test_a_million_rounds_ahead() -> None:
    counts = [1] * 1000 + [0] * (2**20 + 2000)
    dues = plan(1, counts, [2**20 + (37 * i) % 900 for i in range(1000)])
    found = Machine(1, dues, 1000).run(counts)
    assert found == brute_force(1, dues, counts)
    assert len(found) == 1000


@entry
def _run_slots(queue: Any, rounds: Any, slots: Any, waits: Any, out: Any) -> None:
    """Round t goes to its slot, if it has one, for so many rounds; write down the tracked origins due in each round."""
    for t in range(1, slots.size + 1):
        turn(queue, t)
        if slots[t - 1] >= 0:
            rounds[slots[t - 1]] = t
            expect(queue, t, t + waits[t - 1], t, slots[t - 1])
        n, item = 0, take_next(queue, t, rounds)
        while item >= 0:
            slot = slot_of(queue, item, rounds)
            if slot >= 0:
                out[t - 1, n] = origin_of(queue, item, rounds)
                n += rounds[slot] == out[t - 1, n]
            item = take_next(queue, t, rounds)


@given(data=st.data(), slots=st.integers(1, 5), rounds=st.integers(1, 60))
def test_whom_a_slot_is_taken_from_is_forgotten(data: st.DataObject, slots: int, rounds: int) -> None:
    given_to = data.draw(st.lists(st.integers(-1, slots - 1), min_size=rounds, max_size=rounds))
    waits = data.draw(st.lists(st.integers(0, 9), min_size=rounds, max_size=rounds))
    waiting: dict[int, tuple[int, int]] = {}
    expected = np.zeros((rounds, slots + 1), np.int64)
    for t, (slot, wait) in enumerate(zip(given_to, waits, strict=True), start=1):
        if slot >= 0:
            waiting[slot] = (t + wait, t)
        due = sorted(origin for at, origin in waiting.values() if at == t)
        expected[t - 1, : len(due)] = due
        waiting = {slot: item for slot, item in waiting.items() if item[0] != t}
    for queue in (make_slot_queue(slots), make_wheel(rounds)):
        found = np.zeros_like(expected)
        _run_slots.dispatcher_for()(queue, np.zeros(slots, np.int64), np.array(given_to), np.array(waits), found)
        assert np.array_equal(found, expected)


@given(data=st.data(), slots=st.integers(1, 5), delay=st.integers(0, 9), rounds=st.integers(1, 60))
def test_a_line_is_a_wheel_where_nobody_overtakes(data: st.DataObject, slots: int, delay: int, rounds: int) -> None:
    given_to = np.array(data.draw(st.lists(st.integers(-1, slots - 1), min_size=rounds, max_size=rounds)))
    waits = np.minimum(delay, rounds - 1 - np.arange(rounds))  # the last ones come together
    line, found = make_line(delay + 1), []
    for queue in (make_wheel(rounds), line, line):
        found.append(np.zeros((rounds, slots + 1), np.int64))
        _run_slots.dispatcher_for()(queue, np.zeros(slots, np.int64), given_to, waits, found[-1])
        line.clear()  # and again, as the next seed does
    assert all(np.array_equal(one, found[0]) for one in found)
