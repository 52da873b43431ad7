"""The indexed heap against a sorted list."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tarry.kernel import entry
from tarry.kernel.heap import Heap, discard, make_heap, push, top

SLOTS = 24


@entry
def _apply(heap: Any, slots: Any, keys: Any, tops: Any) -> None:
    """Push a slot that is out, take out one that is in; note the top after each."""
    for i in range(slots.size):
        if heap.place[slots[i]] >= 0:
            discard(heap, slots[i])
        else:
            push(heap, slots[i], keys[i])
        tops[i] = top(heap)


@entry
def _drain(heap: Any, out: Any) -> None:
    for i in range(out.size):
        out[i] = top(heap)
        discard(heap, out[i])


@entry
def _discard(heap: Any, slot: Any) -> None:
    discard(heap, slot)


def check_shape(heap: Heap, members: dict[int, float]) -> None:
    size = int(heap.size[0])
    assert sorted(heap.order[:size].tolist()) == sorted(members)
    assert [heap.order[heap.place[slot]] for slot in members] == list(members)
    assert np.count_nonzero(heap.place >= 0) == size
    keys = heap.key[heap.order[:size]]
    assert all(keys[(i - 1) // 2] <= keys[i] for i in range(1, size))


# Few distinct keys, so that ties are common.
moves = st.lists(
    st.tuples(st.integers(0, SLOTS - 1), st.one_of(st.integers(0, 5).map(float), st.floats(-1e9, 1e9))),
    min_size=1,
    max_size=120,
)


@given(moves=moves)
def test_equals_sorted_list(moves: list[tuple[int, float]]) -> None:
    heap, members = make_heap(SLOTS), {}
    tops = np.zeros(len(moves), np.int64)
    slots = np.array([slot for slot, _ in moves])
    keys = np.array([key for _, key in moves])
    _apply.dispatcher_for()(heap, slots, keys, tops)
    for (slot, key), found in zip(moves, tops.tolist(), strict=True):
        if slot in members:
            del members[slot]
        else:
            members[slot] = key
        assert (found == -1) == (not members)
        assert found == -1 or members[found] == min(members.values())
    check_shape(heap, members)
    drained = np.zeros(len(members), np.int64)
    _drain.dispatcher_for()(heap, drained)
    assert sorted(drained.tolist()) == sorted(members)
    assert [members[slot] for slot in drained.tolist()] == sorted(members.values())
    assert heap.size[0] == 0


def test_discarding_a_stranger_changes_nothing() -> None:
    heap = make_heap(4)
    _apply.dispatcher_for()(heap, np.array([2, 0]), np.array([1.0, 0.5]), np.zeros(2, np.int64))
    before = [array.copy() for array in heap]
    _discard.dispatcher_for()(heap, 3)
    assert all(np.array_equal(a, b) for a, b in zip(heap, before, strict=True))
