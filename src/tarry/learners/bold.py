"""BOLD: a pool of copies of a learner for immediate feedback; a copy plays again when its feedback is back.

round t plays the free copy with the smallest index (a new one if none is free) and keeps it until its feedback
comes, which updates it and frees it
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from tarry.kernel import Parameters, step
from tarry.kernel.heap import Heap, discard, make_heap, push, top
from tarry.learners.base import absorb, advance, allocate, enter, predict, restart
from tarry.learners.interleaving import Copies, as_copied, copy_of, make_copies, restart_copies, show_copy, teach
from tarry.learners.solid import check_base

CREATED, PLAYED, MARKS = range(3)


class _BOLDFields(NamedTuple):
    base: Any


class BOLD(Parameters, _BOLDFields):
    """Black-box online learning under delays: as many copies of a base learner as rounds are ever out, plus one.

    ``base`` is OGD, DOGD, DWFTRL or DOGDSC, or for values Exp3, TsallisFTRL or, with one radius for all rounds, DWFTBL;
    its rate is of time alone. Each copy's clock counts its own feedbacks; what is drawn is drawn for the game's round.
    Where every round is tracked the regret is at most (σ_max + 1)·Reg(T/(σ_max + 1)), Reg the base's without delay,
    concave. Needs no knowledge of delays; with a fixed delay it is :class:`Interleaving`.

    Under a capacity a copy is kept by a *tracked* round only, and there are at most capacity + 1. A learner is not
    told that a round was dropped: its copy is freed, without an update, when the round's slot is taken again, and so
    is the copy of a round that weighed nothing. Memory: one copy for each slot.

    Joulani, György, Szepesvári, *Online Learning under Delayed Feedback*, ICML 2013.

    >>> from tarry.domains import Ball
    >>> from tarry.learners import OGD
    >>> BOLD(OGD.strongly_convex(Ball(2), 1.0)).dimension
    2
    """

    __slots__ = ()

    def __new__(cls, base: Any) -> Self:
        return cls.make(as_copied(base))

    @property
    def feedback(self) -> str:
        return str(self.base.feedback)

    @property
    def domain(self) -> Any:
        return self.base.domain

    @property
    def dimension(self) -> int:
        return int(self.base.dimension)

    def check_horizon(self, horizon: int | None) -> None:
        """Refuse games longer than the base's sequence (None: a session, which has no end)."""
        check_base(self.base, horizon)


class Pool(NamedTuple):
    """``held`` = the copy of each slot or -1, ``free`` = copies made and free, ``marks`` = (made, played last)."""

    copies: Copies
    held: np.ndarray
    free: Heap
    marks: np.ndarray


@step
def next_copy(state: Pool) -> Any:
    """The free copy with the smallest index, perhaps one that is yet to be made."""
    copy = top(state.free)
    return copy if copy >= 0 else state.marks[CREATED]


@step
def set_free(state: Pool, slot: int) -> None:
    """Free the copy that this slot holds, if it holds one."""
    copy = state.held[slot]
    if copy >= 0:
        push(state.free, copy, float(copy))
        state.held[slot] = -1


@allocate.on(BOLD)
def _allocate(learner: BOLD, slots: int) -> Pool:
    return Pool(
        copies=make_copies(learner.base, slots + 1, slots),
        held=np.full(slots, -1, np.int64),
        free=make_heap(slots + 1),
        marks=np.zeros(MARKS, np.int64),
    )


@restart.on(BOLD)
def _restart(learner: Any, state: Any, t: Any, magnitude: Any) -> None:
    restart_copies(learner.base, state.copies, magnitude)
    for slot in range(state.held.size):
        state.held[slot] = -1
    for copy in range(state.marks[CREATED]):
        discard(state.free, copy)
    state.marks[CREATED] = 0
    state.marks[PLAYED] = 0


@predict.on(BOLD)
def _predict(learner: Any, state: Any, directions: Any, t: Any, play: Any) -> None:
    state.marks[PLAYED] = next_copy(state)
    show_copy(learner.base, copy_of(state.copies.states, state.marks[PLAYED]), directions, t, play)


@enter.on(BOLD)
def _enter(learner: Any, state: Any, slot: Any, t: Any) -> None:
    copy = state.marks[PLAYED]
    if copy == state.marks[CREATED]:
        state.marks[CREATED] += 1
    else:
        discard(state.free, copy)
    set_free(state, slot)  # its round was dropped, or weighed nothing
    state.held[slot] = copy
    enter(learner.base, copy_of(state.copies.states, copy), slot, t)


@absorb.on(BOLD)
def _absorb(learner: Any, state: Any, directions: Any, slot: Any, s: Any, weight: Any, feedback: Any) -> None:
    copy = state.held[slot]
    if copy < 0:
        return
    teach(learner.base, state.copies, copy, directions, slot, s, weight, feedback)
    set_free(state, slot)


@advance.on(BOLD)
def _advance(learner: Any, state: Any, t: Any, pending: Any) -> None:
    pass
