"""The tracking set: at most C rounds, each in a numbered slot, found by round in O(1)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tarry.kernel import Indices, register_methods, step, verb_with_default

_SPREAD = 0x9E3779B1  # 2³² over the golden ratio: neighbouring rounds land far apart
TRACKED, ENDED, RELEASED = range(3)  # of ``counts``


class Table(NamedTuple):
    """The rounds of all slots, and an open-addressing index of slots by round."""

    rounds: np.ndarray  # by slot, 0 where it is free
    vacant: Indices  # a stack of free slots
    keys: np.ndarray  # the index: rounds, 0 where there is none
    slots: Indices  # and the slots of these rounds
    released: np.ndarray  # rounds released by the current round
    counts: np.ndarray  # of rounds TRACKED, of those that have ENDED, of those RELEASED by the current round


def make_table(slots: int) -> Table:
    """Return an empty table with this many slots."""
    size = 1 << max(3, int(4 * slots - 1).bit_length())  # at most a quarter full: probes stay short
    return Table(
        rounds=np.zeros(slots, np.int64),
        vacant=np.arange(slots - 1, -1, -1, dtype=np.int64),
        keys=np.zeros(size, np.int64),
        slots=np.zeros(size, np.int64),
        released=np.zeros(slots + 1, np.int64),
        counts=np.zeros(3, np.int64),
    )


def grow_table(table: Any, slots: int) -> Any:
    """Return the same set with more slots; slots keep their numbers."""
    old = table.rounds.size
    larger = make_table(slots)
    larger.rounds[:old] = table.rounds
    larger.counts[:] = table.counts
    larger.released[: table.released.size] = table.released
    free = old - int(table.counts[TRACKED])
    # Old free slots stay on top of the stack, so that growing changes no slot number.
    fresh = np.arange(slots - 1, old - 1, -1, dtype=np.int64)
    larger.vacant[: fresh.size] = fresh
    larger.vacant[fresh.size : fresh.size + free] = table.vacant[:free]
    for slot in np.flatnonzero(table.rounds):
        index(larger, int(table.rounds[slot]), int(slot))
    return larger if isinstance(table, Table) else without_index(larger, table.released.size > 0)


def resettled_table(table: Table, kept: np.ndarray, slots: int) -> Table:
    """Return the same set in so many slots, of which the first are those ``kept``."""
    fresh = make_table(slots)
    fresh.counts[ENDED] = table.counts[ENDED]
    for slot, s in enumerate(table.rounds[kept].tolist()):
        occupy(fresh, slot, s)
    return fresh


@step
def home(table: Table, s: int) -> Any:
    return (s * _SPREAD >> 7) & (table.keys.size - 1)


@verb_with_default
def index(table: Any, s: int, slot: int) -> None:
    i = home(table, s)
    mask = table.keys.size - 1
    while table.keys[i] != 0:
        i = (i + 1) & mask
    table.keys[i] = s
    table.slots[i] = slot


@step
def find(table: Table, s: int) -> Any:
    """Return the slot of round s, or -1."""
    i = home(table, s)
    mask = table.keys.size - 1
    while table.keys[i] != 0:
        if table.keys[i] == s:
            return table.slots[i]
        i = (i + 1) & mask
    return -1


@verb_with_default
def unindex(table: Any, s: int) -> None:
    """Take round s out of the index, moving later entries of its chain up."""
    mask = table.keys.size - 1
    hole = home(table, s)
    while table.keys[hole] != s:
        hole = (hole + 1) & mask
    i = hole
    while True:
        i = (i + 1) & mask
        if table.keys[i] == 0:
            break
        # An entry may fill the hole unless its home lies after the hole on the way to it.
        if (i - home(table, table.keys[i])) & mask >= (i - hole) & mask:
            table.keys[hole] = table.keys[i]
            table.slots[hole] = table.slots[i]
            hole = i
    table.keys[hole] = 0


@step
def vacancy(table: Table, capacity: int) -> Any:
    """Return a free slot, or -1 when the set is full."""
    tracked = table.counts[TRACKED]
    if tracked >= capacity:
        return -1
    return table.vacant[np.uint64(table.rounds.size - tracked - 1)]


@step
def occupy(table: Table, slot: int, t: int) -> None:
    """Put round t into a vacant slot (the one ``vacancy`` named)."""
    table.rounds[slot] = t
    table.counts[TRACKED] += 1
    index(table, t, slot)


@step
def vacate(table: Table, slot: int) -> None:
    """Free a slot."""
    unindex(table, table.rounds[slot])
    table.rounds[slot] = 0
    table.counts[TRACKED] -= 1
    table.vacant[table.rounds.size - table.counts[TRACKED] - 1] = slot


@verb_with_default
def release(table: Any, s: int) -> None:
    """Note that the current round preempted s."""
    table.released[table.counts[RELEASED]] = s
    table.counts[RELEASED] += 1


class SlotTable(NamedTuple):
    """The rounds of all slots without an index, for a world that knows the slot of what arrives.

    Its fields are those of ``Table``.
    """

    rounds: np.ndarray
    vacant: Indices
    released: np.ndarray  # without room where nobody looks
    counts: np.ndarray

    def unindex(self, s: int) -> None:
        pass

    def release(self, s: int) -> None:
        if self.released.size > 0:
            self.released[self.counts[RELEASED]] = s
            self.counts[RELEASED] += 1


register_methods(SlotTable, (unindex, release))


@index.on(SlotTable)  # tuples have a method of this name
def _not_at_all(table: SlotTable, s: int, slot: int) -> None:
    pass


def without_index(table: Table, keeps_released: bool) -> SlotTable:
    """Return a fresh table without its index."""
    return SlotTable(table.rounds, table.vacant, table.released[: None if keeps_released else 0], table.counts)
