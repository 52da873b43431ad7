"""Reductions of late to immediate feedback: a base learner plays as if nothing were late, in one copy or in several.

The states of all copies are one state with one axis more, and a copy is a tuple of views. What a learner keeps by slot
has no axis more: a slot is one round's, and so one copy's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

import numpy as np

from tarry.checks import Natural
from tarry.kernel import step
from tarry.kernel.heap import Heap, discard, make_heap, push, top
from tarry.kernel.views import learn_slots, stack, view
from tarry.learners.base import (
    EXAMPLE,
    GRADIENT,
    VALUE,
    Directions,
    Learner,
    absorb,
    advance,
    allocate,
    enter,
    forget,
    notice,
    predict,
    query,
    restart,
)
from tarry.learners.states import Array, show_point
from tarry.rates.base import Constant, Facts, Rate, as_rate_of_time


class Reducing(Learner):
    """Base of learners whose ``base`` plays as if nothing were late.

    The base lives in a game without delay. Its clock counts its own feedbacks, nothing of its is out when it plays (so
    ``pending`` is 0, and a hint is of the round to come alone), and what it draws it draws for the game's round.
    """

    makes_immediate = True

    @property
    def domain(self) -> Any:
        return self.base.domain

    @property
    def dimension(self) -> int:
        return int(self.base.dimension)


def as_immediate(base: Any, *feedback: str) -> Any:
    """Return a learner of such feedback; raise TypeError if it cannot play as if nothing were late."""
    if not isinstance(base, Learner) or base.feedback not in feedback:
        kinds = " or ".join(f"{kind}s" for kind in feedback)
        raise TypeError(f"base must be a learner of {kinds} such as OGD(domain, rate=…), got {base!r}")
    part: Any = base
    while part is not None:
        _check_part(base, part)
        part = part.base
    return base


def _check_part(base: Learner, part: Learner) -> None:
    if part.makes_immediate:
        raise TypeError(f"base must be a learner for immediate feedback, got {base!r}, which wraps another already")
    if isinstance(part.rate, Rate) and not part.rate.follows_feedback:
        as_rate_of_time(part.rate, "rate")
    if not isinstance(part.smoothing, (float, Constant, type(None))):
        raise TypeError(
            f"a base has its own clock and draws for the game's rounds, so it needs one radius for all rounds, got "
            f"{part.smoothing!r}: give a number"
        )
    # Learners with rates take notice for the rates' sake, wrappers for their base's; others say so, or are believed to.
    looks = part.watches_tracked
    if looks is None:
        looks = part.rate is None and part.base is None
    if looks and isinstance(part, tuple(notice.members)):
        raise TypeError(f"a base waits for one round at most and cannot count the tracked ones, got {part!r}")


class OfCopies(Reducing):
    """Base of learners that keep copies of their ``base``."""

    @property
    def feedback(self) -> str:
        return str(self.base.feedback)

    @property
    def queries(self) -> int:
        return int(self.base.queries)


class Copies(NamedTuple):
    """The base's states; of each copy the play, and the feedbacks it has had; by slot the copy that waits, or -1."""

    states: Any
    plays: np.ndarray
    turns: np.ndarray
    held: np.ndarray


def as_copied(base: Any, name: str) -> Any:
    """Return a base that can be kept in copies; raise TypeError if it cannot."""
    as_immediate(base, GRADIENT, VALUE, EXAMPLE)
    learn_slots(allocate(base, 1), allocate(base, 2))
    return base


def make_copies(base: Learner, copies: int, slots: int) -> Copies:
    """Return this many fresh copies."""
    learn_slots(allocate(base, 1), allocate(base, 2))  # again: parameters may come from another process
    return Copies(
        states=stack(allocate(base, slots), copies),
        plays=np.zeros((copies, base.dimension)),
        turns=np.zeros(copies, np.int64),
        held=np.full(slots, -1, np.int64),
    )


@step
def restart_copies(base: Learner, copies: Copies, magnitude: float) -> None:
    """Make every copy fresh."""
    for i in range(copies.turns.size):
        copies.turns[i] = 0
        restart(base, view(copies.states, i), 1, magnitude)
    for slot in range(copies.held.size):
        copies.held[slot] = -1


@step
def show_copy(base: Learner, copies: Copies, i: int, directions: Directions, t: int, play: Array) -> None:
    """Write the play of the i-th copy in round t of the game."""
    predict(base, view(copies.states, i), directions, t, copies.plays[i])
    show_point(copies.plays[i], play)


@step
def engage(base: Learner, copies: Copies, i: int, slot: int, t: int) -> int:
    """Let the i-th copy wait for round t in this slot; return the copy that waits there in vain, or -1."""
    before = copies.held[slot]
    if before >= 0:
        forget(base, view(copies.states, before), slot)
    copies.held[slot] = i
    enter(base, view(copies.states, i), slot, t)
    return before


@step
def teach(
    base: Learner, copies: Copies, directions: Directions, slot: int, s: int, weight: float, feedback: Array
) -> int:
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
def _query(learner: OfCopies, directions: Directions, t: int, play: Array, points: Array) -> None:
    query(learner.base, directions, t, play, points)


def _as_base_solid(base: Any, name: str) -> Any:
    return as_immediate(base, GRADIENT)


class SOLID(Reducing):
    """A base learner that takes each feedback as a round of its own.

        x_t = the base's point;   for every feedback, in the order observed:   base ← its update, one round of its clock

    ``base`` is a learner of gradients, yours too, but for rates that follow the game and what is a reduction itself. It
    plays a game without delay, in which g_s is the gradient at z_s, its point when g_s is taken: nothing is ever
    pending, and what it remembers of a play it remembers of z_s. ``SOLID(OGD(…))`` is ``OGD(…)``, which counts
    feedbacks already; ``SOLID(DWFTRL(…))`` regularises by feedbacks, not rounds. The regret is the base's on the
    sequence as it arrived, plus the drift Σ ⟨g_s, x_s − z_s⟩; with OGD of the order √(T + total delay). Feedback of
    one round comes in increasing s, and that order matters. Weights are the base's. Values are of the point played,
    not of z_s: for them wrap the other way round, ``OnePoint(SOLID(…))``.

    Joulani, György, Szepesvári, *Delay-Tolerant Online Convex Optimization: Unified Analysis and Adaptive-Gradient
    Algorithms*, AAAI 2016 (whose adaptive steps are not built here).

    >>> from tarry.domains import Ball
    >>> from tarry.learners import DWFTRL
    >>> SOLID(DWFTRL(Ball(2), rate=0.1)).dimension
    2
    """

    base: Annotated[Any, _as_base_solid]

    feedback = GRADIENT


class SOLIDState(NamedTuple):
    """The base's state, its point as it was shown last, and how many feedbacks it has had."""

    base: Any
    point: np.ndarray
    turns: np.ndarray


@allocate.on(SOLID)
def _allocate_solid(learner: SOLID, slots: int) -> SOLIDState:
    return SOLIDState(allocate(learner.base, slots), np.zeros(learner.dimension), np.zeros(1, np.int64))


@restart.on(SOLID)
def _restart_solid(learner: SOLID, state: SOLIDState, t: int, magnitude: float) -> None:
    # The base's clock counts feedbacks: its first round is 1 whatever the game's is.
    restart(learner.base, state.base, 1, magnitude)
    state.turns[0] = 0


@predict.on(SOLID)
def _predict_solid(learner: SOLID, state: SOLIDState, directions: Directions, t: int, play: Array) -> None:
    predict(learner.base, state.base, directions, t, state.point)
    show_point(state.point, play)


@absorb.on(SOLID)
def _absorb_solid(
    learner: SOLID, state: SOLIDState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
) -> None:
    # One whole round of the base's game: it plays, is tracked, hears, and closes with nothing pending.
    state.turns[0] += 1
    predict(learner.base, state.base, directions, s, state.point)
    enter(learner.base, state.base, slot, s)
    absorb(learner.base, state.base, directions, slot, s, weight, feedback)
    advance(learner.base, state.base, state.turns[0], 0)


class Interleaving(OfCopies):
    """``delay`` + 1 independent copies of a base learner in turn, for one known, fixed delay d ≥ 0.

        x_t = the play of copy t mod (d + 1);   at the feedback of s:   copy s mod (d + 1) ← its update

    which is in before that copy's next turn, d + 1 rounds after s.

    ``base`` is any learner, as for :class:`BOLD`. Regret at most (d + 1)·Reg(T/(d + 1)), Reg the base's without delay.
    Each copy sees one round in d + 1, so it learns slowly. Feedback later than d still goes to its copy, but
    after that copy has played again, and nothing is promised. Rounds that were dropped, or weigh nothing, are rounds
    their copy did not have.

    Weinberger, Ordentlich, *On Delayed Prediction of Individual Sequences*, IEEE Transactions on Information Theory
    48, 2002.

    >>> from tarry.domains import Ball
    >>> from tarry.learners import OGD
    >>> Interleaving(OGD(Ball(2), rate=0.1), delay=3).copies
    4
    """

    base: Annotated[Any, as_copied]
    delay: Natural

    @property
    def copies(self) -> int:
        return self.delay + 1

    def doubts(self, facts: Facts) -> Iterator[str]:
        """Yield a warning about delays above the one given."""
        if facts.max_delay > self.delay:
            yield (
                f"Interleaving is for one delay, {self.delay}, and this game's reach {facts.max_delay}: nothing is "
                f"promised, give delay={facts.max_delay}, or use BOLD, which needs no knowledge of delays"
            )


@allocate.on(Interleaving)
def _allocate_interleaving(learner: Interleaving, slots: int) -> Copies:
    return make_copies(learner.base, learner.copies, slots)


@restart.on(Interleaving)
def _restart_interleaving(learner: Interleaving, state: Copies, t: int, magnitude: float) -> None:
    restart_copies(learner.base, state, magnitude)


@predict.on(Interleaving)
def _predict_interleaving(learner: Interleaving, state: Copies, directions: Directions, t: int, play: Array) -> None:
    show_copy(learner.base, state, (t - 1) % (learner.delay + 1), directions, t, play)


@enter.on(Interleaving)
def _enter_interleaving(learner: Interleaving, state: Copies, slot: int, t: int) -> None:
    engage(learner.base, state, (t - 1) % (learner.delay + 1), slot, t)


@absorb.on(Interleaving)
def _absorb_interleaving(
    learner: Interleaving, state: Copies, directions: Directions, slot: int, s: int, weight: float, feedback: Array
) -> None:
    teach(learner.base, state, directions, slot, s, weight, feedback)


CREATED, PLAYED, MARKS = range(3)  # of ``Pool.marks``


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
    # The smallest, so that few copies are ever made and those learn the most.
    copy = top(state.free)
    return copy if copy >= 0 else state.marks[CREATED]


@step
def set_free(state: Pool, copy: int) -> None:
    """Free a copy (-1: none)."""
    if copy >= 0:
        push(state.free, copy, float(copy))


@allocate.on(BOLD)
def _allocate_bold(learner: BOLD, slots: int) -> Pool:
    return Pool(
        copies=make_copies(learner.base, slots + 1, slots),
        free=make_heap(slots + 1),
        marks=np.zeros(MARKS, np.int64),
    )


@restart.on(BOLD)
def _restart_bold(learner: BOLD, state: Pool, t: int, magnitude: float) -> None:
    restart_copies(learner.base, state.copies, magnitude)
    for copy in range(state.marks[CREATED]):
        discard(state.free, copy)
    state.marks[CREATED] = 0
    state.marks[PLAYED] = 0


@predict.on(BOLD)
def _predict_bold(learner: BOLD, state: Pool, directions: Directions, t: int, play: Array) -> None:
    state.marks[PLAYED] = next_copy(state)
    show_copy(learner.base, state.copies, state.marks[PLAYED], directions, t, play)


@enter.on(BOLD)
def _enter_bold(learner: BOLD, state: Pool, slot: int, t: int) -> None:
    copy = state.marks[PLAYED]
    if copy == state.marks[CREATED]:
        state.marks[CREATED] += 1
    else:
        discard(state.free, copy)
    set_free(state, engage(learner.base, state.copies, copy, slot, t))  # its round was dropped, or weighed nothing


@absorb.on(BOLD)
def _absorb_bold(
    learner: BOLD, state: Pool, directions: Directions, slot: int, s: int, weight: float, feedback: Array
) -> None:
    set_free(state, teach(learner.base, state.copies, directions, slot, s, weight, feedback))
