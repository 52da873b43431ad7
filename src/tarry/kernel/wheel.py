"""Where late feedback waits: a hierarchical timing wheel for arrivals, and free lists for pools of rows.

The wheel takes O(1) a round and gives arrivals in increasing order of origin. Level l has 2**BITS buckets of
2**(BITS*l) rounds each. An item waits at the lowest level whose aligned window already contains both now and its due
round; when a window opens, its bucket is dealt out to the level below *before* anything new can enter it. Buckets are
first-in-first-out, so items due in one round come out in the order they were pushed, which is that of their rounds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tarry.kernel.compile import register_methods, step, verb_with_default

BITS = 10  # 1024 buckets a level: a level's ends fit the first cache
LEVELS = 6  # 2**60 rounds, more than any game has
_BUCKETS = 1 << BITS
_MASK = _BUCKETS - 1
_SIZE = 3  # entries of a node
NEVER = (1 << 31) - 1  # a round that games of few slots never reach: it fits 32 bits
MADE, FREE, MARKS = range(3)  # of a free list's ``marks``


class Wheel(NamedTuple):
    """Buckets of nodes; a node is named by its first entry, so what belongs together lies together."""

    ends: np.ndarray  # head and tail of each bucket
    nodes: np.ndarray  # next node, origin and due round, three entries a node
    meta: np.ndarray  # (first free node, items inside)

    @property
    def room(self) -> int:
        """How many items fit."""
        return self.nodes.size // _SIZE


def make_wheel(nodes: int) -> Wheel:
    """Return an empty wheel that can hold this many items."""
    ends = np.full(2 * LEVELS * _BUCKETS, -1, np.int64)
    return Wheel(ends, _free_nodes(nodes, -1), np.zeros(2, np.int64))


def grow_wheel(wheel: Wheel, nodes: int) -> Wheel:
    """Return the same wheel with room for more items."""
    old = wheel.nodes.size
    larger = _free_nodes(nodes, int(wheel.meta[0]))
    larger[:old] = wheel.nodes
    return Wheel(wheel.ends, larger, np.array([old, wheel.meta[1]], np.int64))


def _free_nodes(nodes: int, last: int) -> np.ndarray:
    """Return nodes that are all free, each followed by the next one and the last by ``last``."""
    made = np.zeros(_SIZE * nodes, np.int64)
    made[::_SIZE] = np.arange(_SIZE, _SIZE * nodes + 1, _SIZE)
    made[-_SIZE] = last
    return made


@step
def link(wheel: Wheel, now: int, due: int, node: Any) -> None:
    """Append a node to the bucket where it waits."""
    level = 0
    high_due = due >> BITS
    high_now = now >> BITS
    while high_due != high_now:
        high_due >>= BITS
        high_now >>= BITS
        level += 1
    head = 2 * (level * _BUCKETS + ((due >> (BITS * level)) & _MASK))
    wheel.nodes[node] = -1
    last = wheel.ends[head + 1]
    if last < 0:
        wheel.ends[head] = node
    else:
        wheel.nodes[last] = node
    wheel.ends[head + 1] = node


@step
def schedule(wheel: Wheel, now: int, due: int, origin: int) -> None:
    """Let ``origin`` come out in round ``due`` >= now. The caller has seen to room."""
    node = np.uint64(wheel.meta[0])  # unsigned: compiled code need not ask whether to count from the end
    wheel.meta[0] = wheel.nodes[node]
    wheel.meta[1] += 1
    wheel.nodes[node + np.uint64(1)] = origin
    wheel.nodes[node + np.uint64(2)] = due
    link(wheel, now, due, node)


@verb_with_default
def expect(queue: Any, now: int, due: int, origin: int, slot: int) -> None:
    """Let ``origin``, which is tracked in this slot or in none (-1), come out in round ``due`` >= now."""
    schedule(queue, now, due, origin)


@verb_with_default
def turn(wheel: Any, now: int) -> None:
    """Enter round ``now``: deal out the buckets of every window that opens with it."""
    if now & _MASK != 0:
        return
    level = 1
    while level < LEVELS - 1 and (now >> (BITS * level)) & _MASK == 0:
        level += 1
    while level >= 1:
        head = 2 * (level * _BUCKETS + ((now >> (BITS * level)) & _MASK))
        node = wheel.ends[head]
        wheel.ends[head] = -1
        wheel.ends[head + 1] = -1
        while node >= 0:
            following = wheel.nodes[node]
            link(wheel, now, wheel.nodes[node + 2], node)
            node = following
        level -= 1


@verb_with_default
def take(wheel: Any, now: int) -> Any:
    """Remove and return the next origin due now, or -1."""
    head = 2 * (now & _MASK)
    node = wheel.ends[head]
    if node < 0:
        return -1
    following = wheel.nodes[node]
    wheel.ends[head] = following
    if following < 0:
        wheel.ends[head + 1] = -1
    wheel.nodes[node] = wheel.meta[0]
    wheel.meta[0] = node
    wheel.meta[1] -= 1
    return wheel.nodes[node + 1]


class SlotQueue(NamedTuple):
    """The arrivals of tracked rounds alone, by slot, for few slots: a round in which nothing is due costs a comparison.

    A slot that is given to another round forgets the one before, whose arrival nobody hears.
    """

    due: np.ndarray  # by slot, NEVER where nothing is expected
    origin: np.ndarray  # by slot
    soonest: np.ndarray  # a round before which nothing is due

    def expect(self, now: int, due: int, origin: int, slot: int) -> None:
        self.due[slot] = due
        self.origin[slot] = origin
        self.soonest[0] = min(self.soonest[0], due)

    def turn(self, now: int) -> None:
        pass

    def take(self, now: int) -> Any:
        if now < self.soonest[0]:
            return -1
        found, origin, others, soonest = -1, NEVER, 0, NEVER
        for slot in range(self.due.size):
            if self.due[slot] == now:
                others += 1
                if self.origin[slot] < origin:
                    found, origin = slot, self.origin[slot]
            else:
                soonest = min(soonest, self.due[slot])
        if others <= 1:
            self.soonest[0] = soonest
        if found < 0:
            return -1
        self.due[found] = NEVER
        return origin


register_methods(SlotQueue, (expect, turn, take))


def make_slot_queue(slots: int) -> SlotQueue:
    """Return a queue for this many slots that expects nothing."""
    return SlotQueue(np.full(slots, NEVER, np.int64), np.zeros(slots, np.int64), np.full(1, NEVER, np.int64))


class FreeList(NamedTuple):
    """Rows of an array to hand out; links name rows from 1, so that 0 ends the list and zeros are an empty one."""

    link: np.ndarray  # by free row, the next one
    marks: np.ndarray  # (rows ever handed out, the first free one)


def make_rows(rows: int) -> FreeList:
    """Return a free list in which all of this many rows are free."""
    return FreeList(np.zeros(rows, np.int64), np.zeros(MARKS, np.int64))


@step
def take_row(rows: FreeList) -> Any:
    """Take and return a free row; the caller knows that there is one."""
    if rows.marks[FREE] == 0:
        rows.marks[MADE] += 1
        return rows.marks[MADE] - 1
    row = rows.marks[FREE] - 1
    rows.marks[FREE] = rows.link[row]
    return row


@step
def give_row(rows: FreeList, row: int) -> None:
    """Free a row."""
    rows.link[row] = rows.marks[FREE]
    rows.marks[FREE] = row + 1


@step
def free_rows(rows: FreeList) -> None:
    """Free all rows."""
    rows.marks[MADE] = 0
    rows.marks[FREE] = 0
