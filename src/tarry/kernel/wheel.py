"""A hierarchical timing wheel: arrivals in O(1) a round, in increasing order of origin.

Level l has 2**BITS buckets of 2**(BITS*l) rounds each. An item waits at the lowest level whose
aligned window already contains both now and its due round; when a window opens, its bucket is dealt
out to the level below *before* anything new can enter it. Buckets are first-in-first-out, so items
due in one round come out in the order they were pushed, which is the order of their rounds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tarry.kernel.compile import step

BITS = 10
LEVELS = 6
_BUCKETS = 1 << BITS
_MASK = _BUCKETS - 1


class Wheel(NamedTuple):
    """Bucket ends, a pool of nodes and a free list; ``meta`` = (first free node, items inside)."""

    head: np.ndarray
    tail: np.ndarray
    after: np.ndarray
    origin: np.ndarray
    due: np.ndarray
    meta: np.ndarray


def make_wheel(nodes: int) -> Wheel:
    """An empty wheel that can hold this many items."""
    after = np.arange(1, nodes + 1, dtype=np.int64)
    after[-1] = -1
    return Wheel(
        head=np.full(LEVELS * _BUCKETS, -1, np.int64),
        tail=np.full(LEVELS * _BUCKETS, -1, np.int64),
        after=after,
        origin=np.zeros(nodes, np.int64),
        due=np.zeros(nodes, np.int64),
        meta=np.array([0, 0], np.int64),
    )


def grow_wheel(wheel: Wheel, nodes: int) -> Wheel:
    """The same wheel with room for more items."""
    old = wheel.after.size
    after = np.arange(1, nodes + 1, dtype=np.int64)
    after[:old] = wheel.after
    after[-1] = wheel.meta[0]
    origin, due = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
    origin[:old], due[:old] = wheel.origin, wheel.due
    return Wheel(wheel.head, wheel.tail, after, origin, due, np.array([old, wheel.meta[1]], np.int64))


@step
def link(wheel: Wheel, now: int, due: int, node: int) -> None:
    """Append a node to the bucket where it waits."""
    level = 0
    high_due = due >> BITS
    high_now = now >> BITS
    while high_due != high_now:
        high_due >>= BITS
        high_now >>= BITS
        level += 1
    bucket = level * _BUCKETS + ((due >> (BITS * level)) & _MASK)
    wheel.after[node] = -1
    last = wheel.tail[bucket]
    if last < 0:
        wheel.head[bucket] = node
    else:
        wheel.after[last] = node
    wheel.tail[bucket] = node


@step
def schedule(wheel: Wheel, now: int, due: int, origin: int) -> None:
    """Let ``origin`` come out in round ``due`` >= now. The caller has seen to room."""
    node = np.uint64(wheel.meta[0])  # unsigned: compiled code need not ask whether to count from the end
    wheel.meta[0] = wheel.after[node]
    wheel.meta[1] += 1
    wheel.due[node] = due
    wheel.origin[node] = origin
    link(wheel, now, due, node)


@step
def turn(wheel: Wheel, now: int) -> None:
    """Enter round ``now``: deal out the buckets of every window that opens with it."""
    if now & _MASK != 0:
        return
    level = 1
    while level < LEVELS - 1 and (now >> (BITS * level)) & _MASK == 0:
        level += 1
    while level >= 1:
        bucket = level * _BUCKETS + ((now >> (BITS * level)) & _MASK)
        node = wheel.head[bucket]
        wheel.head[bucket] = -1
        wheel.tail[bucket] = -1
        while node >= 0:
            following = wheel.after[node]
            link(wheel, now, wheel.due[node], node)
            node = following
        level -= 1


@step
def take(wheel: Wheel, now: int) -> Any:
    """Remove and return the next origin due now, or -1."""
    bucket = now & _MASK
    node = wheel.head[bucket]
    if node < 0:
        return -1
    following = wheel.after[node]
    wheel.head[bucket] = following
    if following < 0:
        wheel.tail[bucket] = -1
    wheel.after[node] = wheel.meta[0]
    wheel.meta[0] = node
    wheel.meta[1] -= 1
    return wheel.origin[node]
