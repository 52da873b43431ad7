"""Interleaving: d + 1 copies of a learner for immediate feedback take turns, one for each residue of t.

round t plays copy t mod (d + 1);  its feedback, d rounds later, updates that copy before its next turn
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from tarry.checks import as_whole
from tarry.kernel import Parameters, step, verb
from tarry.learners.base import VALUE, absorb, advance, allocate, enter, predict, restart
from tarry.learners.dwftbl import DWFTBL
from tarry.learners.dwftrl import LeaderState
from tarry.learners.exp3 import ArmsState, Exp3
from tarry.learners.ogd import DescentState, by_time, show_point
from tarry.learners.rules import Constant
from tarry.learners.solid import as_immediate, check_base
from tarry.learners.tsallis import TsallisFTRL


class _InterleavingFields(NamedTuple):
    base: Any
    delay: int


class Interleaving(Parameters, _InterleavingFields):
    """``delay`` + 1 independent copies of a base learner in turn, for one known, fixed delay d ≥ 0.

    ``base`` is OGD, DOGD, DWFTRL or DOGDSC, or for values Exp3, TsallisFTRL or, with one radius for all rounds, DWFTBL;
    its rate is of time alone. Each copy's clock counts its own feedbacks; what is drawn is drawn for the game's round.
    Regret at most (d + 1)·Reg(T/(d + 1)), Reg the base's without delay. Each copy sees one round in d + 1, so it
    learns slowly. Feedback later than d still goes to its copy, but after that copy has played again, and nothing
    is promised. Rounds that were dropped, or weigh nothing, are rounds their copy did not have.

    Weinberger, Ordentlich, *On Delayed Prediction of Individual Sequences*, IEEE Transactions on Information Theory
    48, 2002.

    >>> from tarry.domains import Ball
    >>> from tarry.learners import OGD
    >>> Interleaving(OGD(Ball(2), rate=0.1), delay=3).copies
    4
    """

    __slots__ = ()

    def __new__(cls, base: Any, delay: int) -> Self:
        return cls.make(as_copied(base), as_whole(delay, "delay"))

    @property
    def feedback(self) -> str:
        return str(self.base.feedback)

    @property
    def copies(self) -> int:
        return self.delay + 1

    @property
    def domain(self) -> Any:
        return self.base.domain

    @property
    def dimension(self) -> int:
        return int(self.base.dimension)

    def check_horizon(self, horizon: int | None) -> None:
        """Refuse games longer than the base's sequence (None: a session, which has no end)."""
        check_base(self.base, horizon)


class Copies(NamedTuple):
    """The base's states with one axis more, and how many feedbacks each copy has had.

    What is kept by slot has no axis more: a slot is one round's, and so one copy's.
    """

    states: Any
    turns: np.ndarray


@verb
def copy_of(states: Any, i: int) -> Any:
    """The state of the i-th copy: views, so that changes stay."""


@copy_of.on(LeaderState)
def _leader(states: Any, i: Any) -> Any:
    return LeaderState(
        states.point[i],
        states.anchor[i],
        states.total[i],
        states.scratch[i],
        states.rate[i],
        states.inverse_rate[i],
        states.memory[i],
        states.changed[i],
        states.moved[i],
        states.before[i],
    )


@copy_of.on(DescentState)
def _descent(states: Any, i: Any) -> Any:
    return DescentState(states.point[i], states.total[i], states.scratch[i], states.memory[i], states.clock[i])


@copy_of.on(ArmsState)
def _arms(states: Any, i: Any) -> Any:
    return ArmsState(copy_of(states.leader, i), states.drawn, states.tracked, states.arm, states.chance)


@verb
def show_copy(base: Any, state: Any, directions: Any, t: int, play: Any) -> None:
    """Write the play of a copy in round t of the game; whether it has moved since *its* last play does not matter."""


@show_copy.otherwise
def _point(base: Any, state: Any, directions: Any, t: Any, play: Any) -> None:
    show_point(state.point, play)


@show_copy.on(DWFTBL, Exp3, TsallisFTRL)
def _drawn(base: Any, state: Any, directions: Any, t: Any, play: Any) -> None:
    predict(base, state, directions, t, play)


def as_copied(base: Any) -> Any:
    """A base whose state can be kept in copies, or a sentence saying why not."""
    if isinstance(base, tuple(show_copy.registry.members)):
        _check_valued(base)
    elif getattr(base, "feedback", None) != VALUE:
        as_immediate(base)
    if isinstance(base, type) or type(allocate(base, 1)) not in copy_of.registry.members:
        kind = base.__name__ if isinstance(base, type) else type(base).__name__
        raise TypeError(
            f"copies of {kind} cannot be kept: use OGD, DOGD, DWFTRL or DOGDSC as the base, or for values Exp3, "
            "TsallisFTRL or DWFTBL"
        )
    return base


def _check_valued(base: Any) -> None:
    """A copy's clock is not the game's, so its radius may not depend on either."""
    if hasattr(base, "rate"):
        by_time(base.rate)
    if not isinstance(getattr(base, "smoothing", None), (Constant, type(None))):
        raise TypeError(f"copies of DWFTBL need one radius for all rounds, got {base.smoothing!r}: give a number")
    if getattr(base, "watches_tracked", False):
        raise TypeError(f"a copy waits for one round at most and cannot count the tracked ones, got {base!r}")


def make_copies(base: Any, copies: int, slots: int) -> Copies:
    """This many fresh copies."""
    return Copies(_stacked(allocate(base, slots), copies), np.zeros(copies, np.int64))


def _stacked(part: Any, copies: int) -> Any:
    if isinstance(part, ArmsState):
        return part._replace(leader=_stacked(part.leader, copies))
    if isinstance(part, tuple):
        return type(part)(*(_stacked(inner, copies) for inner in part))
    rows = np.zeros((copies, *part.shape), part.dtype)
    if part.any():  # else the pages of copies that are never made stay untouched
        rows[:] = part
    return rows


@step
def restart_copies(base: Any, copies: Copies, magnitude: float) -> None:
    """Make every copy fresh."""
    for i in range(copies.turns.size):
        copies.turns[i] = 0
        restart(base, copy_of(copies.states, i), 1, magnitude)


@step
def teach(base: Any, copies: Copies, i: int, directions: Any, slot: int, s: int, weight: float, feedback: Any) -> None:
    """One round of the i-th copy's clock, with this feedback."""
    copies.turns[i] += 1
    state = copy_of(copies.states, i)
    absorb(base, state, directions, slot, s, weight, feedback)
    advance(base, state, copies.turns[i], 0)


@allocate.on(Interleaving)
def _allocate(learner: Interleaving, slots: int) -> Copies:
    return make_copies(learner.base, learner.copies, slots)


@restart.on(Interleaving)
def _restart(learner: Any, state: Any, t: Any, magnitude: Any) -> None:
    restart_copies(learner.base, state, magnitude)


@predict.on(Interleaving)
def _predict(learner: Any, state: Any, directions: Any, t: Any, play: Any) -> None:
    show_copy(learner.base, copy_of(state.states, (t - 1) % (learner.delay + 1)), directions, t, play)


@enter.on(Interleaving)
def _enter(learner: Any, state: Any, slot: Any, t: Any) -> None:
    enter(learner.base, copy_of(state.states, (t - 1) % (learner.delay + 1)), slot, t)


@absorb.on(Interleaving)
def _absorb(learner: Any, state: Any, directions: Any, slot: Any, s: Any, weight: Any, feedback: Any) -> None:
    teach(learner.base, state, (s - 1) % (learner.delay + 1), directions, slot, s, weight, feedback)


@advance.on(Interleaving)
def _advance(learner: Any, state: Any, t: Any, pending: Any) -> None:
    pass
