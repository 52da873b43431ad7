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
from tarry.learners import base as verbs
from tarry.learners.base import EXAMPLE, GRADIENT, VALUE, Directions, Learner, allocate
from tarry.learners.states import Array, show_point
from tarry.rates.base import Constant, Facts, Rate, as_rate_of_time


class Reducing(Learner):
    """Wrap a ``base`` that plays as if nothing were late.

    The base lives in a game without delay. Its clock counts its own feedbacks, nothing of its is out when it plays (so
    ``pending`` is 0, and a hint is of the round to come alone), and what it draws it draws for the game's round.
    """

    makes_immediate = True


def as_immediate(base: Any, name: str, feedback: tuple[str, ...] = (GRADIENT,)) -> Any:
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
    # Wrappers take notice for their base's sake; others say so, or are believed to.
    looks = part.watches_tracked
    if looks is None:
        looks = part.rate is None and part.base is None
    if looks and isinstance(part, tuple(verbs.notice.members)):
        raise TypeError(f"a base waits for one round at most and cannot count the tracked ones, got {part!r}")


class OfCopies(Reducing):
    """Share what learners say of the copies of their ``base``."""

    @property
    def feedback(self) -> str:
        return str(self.base.feedback)

    @property
    def queries(self) -> int:
        return int(self.base.queries)

    def query(self, directions: Directions, t: int, play: Array, points: Array) -> None:
        verbs.query(self.base, directions, t, play, points)


class Copies(NamedTuple):
    """Hold the base's states; of each copy the play and the feedbacks had; by slot the copy that waits, or -1."""

    states: Any
    plays: np.ndarray
    turns: np.ndarray
    held: np.ndarray


def as_copied(base: Any, name: str) -> Any:
    """Return a base that can be kept in copies; raise TypeError if it cannot."""
    as_immediate(base, name, (GRADIENT, VALUE, EXAMPLE))
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
        verbs.restart(base, view(copies.states, i), 1, magnitude)
    for slot in range(copies.held.size):
        copies.held[slot] = -1


@step
def show_copy(base: Learner, copies: Copies, i: int, directions: Directions, t: int, play: Array) -> None:
    """Write the play of the i-th copy in round t of the game."""
    verbs.predict(base, view(copies.states, i), directions, t, copies.plays[i])
    show_point(copies.plays[i], play)


@step
def engage(base: Learner, copies: Copies, i: int, slot: int, t: int) -> int:
    """Let the i-th copy wait for round t in this slot; return the copy that waits there in vain, or -1."""
    before = copies.held[slot]
    if before >= 0:
        verbs.forget(base, view(copies.states, before), slot)
    copies.held[slot] = i
    verbs.enter(base, view(copies.states, i), slot, t)
    return before


@step
def teach(
    base: Learner, copies: Copies, directions: Directions, slot: int, s: int, weight: float, feedback: Array
) -> int:
    """Play one round of the clock of the copy that waits in this slot, with this feedback; return the copy, or -1."""
    i = copies.held[slot]
    if i >= 0:
        copies.held[slot] = -1
        copies.turns[i] += 1
        state = view(copies.states, i)
        verbs.absorb(base, state, directions, slot, s, weight, feedback)
        verbs.advance(base, state, copies.turns[i], 0.0)
    return i


class SOLID(Reducing):
    """A base learner that takes each feedback as a round of its own.

        x_t = the base's point;   for every feedback, in the order observed:   base ← its update, one round of its clock

    ``base`` is a learner of gradients, yours too, but for rates that follow the game and reductions. g_s counts as the
    gradient at z_s, the base's point when g_s is taken. The regret is the base's on the sequence as it arrived, plus
    the drift Σ ⟨g_s, x_s − z_s⟩; with OGD, which SOLID leaves as it is, of the order √(T + total delay). Values are of
    the point played, not of z_s: for them wrap the other way round, ``OnePoint(SOLID(…))``. Joulani, György,
    Szepesvári, *Delay-Tolerant Online Convex Optimization: Unified Analysis and Adaptive-Gradient Algorithms*, AAAI
    2016 (whose adaptive steps are not built here).
    """

    base: Annotated[Any, as_immediate]

    feedback = GRADIENT

    def allocate(self, slots: int) -> SOLIDState:
        return SOLIDState(allocate(self.base, slots), np.zeros(self.dimension), np.zeros(1, np.int64))

    def restart(self, state: SOLIDState, t: int, magnitude: float) -> None:
        # The base's clock counts feedbacks: its first round is 1 whatever the game's is.
        verbs.restart(self.base, state.base, 1, magnitude)
        state.turns[0] = 0

    def predict(self, state: SOLIDState, directions: Directions, t: int, play: Array) -> None:
        verbs.predict(self.base, state.base, directions, t, state.point)
        show_point(state.point, play)

    def absorb(
        self, state: SOLIDState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
    ) -> None:
        # One whole round of the base's game: it plays, is tracked, hears, and closes with nothing pending.
        state.turns[0] += 1
        verbs.predict(self.base, state.base, directions, s, state.point)
        verbs.enter(self.base, state.base, slot, s)
        verbs.absorb(self.base, state.base, directions, slot, s, weight, feedback)
        verbs.advance(self.base, state.base, state.turns[0], 0.0)


class SOLIDState(NamedTuple):
    """Hold the base's state, its point as it was shown last, and how many feedbacks it has had."""

    base: Any
    point: np.ndarray
    turns: np.ndarray


class Interleaving(OfCopies):
    """Play ``delay`` + 1 independent copies of a base learner in turn, for one known, fixed delay d ≥ 0.

        x_t = the play of copy t mod (d + 1);   at the feedback of s:   copy s mod (d + 1) ← its update

    ``base`` is any learner, as for :class:`BOLD`. Regret at most (d + 1)·Reg(T/(d + 1)), Reg the base's without delay.
    Feedback later than d still goes to its copy, but after that copy has played again, and nothing is promised.
    Weinberger, Ordentlich, *On Delayed Prediction of Individual Sequences*, IEEE Transactions on Information Theory 48,
    2002.

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
        if facts.max_delay > self.delay:
            yield (
                f"Interleaving is for one delay, {self.delay}, and this game's reach {facts.max_delay}: nothing is "
                f"promised, give delay={facts.max_delay}, or use BOLD, which needs no knowledge of delays"
            )

    def allocate(self, slots: int) -> Copies:
        return make_copies(self.base, self.copies, slots)

    def restart(self, state: Copies, t: int, magnitude: float) -> None:
        restart_copies(self.base, state, magnitude)

    def predict(self, state: Copies, directions: Directions, t: int, play: Array) -> None:
        show_copy(self.base, state, (t - 1) % (self.delay + 1), directions, t, play)

    def enter(self, state: Copies, slot: int, t: int) -> None:
        engage(self.base, state, (t - 1) % (self.delay + 1), slot, t)

    def absorb(self, state: Copies, directions: Directions, slot: int, s: int, weight: float, feedback: Array) -> None:
        teach(self.base, state, directions, slot, s, weight, feedback)


CREATED, PLAYED, MARKS = range(3)  # of ``Pool.marks``


class BOLD(OfCopies):
    """Black-box online learning under delays: as many copies of a base learner as rounds are ever out, plus one.

        c_t = min{free copies},   x_t = the play of copy c_t;   at the feedback of s:   copy c_s ← its update, free

    A new copy is made if none is free. ``base`` is any learner, yours too, but for rates that follow the game, radii
    that change, and reductions. Where every round is tracked the regret is at most (σ_max + 1)·Reg(T/(σ_max + 1)), Reg
    the base's without delay, concave. Under a capacity a copy is kept by a *tracked* round only; that of a round that
    was dropped, or weighed nothing, is freed without an update when the round's slot is taken again. Joulani, György,
    Szepesvári, *Online Learning under Delayed Feedback*, ICML 2013.
    """

    base: Annotated[Any, as_copied]

    def allocate(self, slots: int) -> Pool:
        return Pool(
            copies=make_copies(self.base, slots + 1, slots), free=make_heap(slots + 1), marks=np.zeros(MARKS, np.int64)
        )

    def restart(self, state: Pool, t: int, magnitude: float) -> None:
        restart_copies(self.base, state.copies, magnitude)
        for copy in range(state.marks[CREATED]):
            discard(state.free, copy)
        state.marks[CREATED] = 0
        state.marks[PLAYED] = 0

    def predict(self, state: Pool, directions: Directions, t: int, play: Array) -> None:
        # The smallest free one, so that few copies are ever made and those learn the most; perhaps one yet to be made.
        copy = top(state.free)
        state.marks[PLAYED] = copy if copy >= 0 else state.marks[CREATED]
        show_copy(self.base, state.copies, state.marks[PLAYED], directions, t, play)

    def enter(self, state: Pool, slot: int, t: int) -> None:
        copy = state.marks[PLAYED]
        if copy == state.marks[CREATED]:
            state.marks[CREATED] += 1
        else:
            discard(state.free, copy)
        before = engage(self.base, state.copies, copy, slot, t)
        if before >= 0:
            push(state.free, before, float(before))  # its round was dropped, or weighed nothing

    def absorb(self, state: Pool, directions: Directions, slot: int, s: int, weight: float, feedback: Array) -> None:
        copy = teach(self.base, state.copies, directions, slot, s, weight, feedback)
        if copy >= 0:
            push(state.free, copy, float(copy))


class Pool(NamedTuple):
    """Hold the copies; ``free`` = copies made and free, ``marks`` = (made, played last)."""

    copies: Copies
    free: Heap
    marks: np.ndarray
