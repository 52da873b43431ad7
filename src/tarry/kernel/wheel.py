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
FOREVER = (1 << 60) - 1  # a round after all that any game has
_BUCKETS = 1 << BITS
_MASK = _BUCKETS - 1
_SIZE = 4  # entries of a node
NODE_BYTES = 8 * _SIZE
LONGEST_LINE = 1 << 17  # items, 4 MB: a line has room for all from the start, and a wheel grows
OPENED, UNUSED, META = range(3)  # of a wheel's ``meta``
NEVER = (1 << 31) - 1  # a round that games of few slots never reach: it fits 32 bits
MADE, FREE, MARKS = range(3)  # of a free list's ``marks``


class Wheel(NamedTuple):
    """Buckets of nodes; a node is named by its first entry, so what belongs together lies together.

    Nodes are opened one by one, and 0 names none: zeros are an empty wheel, and nodes never opened stay untouched.
    """

    ends: np.ndarray  # the last node of each bucket, which is a ring: after the last comes the first
    nodes: np.ndarray  # next node, origin, due round and slot, four entries a node
    meta: np.ndarray  # the last node opened, and the first unused one of those

    def clear(self) -> None:
        """Forget all items, in stacked wheels too; nodes need no clearing."""
        self.ends[...] = 0
        self.meta[...] = 0

    @property
    def room(self) -> int:
        """How many items fit."""
        return int(self.nodes.shape[-1] // _SIZE - 1)


def make_wheel(nodes: int, last: int = FOREVER) -> Wheel:
    """Return an empty wheel that can hold this many items, for rounds 1 to ``last``."""
    levels = max(1, -(-last.bit_length() // BITS))
    return Wheel(np.zeros(levels * _BUCKETS, np.int64), _closed(nodes), np.zeros(META, np.int64))


def grow_wheel(wheel: Wheel, nodes: int) -> Wheel:
    """Return the same wheel, or stacked wheels, with room for more items."""
    used = int(wheel.meta[..., OPENED].max()) + _SIZE
    larger = _closed(nodes, wheel.nodes.shape[:-1])
    larger[..., :used] = wheel.nodes[..., :used]
    return wheel._replace(nodes=larger)


def _closed(nodes: int, stacked: tuple[int, ...] = ()) -> np.ndarray:
    """Return room for nodes, none of them opened; the first stands for none."""
    return np.zeros((*stacked, _SIZE * (nodes + 1)), np.int64)


@verb_with_default
def has_room(wheel: Any, items: int) -> Any:
    """Return whether there is room for so many items more than were ever inside."""
    return wheel.meta[OPENED] + _SIZE * items < wheel.nodes.size


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
    bucket = level * _BUCKETS + ((due >> (BITS * level)) & _MASK)
    last = wheel.ends[bucket]
    if last == 0:
        last = np.int64(node)
    else:
        wheel.nodes[node] = wheel.nodes[last]
    wheel.nodes[last] = node
    wheel.ends[bucket] = node


@step
def schedule(wheel: Wheel, now: int, due: int, origin: int, slot: int = -1) -> None:
    """Let ``origin``, in this slot, come out in round ``due`` >= now. The caller has seen to room."""
    node = np.uint64(wheel.meta[UNUSED])  # unsigned: compiled code need not ask whether to count from the end
    if node == 0:
        node = np.uint64(wheel.meta[OPENED] + _SIZE)
        wheel.meta[OPENED] = node
    else:
        wheel.meta[UNUSED] = wheel.nodes[node]
    wheel.nodes[node + np.uint64(1)] = origin
    wheel.nodes[node + np.uint64(2)] = due
    wheel.nodes[node + np.uint64(3)] = slot
    link(wheel, now, due, node)


@verb_with_default
def expect(queue: Any, now: int, due: int, origin: int, slot: int) -> None:
    """Let ``origin``, which is tracked in this slot or in none (-1), come out in round ``due`` >= now."""
    schedule(queue, now, due, origin, slot)


@verb_with_default
def turn(wheel: Any, now: int) -> None:
    """Enter round ``now``: deal out the buckets of every window that opens with it."""
    if now & _MASK != 0:
        return
    level = 1
    while (level + 1) * _BUCKETS < wheel.ends.size and (now >> (BITS * level)) & _MASK == 0:
        level += 1
    while level >= 1:
        bucket = level * _BUCKETS + ((now >> (BITS * level)) & _MASK)
        node = last = wheel.ends[bucket]
        wheel.ends[bucket] = 0
        following = wheel.nodes[last]
        while last != 0:
            node, following = following, wheel.nodes[following]
            link(wheel, now, wheel.nodes[node + 2], node)
            if node == last:
                break
        level -= 1


@step
def take(wheel: Wheel, now: int) -> Any:
    """Remove and return the next node due now, or -1; it can be read until the next one is scheduled."""
    bucket = now & _MASK
    last = wheel.ends[bucket]
    if last == 0:
        return -1
    node = wheel.nodes[last]
    if node == last:
        wheel.ends[bucket] = 0
    else:
        wheel.nodes[last] = wheel.nodes[node]
    wheel.nodes[node] = wheel.meta[UNUSED]
    wheel.meta[UNUSED] = node
    return node


@verb_with_default
def take_next(queue: Any, now: int, rounds: np.ndarray) -> Any:
    """Remove and return the next item due now, or -1; ``rounds`` are those of the slots, 0 where there is none."""
    return take(queue, now)


@verb_with_default
def origin_of(queue: Any, item: int, rounds: np.ndarray) -> Any:
    """Return the round that an item, just taken, tells about."""
    return queue.nodes[item + 1]


@verb_with_default
def slot_of(queue: Any, item: int, rounds: np.ndarray) -> Any:
    """Return the slot in which that round is still tracked, or -1."""
    slot = queue.nodes[item + 3]
    return slot if slot >= 0 and rounds[slot] == queue.nodes[item + 1] else -1


class Line(NamedTuple):
    """Arrivals in the order of their rounds, as when all delays are equal: who comes first, leaves first."""

    nodes: np.ndarray  # origin, due round and slot, four entries a node, as many nodes as a power of two
    ends: np.ndarray  # entries of those who have left, and of those who have come

    def clear(self) -> None:
        """Forget everybody, in stacked lines too; nodes that were never used stay untouched."""
        self.nodes[..., : self.ends[..., 1].max()] = 0
        self.ends[...] = 0

    def has_room(self, items: int) -> Any:
        return True

    def expect(self, now: int, due: int, origin: int, slot: int) -> None:
        node = self.ends[1] & (self.nodes.size - 1)
        self.ends[1] += _SIZE
        self.nodes[node] = origin
        self.nodes[node + 1] = due
        self.nodes[node + 2] = slot

    def turn(self, now: int) -> None:
        pass

    def take_next(self, now: int, rounds: np.ndarray) -> Any:
        node = self.ends[0] & (self.nodes.size - 1)
        if self.nodes[node + 1] != now:  # where nobody waits, a round that is past
            return -1
        self.ends[0] += _SIZE
        return node

    def origin_of(self, item: int, rounds: np.ndarray) -> Any:
        return self.nodes[item]

    def slot_of(self, item: int, rounds: np.ndarray) -> Any:
        slot = self.nodes[item + 2]
        return slot if slot >= 0 and rounds[slot] == self.nodes[item] else -1


register_methods(Line, (has_room, expect, turn, take_next, origin_of, slot_of))


def make_line(items: int) -> Line:
    """Return an empty line with room for this many."""
    return Line(np.zeros(_SIZE << items.bit_length(), np.int64), np.zeros(2, np.int64))


class SlotQueue(NamedTuple):
    """The arrivals of tracked rounds alone, by slot, for few slots: a round in which nothing is due costs a comparison.

    A slot that is given to another round forgets the one before, whose arrival nobody hears.
    """

    due: np.ndarray  # by slot, NEVER where nothing is expected
    soonest: np.ndarray  # a round before which nothing is due
    limits: np.ndarray  # now and NEVER, of the same type as the others: a GPU compares 32 bits in half the time

    def expect(self, now: int, due: int, origin: int, slot: int) -> None:
        self.due[slot] = due
        self.soonest[0] = min(self.soonest[0], due)

    def turn(self, now: int) -> None:
        pass

    def take_next(self, now: int, rounds: np.ndarray) -> Any:
        if now < self.soonest[0]:
            return -1
        self.limits[0] = now
        present, never = self.limits[0], self.limits[1]
        soonest, earliest, is_any, is_many = never, 0, False, False
        for slot in range(self.due.size):  # without branches, so that a GPU's threads stay together
            due = self.due[slot]
            is_due = due == present
            is_many = is_many | (is_any & is_due)
            is_any = is_any | is_due
            earliest = slot if is_due else earliest
            soonest = min(soonest, due if due > present else never)
        if is_many or (is_any and rounds[earliest] == 0):
            earliest, is_many = _earliest(self, present, rounds)
            is_any = earliest >= 0
        if not is_many:
            self.soonest[0] = soonest
        if not is_any:
            return -1
        self.due[earliest] = never
        return earliest

    def origin_of(self, item: int, rounds: np.ndarray) -> Any:
        return rounds[item]

    def slot_of(self, item: int, rounds: np.ndarray) -> Any:
        return item


@step
def _earliest(queue: SlotQueue, now: int, rounds: np.ndarray) -> tuple[int, bool]:
    """Return the slot of the first round due now, or -1, and whether there are more; forget slots that were vacated."""
    earliest, count = -1, 0
    for slot in range(queue.due.size):
        if queue.due[slot] == now:
            if rounds[slot] == 0:
                queue.due[slot] = queue.limits[1]
            else:
                count += 1
                if earliest < 0 or rounds[slot] < rounds[earliest]:
                    earliest = slot
    return earliest, count > 1


register_methods(SlotQueue, (expect, turn, take_next, origin_of, slot_of))


def make_slot_queue(slots: int) -> SlotQueue:
    """Return a queue for this many slots that expects nothing."""
    never = np.full(slots + 1, NEVER, np.int64)
    return SlotQueue(never[1:], never[:1].copy(), np.array([0, NEVER]))


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
