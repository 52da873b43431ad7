"""Copies of a learner for immediate feedback: what BOLD and interleaving share.

The states of all copies are one state with one axis more, and a copy is a tuple of views. What a learner keeps by slot
has no axis more: a slot is one round's, and so one copy's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tarry.kernel import step, verb
from tarry.kernel.heap import Heap
from tarry.learners.base import (
    EXAMPLE,
    GRADIENT,
    VALUE,
    absorb,
    advance,
    allocate,
    enter,
    forget,
    predict,
    queries_of,
    query,
    restart,
)
from tarry.learners.immediate import Reducing, as_immediate
from tarry.learners.ogd import show_point
from tarry.learners.pools import Rows


class OfCopies(Reducing):
    """The Python face of a learner that keeps copies of its ``base`` (mixin)."""

    __slots__ = ()

    @property
    def feedback(self) -> str:
        return str(self.base.feedback)

    @property
    def queries(self) -> int:
        return queries_of(self.base)


class Copies(NamedTuple):
    """The base's states; of each copy the play, and the feedbacks it has had; by slot the copy that waits, or -1."""

    states: Any
    plays: np.ndarray
    turns: np.ndarray
    held: np.ndarray


@verb
def copy_of(states: Any, i: int) -> Any:
    """The state of the i-th copy: views, so that changes stay."""


# Which fields of a type of state have an entry for each slot; places in a heap and rows of a pool are none.
_by_slot: dict[type, frozenset[str]] = {Heap: frozenset(), Rows: frozenset()}


def as_copied(base: Any) -> Any:
    """A base that can be kept in copies, or a sentence saying why not."""
    as_immediate(base, GRADIENT, VALUE, EXAMPLE)
    _learn_views(allocate(base, 1), allocate(base, 2))
    return base


def _learn_views(one: Any, two: Any) -> None:
    """Register ``copy_of`` for a type of state, from what it looks like with one slot and with two.

    Compiled code needs the fields by name, so they are written out here.
    """
    kind = type(one)
    if not hasattr(kind, "_fields"):
        raise TypeError(f"copies need a state that is a named tuple of arrays, nested or not, got a {kind.__name__}")
    slotted, views = set(), []
    for name, part, wider in zip(kind._fields, one, two, strict=True):
        if not isinstance(part, np.ndarray):
            _learn_views(part, wider)
            views.append(f"copy_of(states.{name}, i)")
            continue
        if part.shape[:1] == (1,) and wider.shape == (2, *part.shape[1:]) and _by_slot.get(kind) != frozenset():
            slotted.add(name)
        views.append(f"states.{name}" if name in slotted else f"states.{name}[i]")
    if _by_slot.setdefault(kind, frozenset(slotted)) != slotted:
        raise TypeError(f"{kind.__name__} is kept by slot in one learner and not in another: give each its own state")
    if kind not in copy_of.registry.members:
        written: dict[str, Any] = {"__name__": __name__, "State": kind, "copy_of": copy_of}
        exec(f"def view(states, i):\n    return State({', '.join(views)})", written)
        copy_of.on(kind)(written["view"])


def make_copies(base: Any, copies: int, slots: int) -> Copies:
    """This many fresh copies."""
    _learn_views(allocate(base, 1), allocate(base, 2))  # again: parameters may come from another process
    return Copies(
        states=_stacked(allocate(base, slots), copies),
        plays=np.zeros((copies, base.dimension)),
        turns=np.zeros(copies, np.int64),
        held=np.full(slots, -1, np.int64),
    )


def _stacked(state: Any, copies: int) -> Any:
    if isinstance(state, np.ndarray):
        rows = np.zeros((copies, *state.shape), state.dtype)
        if state.any():  # else the pages of copies that are never made stay untouched
            rows[:] = state
        return rows
    kept = _by_slot[type(state)]
    fields = zip(state._fields, state, strict=True)
    return type(state)(*(part if name in kept else _stacked(part, copies) for name, part in fields))


@step
def restart_copies(base: Any, copies: Copies, magnitude: float) -> None:
    """Make every copy fresh."""
    for i in range(copies.turns.size):
        copies.turns[i] = 0
        restart(base, copy_of(copies.states, i), 1, magnitude)
    for slot in range(copies.held.size):
        copies.held[slot] = -1


@step
def show_copy(base: Any, copies: Copies, i: int, directions: Any, t: int, play: Any) -> None:
    """Write the play of the i-th copy in round t of the game."""
    predict(base, copy_of(copies.states, i), directions, t, copies.plays[i])
    show_point(copies.plays[i], play)


@step
def engage(base: Any, copies: Copies, i: int, slot: int, t: int) -> Any:
    """Let the i-th copy wait for round t in this slot; return the copy that waits there in vain, or -1."""
    before = copies.held[slot]
    if before >= 0:
        forget(base, copy_of(copies.states, before), slot)
    copies.held[slot] = i
    enter(base, copy_of(copies.states, i), slot, t)
    return before


@step
def teach(base: Any, copies: Copies, directions: Any, slot: int, s: int, weight: float, feedback: Any) -> Any:
    """One round of the clock of the copy that waits in this slot, with this feedback; return the copy, or -1."""
    i = copies.held[slot]
    if i >= 0:
        copies.held[slot] = -1
        copies.turns[i] += 1
        state = copy_of(copies.states, i)
        absorb(base, state, directions, slot, s, weight, feedback)
        advance(base, state, copies.turns[i], 0)
    return i


@query.on(OfCopies)
def _query(learner: Any, directions: Any, t: Any, play: Any, points: Any) -> None:
    query(learner.base, directions, t, play, points)


@advance.on(OfCopies)
def _advance(learner: Any, state: Any, t: Any, pending: Any) -> None:
    pass
