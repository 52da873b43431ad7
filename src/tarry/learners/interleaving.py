"""Interleaving: d + 1 copies of a learner for immediate feedback take turns, one for each residue of t.

round t plays copy t mod (d + 1);  its feedback, d rounds later, updates that copy before its next turn
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from tarry.checks import as_whole
from tarry.kernel import Parameters, step, verb
from tarry.learners.base import GRADIENT, absorb, advance, allocate, predict, restart
from tarry.learners.dwftrl import LeaderState
from tarry.learners.ogd import DescentState, show_point
from tarry.learners.solid import as_immediate, check_base


class _InterleavingFields(NamedTuple):
    base: Any
    delay: int


class Interleaving(Parameters, _InterleavingFields):
    """``delay`` + 1 independent copies of a base learner in turn, for one known, fixed delay d ≥ 0.

    ``base`` is OGD, DOGD, DWFTRL or DOGDSC with a rate of time alone; each copy's clock counts its own feedbacks.
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

    feedback = GRADIENT

    def __new__(cls, base: Any, delay: int) -> Self:
        return cls.make(as_copied(base), as_whole(delay, "delay"))

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
    """The base's states with one axis more, and how many feedbacks each copy has had."""

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


def as_copied(base: Any) -> Any:
    """A base whose state can be kept in copies, or a sentence saying why not."""
    as_immediate(base)
    if type(allocate(base, 1)) not in copy_of.registry.members:
        raise TypeError(f"copies of {type(base).__name__} cannot be kept: use OGD, DOGD, DWFTRL or DOGDSC as the base")
    return base


def make_copies(base: Any, copies: int) -> Copies:
    """This many fresh copies."""
    one = allocate(base, 1)
    return Copies(type(one)(*(_stacked(part, copies) for part in one)), np.zeros(copies, np.int64))


def _stacked(part: np.ndarray, copies: int) -> np.ndarray:
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
def teach(base: Any, copies: Copies, i: int, directions: Any, s: int, weight: float, feedback: Any) -> None:
    """One round of the i-th copy's clock, with this feedback."""
    copies.turns[i] += 1
    state = copy_of(copies.states, i)
    absorb(base, state, directions, 0, s, weight, feedback)
    advance(base, state, copies.turns[i], 0)


@allocate.on(Interleaving)
def _allocate(learner: Interleaving, slots: int) -> Copies:
    return make_copies(learner.base, learner.copies)


@restart.on(Interleaving)
def _restart(learner: Any, state: Any, t: Any, magnitude: Any) -> None:
    restart_copies(learner.base, state, magnitude)


@predict.on(Interleaving)
def _predict(learner: Any, state: Any, directions: Any, t: Any, play: Any) -> None:
    show_point(state.states.point[(t - 1) % (learner.delay + 1)], play)


@absorb.on(Interleaving)
def _absorb(learner: Any, state: Any, directions: Any, slot: Any, s: Any, weight: Any, feedback: Any) -> None:
    teach(learner.base, state, (s - 1) % (learner.delay + 1), directions, s, weight, feedback)


@advance.on(Interleaving)
def _advance(learner: Any, state: Any, t: Any, pending: Any) -> None:
    pass
