"""A user's own learner passes the public contract, and one that breaks the rules does not."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from tarry.domains import Ball
from tarry.domains.base import project
from tarry.learners.base import Learner, absorb, advance, allocate, predict, restart
from tarry.learners.states import Vector
from tarry.testing import LearnerContract


class MomentumState(NamedTuple):
    point: Vector
    step: Vector
    scratch: Vector


class Momentum(Learner):
    """A user's own: x ← Π(x − m), m ← βm + η Σ w g over what arrives."""

    domain: Any
    rate: float
    decay: float

    feedback = "gradient"
    state = MomentumState


@absorb.on(Momentum)
def _absorb(learner, state, directions, slot, s, weight, feedback):
    for i in range(feedback.size):
        state.step[i] += learner.rate * weight * feedback[i]


@advance.on(Momentum)
def _advance(learner, state, t, pending):
    for i in range(state.point.size):
        state.point[i] -= state.step[i]
        state.step[i] *= learner.decay
    project(learner.domain, state.point, state.scratch)


@restart.on(Momentum)
def _restart(learner, state, t, magnitude):
    for i in range(state.point.size):
        state.point[i] = learner.domain.center[i]
        state.step[i] = 0.0


class TestYours(LearnerContract):
    def learner(self):
        return self.sized(3)

    def sized(self, dimension):
        return Momentum(Ball(dimension), 0.05, 0.5)


class Early(Learner):
    """A learner that breaks the rules: it counts its predictions."""

    domain: Any
    feedback = "gradient"
    dimension = 1


@allocate.on(Early)
def _allocate_early(learner, slots):
    return MomentumState(np.zeros(1), np.zeros(1), np.zeros(1))


@predict.on(Early)
def _predict_early(learner, state, directions, t, play):
    state.step[0] += 1
    play[0] = min(1.0, state.point[0] + 0.001 * state.step[0])


@absorb.on(Early)
def _absorb_early(learner, state, directions, slot, s, weight, feedback):
    state.point[0] -= 0.001 * weight * feedback[0]


@restart.on(Early)
def _restart_early(learner, state, t, magnitude):
    state.point[0] = 0.0  # and forgets that it has counted


class _Broken(LearnerContract):
    def learner(self):
        return Early(Ball(1))


def test_the_contract_notices_what_it_is_for():
    for test in (_Broken().test_prediction_changes_nothing, _Broken().test_a_restarted_learner_is_a_fresh_one):
        with pytest.raises(AssertionError):
            test()
    _Broken().test_a_copied_state_goes_on_bit_for_bit()


def test_a_method_named_as_a_verb_is_registered():
    class Still(Momentum):
        def advance(self, state, t, pending):
            state.step[0] = 7.0

    learner = Still(Ball(3), 0.05, 0.5)
    state = allocate(learner, 1)
    advance(learner, state, 1, 0)
    assert state.step.tolist() == [7.0, 0.0, 0.0]
    with pytest.raises(TypeError, match=r"advance\(learner, state, t, pending\) has 4 arguments"):

        class Wrong(Momentum):
            def advance(self, state):
                pass
