"""Copies of a learner for immediate feedback: what BOLD and interleaving share.

The states of all copies are one state with one axis more, and a copy is a tuple of views. What a learner keeps by slot
has no axis more: a slot is one round's, and so one copy's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tarry.kernel import step
from tarry.kernel.views import learn_slots, stack, view
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


def as_copied(base: Any) -> Any:
    """A base that can be kept in copies, or a sentence saying why not."""
    as_immediate(base, GRADIENT, VALUE, EXAMPLE)
    learn_slots(allocate(base, 1), allocate(base, 2))
    return base


def make_copies(base: Any, copies: int, slots: int) -> Copies:
    """This many fresh copies."""
    learn_slots(allocate(base, 1), allocate(base, 2))  # again: parameters may come from another process
    return Copies(
        states=stack(allocate(base, slots), copies),
        plays=np.zeros((copies, base.dimension)),
        turns=np.zeros(copies, np.int64),
        held=np.full(slots, -1, np.int64),
    )


@step
def restart_copies(base: Any, copies: Copies, magnitude: float) -> None:
    """Make every copy fresh."""
    for i in range(copies.turns.size):
        copies.turns[i] = 0
        restart(base, view(copies.states, i), 1, magnitude)
    for slot in range(copies.held.size):
        copies.held[slot] = -1


@step
def show_copy(base: Any, copies: Copies, i: int, directions: Any, t: int, play: Any) -> None:
    """Write the play of the i-th copy in round t of the game."""
    predict(base, view(copies.states, i), directions, t, copies.plays[i])
    show_point(copies.plays[i], play)


@step
def engage(base: Any, copies: Copies, i: int, slot: int, t: int) -> Any:
    """Let the i-th copy wait for round t in this slot; return the copy that waits there in vain, or -1."""
    before = copies.held[slot]
    if before >= 0:
        forget(base, view(copies.states, before), slot)
    copies.held[slot] = i
    enter(base, view(copies.states, i), slot, t)
    return before


@step
def teach(base: Any, copies: Copies, directions: Any, slot: int, s: int, weight: float, feedback: Any) -> Any:
    """One round of the clock of the copy that waits in this slot, with this feedback; return the copy, or -1."""
    i = copies.held[slot]
    if i >= 0:
        copies.held[slot] = -1
        copies.turns[i] += 1
        state = view(copies.states, i)
        absorb(base, state, directions, slot, s, weight, feedback)
        advance(base, state, copies.turns[i], 0)
    return i


@query.on(OfCopies)
def _query(learner: Any, directions: Any, t: Any, play: Any, points: Any) -> None:
    query(learner.base, directions, t, play, points)


@advance.on(OfCopies)
def _advance(learner: Any, state: Any, t: Any, pending: Any) -> None:
    pass
