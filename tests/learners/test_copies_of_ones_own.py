"""Copies of a learner of one's own, and what cannot be copied."""

from __future__ import annotations

import pickle
from typing import Any, NamedTuple

import numpy as np
import pytest
from copied import BALL, HORIZON, K, plays, separate

import tarry
from tarry.kernel.heap import Heap, make_heap, push, top
from tarry.learners import BOLD, DOGD, DWFTRL, GOLD, OGD, SOLID, Interleaving, OnePoint, TsallisFTRL, TwoPoint
from tarry.learners.base import Learner, absorb, advance, allocate, enter, notice, predict, restart
from tarry.rates import Power


class Latest(Learner):
    """A user's own: against the latest of the largest gradients heard, and where the last tracked round played."""

    domain: Any

    feedback = "gradient"


class LatestState(NamedTuple):
    seen: Heap
    kept: np.ndarray
    own: np.ndarray
    moved: np.ndarray


@allocate.on(Latest)
def _allocate(learner, slots):
    k = learner.dimension
    return LatestState(make_heap(slots), np.zeros((slots, k)), np.zeros(k), np.ones(1, np.int64))


@restart.on(Latest)
def _restart(learner, state, t, magnitude):
    state.own[:] = 0.0
    state.moved[0] = 1


@predict.on(Latest)
def _predict(learner, state, directions, t, play):
    if state.moved[0] == 1:  # else it stands there already
        for i in range(play.size):
            play[i] = state.own[i]
    state.moved[0] = 0


@enter.on(Latest)
def _enter(learner, state, slot, t):
    for i in range(state.own.size):
        state.kept[slot, i] = state.own[i]
    if top(state.seen) < 0:
        push(state.seen, 0, float(t))


@absorb.on(Latest)
def _absorb(learner, state, directions, slot, s, weight, feedback):
    for i in range(state.own.size):
        state.own[i] = 0.5 * state.kept[slot, i] - 0.1 * feedback[i]


@advance.on(Latest)
def _advance(learner, state, t, pending):
    state.moved[0] = 1


@pytest.mark.parametrize("delay", [0, 3])
def test_a_learner_of_ones_own(delay):
    """It keeps something by slot, a heap that is not, and shows its play only when it has moved."""
    base, fixed = Latest(BALL), np.full(HORIZON, delay)
    expected = separate(base, delay)
    np.testing.assert_allclose(plays(Interleaving(base, delay), fixed), expected, atol=1e-12)
    np.testing.assert_allclose(plays(pickle.loads(pickle.dumps(BOLD(base))), fixed), expected, atol=1e-12)


class Loose(Latest):
    __slots__ = ()


@allocate.on(Loose)
def _allocate_loosely(learner, slots):
    return [np.zeros(1)]


class Watching(Latest):
    __slots__ = ()


@notice.on(Watching)
def _notice(learner, state, t, tracked):
    pass


@pytest.mark.parametrize(
    ("base", "sentence"),
    [
        (Loose(BALL), "a named tuple of arrays, nested or not, got a list"),
        (Watching(BALL), "cannot count the tracked ones"),
        (TsallisFTRL(K, counts="tracked"), "cannot count the tracked ones"),
        (tarry.learners.Idle(), "must be a learner of gradients or values or examples"),
        (OnePoint(SOLID(OGD(BALL, 0.1)), 0.2), "wraps another"),
        (TwoPoint(DOGD(BALL, tarry.rates.Anytime(2.0, 1.0)), 0.2), "cannot follow the game as Anytime does"),
        (GOLD(BALL, 0.1, Power(0.5, 0.25)), "one radius for all rounds"),
        (DWFTRL(BALL, tarry.rates.DoublingRate(2.0, 1.0)), "cannot follow the game as DoublingRate does"),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("make", [BOLD, lambda base: Interleaving(base, 2)])
def test_what_cannot_be_copied_is_refused(make, base, sentence):
    with pytest.raises(TypeError, match=sentence):
        make(base)
