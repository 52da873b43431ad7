"""BOLD: a pool of copies of a learner for immediate feedback; a copy plays again when its feedback is back."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from tarry.kernel import step
from tarry.kernel.heap import Heap, discard, make_heap, push, top
from tarry.learners.base import Directions, absorb, allocate, enter, predict, restart
from tarry.learners.reductions import Copies, OfCopies, as_copied, engage, make_copies, restart_copies, show_copy, teach
from tarry.learners.states import Array

CREATED, PLAYED, MARKS = range(3)


class BOLD(OfCopies):
    """Black-box online learning under delays: as many copies of a base learner as rounds are ever out, plus one.

        c_t = min{free copies},   x_t = the play of copy c_t;   at the feedback of s:   copy c_s ← its update, free

    A new copy is made if none is free; c_t is kept from others until the feedback of t comes.

    ``base`` is any learner, yours too, but for rates that follow the game, radii that change, and what is a reduction
    itself. Each copy plays a game without delay: its clock counts its own feedbacks, nothing is pending (a hint is of
    the round to come alone), and what is drawn is drawn for the game's round.
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

    base: Annotated[Any, as_copied]


class Pool(NamedTuple):
    """``free`` = copies made and free, ``marks`` = (made, played last)."""

    copies: Copies
    free: Heap
    marks: np.ndarray


@step
def next_copy(state: Pool) -> int:
    """Return the free copy with the smallest index, perhaps one that is yet to be made."""
    copy = top(state.free)
    return copy if copy >= 0 else state.marks[CREATED]


@step
def set_free(state: Pool, copy: int) -> None:
    """Free a copy (-1: none)."""
    if copy >= 0:
        push(state.free, copy, float(copy))


@allocate.on(BOLD)
def _allocate(learner: BOLD, slots: int) -> Pool:
    return Pool(
        copies=make_copies(learner.base, slots + 1, slots),
        free=make_heap(slots + 1),
        marks=np.zeros(MARKS, np.int64),
    )


@restart.on(BOLD)
def _restart(learner: BOLD, state: Pool, t: int, magnitude: float) -> None:
    restart_copies(learner.base, state.copies, magnitude)
    for copy in range(state.marks[CREATED]):
        discard(state.free, copy)
    state.marks[CREATED] = 0
    state.marks[PLAYED] = 0


@predict.on(BOLD)
def _predict(learner: BOLD, state: Pool, directions: Directions, t: int, play: Array) -> None:
    state.marks[PLAYED] = next_copy(state)
    show_copy(learner.base, state.copies, state.marks[PLAYED], directions, t, play)


@enter.on(BOLD)
def _enter(learner: BOLD, state: Pool, slot: int, t: int) -> None:
    copy = state.marks[PLAYED]
    if copy == state.marks[CREATED]:
        state.marks[CREATED] += 1
    else:
        discard(state.free, copy)
    set_free(state, engage(learner.base, state.copies, copy, slot, t))  # its round was dropped, or weighed nothing


@absorb.on(BOLD)
def _absorb(
    learner: BOLD, state: Pool, directions: Directions, slot: int, s: int, weight: float, feedback: Array
) -> None:
    set_free(state, teach(learner.base, state.copies, directions, slot, s, weight, feedback))
