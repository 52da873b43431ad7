"""Reductions of late to immediate feedback: a base learner plays as if nothing were late, in one copy or in several.

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
from tarry.rates.base import Constant, Rate, as_rate_of_time


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
    if looks and isinstance(part, tuple(notice.registry.members)):
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
