"""An indexed binary min-heap over slots."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tarry.kernel.compile import Indices, step


class Heap(NamedTuple):
    """A heap with O(log n) push and removal of any member."""

    key: np.ndarray  # by slot, what slots are ordered by
    order: Indices  # by position in the heap, the slot there
    place: Indices  # by slot, its position or -1
    size: np.ndarray  # the number of members


def make_heap(slots: int) -> Heap:
    """Return an empty heap for this many slots."""
    return Heap(
        key=np.zeros(slots),
        order=np.zeros(slots, np.int64),
        place=np.full(slots, -1, np.int64),
        size=np.zeros(1, np.int64),
    )


@step
def sift_up(heap: Heap, i: int) -> None:
    slot = heap.order[i]
    key = heap.key[slot]
    while i > 0:
        parent = (i - 1) >> 1
        above = heap.order[parent]
        if heap.key[above] <= key:
            break
        heap.order[i] = above
        heap.place[above] = i
        i = parent
    heap.order[i] = slot
    heap.place[slot] = i


@step
def sift_down(heap: Heap, i: int) -> None:
    size = heap.size[0]
    slot = heap.order[i]
    key = heap.key[slot]
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and heap.key[heap.order[child + 1]] < heap.key[heap.order[child]]:
            child += 1
        below = heap.order[child]
        if key <= heap.key[below]:
            break
        heap.order[i] = below
        heap.place[below] = i
        i = child
    heap.order[i] = slot
    heap.place[slot] = i


@step
def push(heap: Heap, slot: int, key: float) -> None:
    """Add a slot that is not in the heap."""
    i = heap.size[0]
    heap.size[0] = i + 1
    heap.key[slot] = key
    heap.order[i] = slot
    heap.place[slot] = i
    sift_up(heap, i)


@step
def discard(heap: Heap, slot: int) -> None:
    """Take a slot out, if it is in."""
    i = heap.place[slot]
    if i < 0:
        return
    heap.place[slot] = -1
    last = heap.size[0] - 1
    heap.size[0] = last
    if i == last:
        return
    moved = heap.order[last]
    heap.order[i] = moved
    heap.place[moved] = i
    # The last member may come from another branch, so it may have to rise as well as to sink.
    if i > 0 and heap.key[moved] < heap.key[heap.order[(i - 1) >> 1]]:
        sift_up(heap, i)
    else:
        sift_down(heap, i)


@step
def take_due(heap: Heap, limit: float) -> Any:
    """Take out and return the slot with the smallest key if that is at most ``limit``, else -1."""
    if heap.size[0] == 0 or heap.key[heap.order[0]] > limit:
        return -1
    slot = heap.order[0]
    discard(heap, slot)
    return slot


@step
def top(heap: Heap) -> Any:
    """Return the slot with the smallest key, or -1."""
    return heap.order[0] if heap.size[0] > 0 else -1
