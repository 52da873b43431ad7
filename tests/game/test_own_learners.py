"""What simulate says of a learner of one's own that does not keep to the rules."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import tarry
from tarry.domains import project
from tarry.learners import SOLID, OnePoint, TwoPoint
from tarry.learners.base import Learner, absorb, advance, allocate, predict, restart

BALL = tarry.domains.Ball(3)
ROWS = np.tile([0.0, 0.6, 0.8], (50, 1))


class Stray(Learner):
    """x ← x − η Σ w g, projected or not."""

    domain: Any
    rate: float
    projects: int
    feedback = "gradient"


class Movable(Stray):
    """The same, which may be moved."""

    def moved_to(self, domain):
        return Movable(domain, self.rate, self.projects)


class Careless(Stray):
    """One that is moved nowhere."""

    def moved_to(self, domain):
        return self


class Listing(Stray):
    """With a state that is a list."""


class Nesting(Stray):
    """With a list in its state."""


class StrayState(NamedTuple):
    x: np.ndarray
    scratch: np.ndarray


@allocate.on(Stray)
def _allocate(learner, slots):
    return StrayState(np.array(learner.domain.center), np.zeros(learner.dimension))


@allocate.on(Listing)
def _allocate_list(learner, slots):
    return [np.zeros(learner.dimension)] * 2


@allocate.on(Nesting)
def _allocate_nested(learner, slots):
    return StrayState(np.zeros(learner.dimension), [0.0])


@restart.on(Stray)
def _restart(learner, state, t, magnitude):
    for i in range(state.x.size):
        state.x[i] = learner.domain.center[i]


@predict.on(Stray)
def _predict(learner, state, directions, t, play):
    for i in range(play.size):
        play[i] = state.x[i]


@absorb.on(Stray)
def _absorb(learner, state, directions, slot, s, weight, feedback):
    for i in range(feedback.size):
        state.x[i] -= learner.rate * weight * feedback[i]


@advance.on(Stray)
def _advance(learner, state, t, pending):
    if learner.projects:
        project(learner.domain, state.x, state.scratch)


def _game(**changes):
    delays = tarry.delays.fixed(horizon=50, delay=2)
    linear = tarry.losses.Linear(ROWS)
    return tarry.Game(**{"domain": BALL, "losses": linear, "delays": delays, "capacity": 4, **changes})


def test_plays_outside_the_domain_are_refused():
    outside = r"Stray played \[.*\] in round 50, which lies 3\.\d+ outside its domain Ball\(.*project in predict"
    with pytest.raises(ValueError, match=outside):
        tarry.simulate(_game(), Stray(BALL, 0.1, 0))
    with pytest.raises(ValueError, match=outside):
        tarry.simulate(tarry.WeightedGame(BALL, _game().losses, _game().delays, np.ones(50)), Stray(BALL, 0.1, 0))
    assert tarry.simulate(_game(), Stray(BALL, 0.01, 0)).regret[0] > 0  # as long as it stays inside
    assert np.linalg.norm(tarry.simulate(_game(), Stray(BALL, 0.1, 1)).last_plays[0]) <= 1 + 1e-12


def test_plays_that_are_not_finite_are_refused():
    flat = tarry.losses.Callables(value=lambda x, t: 0.0, gradient=lambda x, t: np.ones(3), dimension=3, horizon=50)
    with pytest.raises(ValueError, match=r"Stray played .* in rounds 1 to 50, which is not finite: check its predict"):
        tarry.simulate(_game(losses=flat), Stray(BALL, 1e308, 0))


@pytest.mark.parametrize(("learner", "found"), [(Listing, "got a list:"), (Nesting, "got a list in it:")])
def test_states_are_named_tuples_of_arrays(learner, found):
    sentence = rf"the state of the learner {learner.__name__}, made by its allocate\(\), must be a named tuple.*{found}"
    with pytest.raises(TypeError, match=sentence):
        tarry.simulate(_game(), learner(BALL, 0.1, 1))


def test_one_that_can_be_moved_learns_from_values():
    mine = Movable(BALL, 0.01, 1)
    for learner, queries in ((OnePoint(mine, 0.3), 1), (TwoPoint(SOLID(mine), 0.3), 2)):
        assert learner.domain == BALL
        record = tarry.simulate(_game(feedback="value", queries=queries), learner, keep_rounds=True)
        assert np.linalg.norm(record.plays(), axis=1).max() <= 1 + 1e-12


def test_one_that_cannot_be_moved_is_refused_for_that():
    with pytest.raises(TypeError, match=r"Stray cannot be moved to a smaller domain: .*moved_to\(domain\)"):
        OnePoint(Stray(BALL, 0.1, 1), 0.1)
    with pytest.raises(TypeError, match=r"moved_to\(domain\) of Careless must return a learner of gradients on"):
        OnePoint(Careless(BALL, 0.1, 1), 0.1)
