"""Regret matching against plain Python with any delays and weights, and against its bound on every path."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tarry
from tarry.learners import DORM, DUB, AdaHedgeD, DORMPlus

RNG = np.random.default_rng(23)


def _plays(learner, delays, weights, rows):
    game = tarry.WeightedGame(learner.domain, tarry.losses.Linear(rows), tarry.delays.array(delays), weights)
    return tarry.simulate(game, learner, keep_rounds=True).plays()


def _by_hand(rows, delays, weights, forget):
    horizon, k = rows.shape
    plays, regrets = [], [0.0] * k
    for t in range(horizon):
        mass = sum(max(0.0, regret) for regret in regrets)
        plays.append([max(0.0, regret) / mass if mass > 0 else 1 / k for regret in regrets])
        for s in range(t + 1):
            if s + delays[s] == t and weights[s] > 0:
                own = sum(g * x for g, x in zip(rows[s], plays[s], strict=True))
                regrets = [regret + weights[s] * (own - g) for regret, g in zip(regrets, rows[s], strict=True)]
        regrets = [max(0.0, regret) for regret in regrets] if forget else regrets
    return np.array(plays)


@pytest.mark.parametrize(("learner", "forget"), [(DORM(4), False), (DORMPlus(4), True)])
def test_plays_are_those_of_plain_python(learner, forget):
    horizon = 70
    rows = RNG.normal(size=(horizon, 4))
    weights = RNG.exponential(size=horizon) * RNG.integers(0, 2, horizon)
    delays = tarry.delays.array(RNG.integers(0, 12, horizon)).values
    plays = _plays(learner, delays, weights, rows)
    np.testing.assert_allclose(plays, _by_hand(rows, delays, weights, forget), atol=1e-10)


def _bound(rows, plays, delays, weights):
    """√Σ (m_t² + 2 m_t Σ m_s) over pairs that were out together."""
    regrets = (rows * plays).sum(axis=1)[:, None] - rows
    mass = weights * np.linalg.norm(regrets, axis=1)
    pairs = sum(mass[t] * mass[s] for t in range(len(mass)) for s in range(t) if s + delays[s] >= t)
    return sqrt(np.sum(mass**2) + 2 * pairs)


def _regret(rows, plays, weights):
    weighted = weights[:, None] * rows
    return np.sum(weighted * plays) - weighted.sum(axis=0).min()


@given(data=st.data())
def test_the_weighted_regret_is_below_the_bound_on_every_path(data):
    horizon, k = data.draw(st.integers(1, 14)), data.draw(st.integers(2, 4))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    rows = np.sign(rng.normal(size=(horizon, k))) if data.draw(st.booleans()) else rng.normal(size=(horizon, k))
    if data.draw(st.booleans()):
        rows[:] = rows[0]
    delays = tarry.delays.array(rng.integers(0, 1 + data.draw(st.integers(0, 14)), horizon)).values
    weights = rng.exponential(size=horizon) * rng.integers(0, 2, horizon)
    for learner in (DORM(k), DORMPlus(k)):
        plays = _plays(learner, delays, weights, rows)
        assert _regret(rows, plays, weights) <= _bound(rows, plays, delays, weights) + 1e-9


def test_the_bound_can_fail():
    horizon = 30
    rows, ones = np.tile([1.0, -1.0], (horizon, 1)), np.ones(horizon)
    delays = np.arange(horizon - 1, -1, -1)
    plays = _plays(DORM(2), delays, ones, rows)
    assert _regret(rows, plays, ones) == horizon
    assert _bound(rows, plays, delays, ones) == pytest.approx(sqrt(2) * horizon)
    assert _bound(rows, plays, 0 * delays, ones) < horizon, "without the pairs it would be no bound"


@pytest.mark.parametrize("learner", [DORM(3), DORMPlus(3), AdaHedgeD(3), DUB(3), AdaHedgeD(3, hint="recent")])
def test_plays_do_not_depend_on_the_unit_of_losses(learner):
    rows = RNG.normal(size=(40, 3))
    delays, ones = np.full(40, 3), np.ones(40)
    plays = _plays(learner, delays, ones, rows)
    np.testing.assert_allclose(_plays(learner, delays, ones, 1000 * rows), plays, atol=1e-8)
    np.testing.assert_allclose(_plays(learner, delays, 8 * ones, rows), plays, atol=1e-8)


@pytest.mark.parametrize("learner", [DORM(4), DORMPlus(4), AdaHedgeD(4)])
@pytest.mark.parametrize("capacity", [6, None])
def test_experts_are_learnt_with_and_without_a_limit(learner, capacity):
    horizon = 600
    losses = np.random.default_rng(5).uniform(size=(horizon, 4)) * [1.0, 1.0, 0.3, 1.0]
    delays = tarry.delays.fixed(horizon=horizon, delay=15)
    game = tarry.Game(learner.domain, tarry.losses.Linear(losses), delays, capacity=capacity)
    plays = tarry.simulate(game, tarry.Player(learner), seeds=[2], keep_rounds=True).plays()
    assert plays[0] == pytest.approx([0.25] * 4)
    assert plays[horizon // 2 :, 2].mean() > 0.5, "the best expert has the majority"


def test_what_a_slot_remembers_survives_feedback_that_is_withheld():
    horizon, size = 60, 4
    rows = RNG.normal(size=(horizon, 4))
    delays = tarry.delays.array(RNG.integers(0, 13, horizon))
    game = tarry.Game(tarry.domains.Simplex(4), tarry.losses.Linear(rows), delays, capacity=4)
    player = tarry.Player(DORM(4), tarry.schedulers.Batching(max_delay=12))
    record = tarry.simulate(game, player, keep_rounds=True)
    weights = record.rounds()["weight"].to_numpy()
    assert set(weights) == {0.0, float(size)}
    rounds = np.arange(horizon)
    ends = rounds // size * size + size - 1
    late = np.maximum(delays.values, ends - rounds)
    assert np.any((late > delays.values) & (weights > 0))
    np.testing.assert_allclose(record.plays(), _by_hand(rows, late, weights, forget=False), atol=1e-10)


@pytest.mark.parametrize("kind", [DORM, DORMPlus, AdaHedgeD, DUB])
def test_good_hints_help_and_bad_ones_hurt(kind):
    horizon, ones, delays = 200, np.ones(200), np.full(200, 6)
    steady = np.tile([0.2, 0.8, 0.5], (horizon, 1))
    for period, sign in ((30, 1), (7, -1)):  # losses turn seldom, or as often as feedback takes
        rows = np.where((np.arange(horizon) // period % 2 == 0)[:, None], steady, 1 - steady)
        plain = _regret(rows, _plays(kind(3), delays, ones, rows), ones)
        hinted = _regret(rows, _plays(kind(3, hint="recent"), delays, ones, rows), ones)
        assert sign * (plain - hinted) > 1


def test_unknown_hints_are_refused():
    with pytest.raises(ValueError, match="'mean', got 'oracle'"):
        DORM(3, hint="oracle")
    learner = DORM(3, hint="recent")
    game = tarry.Game(
        learner.domain,
        tarry.losses.Linear(np.ones((5, 3))),
        tarry.delays.fixed(horizon=5, delay=1),
        information="non-clairvoyant",
    )
    with pytest.raises(tarry.errors.NotGranted, match="acknowledgements"):
        tarry.simulate(game, learner)
