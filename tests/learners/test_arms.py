"""Exp3 and hybrid FTRL over arms: exact enumeration of what is drawn, solvers, plain Python, and bounds."""

from __future__ import annotations

from itertools import product
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from marking import slow_but
from scipy.optimize import brentq

import tarry
from tarry.errors import NotGranted
from tarry.game import Recorded
from tarry.kernel import Purpose, make_key
from tarry.learners import EntropicFTRL, Exp3, TsallisFTRL
from tarry.learners.arms import draw_action, mix_regularisers
from tarry.learners.base import KeyedDirections, RecordedDirections, absorb, advance, allocate, enter, predict
from tarry.rates import Anytime, Power

RNG = np.random.default_rng(41)
SCHEDULERS = [tarry.schedulers.VarOpt(), tarry.schedulers.Morris(1.0)]
LEARNERS = [Exp3(3, rate=Power(0.2, 0.5)), TsallisFTRL(3)]


def _play_arms(learner, arms, losses, delays, weights):
    """The probability of these arms, and the estimates when all rounds have arrived."""
    k = learner.dimension
    directions, play = RecordedDirections(np.eye(k)[list(arms)]), np.zeros(k)
    state, chance = allocate(learner, len(arms)), 1.0
    for t, arm in enumerate(arms):
        chance *= state.leader.point[arm]
        predict(learner, state, directions, t + 1, play)
        assert play.tolist() == np.eye(k)[arm].tolist()
        enter(learner, state, t, t + 1)
        for s in range(t + 1):
            if s + delays[s] == t and weights[s] != 0:
                absorb(learner, state, directions, s, s + 1, weights[s], np.array([losses[s, arms[s]]]))
        advance(learner, state, t + 1, sum(s + delays[s] > t for s in range(t + 1)))
    return chance, state.leader.total.copy()


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("delays", [(0, 0, 0, 0), (2, 0, 1, 0), (3, 2, 1, 0)])
def test_estimates_have_the_right_mean_exactly(learner, delays):
    losses, weights = RNG.uniform(size=(4, 3)), np.array([2.0, 0.5, 3.0, 1.0])
    mean, mass = np.zeros(3), 0.0
    for arms in product(range(3), repeat=4):
        chance, total = _play_arms(learner, arms, losses, delays, weights)
        mean += chance * total
        mass += chance
    assert mass == pytest.approx(1.0, abs=1e-12)
    assert mean == pytest.approx(weights @ losses, abs=1e-12)


def test_the_bound_of_exp3_needs_its_pairs():
    horizon, k = 30, 2
    delays, ones = np.arange(horizon - 1, -1, -1), np.ones(horizon)
    rate = sqrt(log(k) / (k * horizon + delays.sum()))
    losses = _one_good_arm(horizon, k)
    chance, _ = _play_arms(Exp3(k, rate=rate), [0] * horizon, losses, delays, ones)
    assert chance == pytest.approx(0.5**horizon), "nothing comes in time: every play is drawn evenly"
    regret = horizon / 2
    assert regret <= log(k) / rate + rate * (k * horizon + delays.sum())
    assert regret > 2 * sqrt(log(k) * k * horizon), "without the pairs it would be no bound"


@pytest.mark.parametrize("learner", [Exp3(3, rate=Power(0.2, 0.5), exploration=0.2)])
def test_implicit_exploration_shrinks_estimates_by_what_it_says(learner):
    """Nothing arrives in time, so every arm has probability 1/3 and every estimate the mean f·(1/3)/(1/3 + γ)."""
    losses, weights = RNG.uniform(size=(3, 3)), np.array([2.0, 0.5, 3.0])
    mean = np.zeros(3)
    for arms in product(range(3), repeat=3):
        chance, total = _play_arms(learner, arms, losses, (2, 1, 0), weights)
        mean += chance * total
        assert np.all(total <= weights.sum() / 0.2)
    assert mean == pytest.approx(weights @ losses * (1 / 3) / (1 / 3 + 0.2), abs=1e-12)


@pytest.mark.parametrize("exploration", [0.0, 0.05])
def test_a_hopeless_arm_gives_a_finite_estimate(exploration):
    learner, play = Exp3(2, rate=1.0, exploration=exploration), np.zeros(2)
    state, directions = allocate(learner, 1), RecordedDirections(np.eye(2)[[1, 1, 1]])
    state.leader.point[:] = [1.0, 1e-320]
    for t in range(1, 4):
        predict(learner, state, directions, t, play)
        enter(learner, state, 0, t)
        absorb(learner, state, directions, 0, t, 1e4, np.array([1.0]))
        advance(learner, state, t, 0)
        assert np.all(np.isfinite(state.leader.total))
        assert state.leader.point.sum() == pytest.approx(1.0, abs=1e-15)
    assert state.leader.total[1] <= 3e4 * (1 / exploration if exploration else 2.0**53)


@pytest.mark.parametrize("learner", [Exp3(3, rate=1.0), Exp3(3, rate=0.5, exploration=0.25), TsallisFTRL(3)])
def test_long_games_with_losses_that_turn_over_stay_finite(learner):
    """Arms take turns at being best, for so long that the others' probabilities vanish."""
    horizon = 1_500
    losses = np.eye(3)[np.arange(horizon) * 6 // horizon % 3]
    game = tarry.WeightedGame(
        tarry.domains.Simplex(3),
        tarry.losses.Linear(1.0 - losses),
        tarry.delays.fixed(horizon=horizon, delay=5),
        np.where(np.arange(horizon) % 50 == 0, 100.0, 1.0),
        feedback="value",
    )
    record = tarry.simulate(game, learner, keep_rounds=True)
    assert np.all(np.isfinite(record.regret))
    assert np.all(record.plays().sum(axis=1) == 1.0)


def test_actions_are_drawn_with_their_weights():
    source, weights = KeyedDirections(make_key(5, Purpose.DIRECTIONS)), np.array([0.2, 0.0, 0.5, 0.3])
    with np.errstate(over="ignore"):
        drawn = np.array([draw_action(source, t, weights) for t in range(1, 4001)])
    shares = np.bincount(drawn, minlength=4) / 4000
    assert shares[1] == 0
    assert np.all(np.abs(shares - weights) < 4 * np.sqrt(weights * (1 - weights) / 4000) + 1e-12)


def test_rounding_never_draws_an_action_without_weight():
    weights = np.array([0.1] * 9 + [0.1 - 1e-16, 0.0])
    source = KeyedDirections(make_key(1, Purpose.DIRECTIONS))
    with np.errstate(over="ignore"):
        assert all(draw_action(source, t, weights) < 10 for t in range(1, 300))
        assert all(draw_action(source, t, np.array([0.0, 1e-300, 0.0])) == 1 for t in range(1, 10))


@given(
    st.lists(st.floats(0, 1e5), min_size=2, max_size=6),
    st.floats(1e-3, 1e4),
    st.one_of(st.just(0.0), st.floats(1e-6, 1e4)),
)
def test_the_minimiser_satisfies_its_condition(total, a, b):
    total, out = np.array(total), np.zeros(len(total))
    mix_regularisers(total, a, b, out)
    assert out.sum() == pytest.approx(1.0, abs=1e-12)
    assert np.all(out > 0)
    multipliers = total - total.min() - a / np.sqrt(out) + b * np.log(out)
    assert np.ptp(multipliers) <= 1e-9 * (a / np.sqrt(out) + b * np.abs(np.log(out)) + 1e-3 * a).max()


def _reference(total, a, b):
    """The same by two nested root searches."""

    def weight(y):
        return np.exp(brentq(lambda z: b * z - a * np.exp(-z / 2) - y, -400.0, 0.0, xtol=1e-15))

    low = min(total)
    least, most = -b * log(len(total)) - a * sqrt(len(total)), -a
    found = brentq(lambda v: sum(weight(v - (loss - low)) for loss in total) - 1, least, most, xtol=1e-13)
    return np.array([weight(found - (loss - low)) for loss in total])


def test_hybrid_plays_are_those_of_plain_python():
    horizon, k = 30, 4
    losses, weights = RNG.uniform(size=(horizon, k)), RNG.exponential(size=horizon)
    delays = tarry.delays.array(RNG.integers(0, 6, horizon)).values
    backlog = np.array([sum(s + delays[s] >= t for s in range(t)) for t in range(horizon)])
    learner, arms = TsallisFTRL(k, level=1.5), RNG.integers(0, k, horizon)
    state, play, directions = allocate(learner, horizon), np.zeros(k), RecordedDirections(np.eye(k)[arms])
    total, chances = np.zeros(k), []
    for t in range(horizon):
        expected = _reference(total, sqrt(1.5 * (t + 1)), sqrt(2 * backlog[: t + 1].sum() / log(k)))
        assert state.leader.point == pytest.approx(expected, abs=1e-9)
        chances.append(expected[arms[t]])
        predict(learner, state, directions, t + 1, play)
        enter(learner, state, t, t + 1)
        for s in range(t + 1):
            if s + delays[s] == t:
                absorb(learner, state, directions, s, s + 1, weights[s], np.array([losses[s, arms[s]]]))
                total[arms[s]] += weights[s] * losses[s, arms[s]] / chances[s]
        advance(learner, state, t + 1, int(backlog[t + 1]) if t + 1 < horizon else 0)


def _one_good_arm(horizon, k):
    losses = np.ones((horizon, k))
    losses[:, k - 1] = 0.0
    return losses


@pytest.mark.parametrize("name", ["Exp3", "TsallisFTRL"])
def test_regret_is_below_the_bound_where_playing_at_random_is_not(name):
    horizon, k, delay = 1500, 3, 4
    game = tarry.Game(
        tarry.domains.Simplex(k),
        tarry.losses.Linear(_one_good_arm(horizon, k)),
        tarry.delays.fixed(horizon=horizon, delay=delay),
        feedback="value",
    )
    waiting = int(tarry.delays.array(np.full(horizon, delay)).values.sum())
    if name == "Exp3":
        learner = Exp3.tuned(k, horizon=horizon, total_delay=waiting)
        bound = 2 * sqrt(log(k) * (k * horizon + waiting))
    else:
        learner, bound = TsallisFTRL(k), 4 * sqrt(k * horizon) + sqrt(8 * waiting * log(k))
    record = tarry.simulate(game, tarry.Player(learner, tarry.schedulers.Always()), seeds=2)
    assert np.all(record.regret <= bound)
    assert bound < horizon * (1 - 1 / k), "else no learner could fail"


@pytest.mark.parametrize(
    "learner", [Exp3(3, rate=Anytime(sqrt(log(3)), 1.0, own=9.0, waiting=1.0)), TsallisFTRL(3, level=3.0)]
)
@pytest.mark.parametrize("scheduler", slow_but(SCHEDULERS, SCHEDULERS[:1]))
def test_arms_are_learnt_under_capacity(learner, scheduler):
    """Playing at random loses 2T/3, give or take √(2T/9): ten times that less is no luck."""
    horizon = 1000
    game = tarry.Game(
        tarry.domains.Simplex(3),
        tarry.losses.Linear(_one_good_arm(horizon, 3)),
        tarry.delays.fixed(horizon=horizon, delay=12),
        feedback="value",
        capacity=6,
    )
    record = tarry.simulate(game, tarry.Player(learner, scheduler), seeds=2)
    assert np.all(record.regret < horizon * 2 / 3 - 10 * sqrt(2 * horizon / 9))


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_game_counts_the_loss_of_the_arm_played(learner):
    losses = RNG.uniform(size=(50, 3))
    delays = tarry.delays.fixed(horizon=50, delay=2)
    game = tarry.Game(tarry.domains.Simplex(3), tarry.losses.Linear(losses), delays, feedback="value")
    record = tarry.simulate(game, tarry.Player(learner), keep_rounds=True)
    plays = record.plays()
    assert set(np.unique(plays)) == {0.0, 1.0}
    assert np.all(plays.sum(axis=1) == 1)
    assert record.loss[0] == pytest.approx(np.sum(plays * losses), abs=1e-12)
    assert record.regret[0] == pytest.approx(np.sum(plays * losses) - losses.sum(axis=0).min(), abs=1e-9)
    replayed = tarry.simulate(game, tarry.Player(learner), keep_rounds=True, draws=Recorded(directions=plays))
    assert np.array_equal(replayed.plays(), plays)


def test_what_a_game_does_not_grant_is_refused():
    losses = tarry.losses.Linear(RNG.uniform(size=(5, 3)))
    delays = tarry.delays.fixed(horizon=5, delay=1)
    simplex = tarry.domains.Simplex(3)
    with pytest.raises(NotGranted, match="value feedback"):
        tarry.simulate(tarry.Game(simplex, losses, delays), Exp3(3, rate=0.1))
    with pytest.raises(NotGranted, match="gradient feedback"):
        tarry.simulate(tarry.Game(simplex, losses, delays, feedback="value"), EntropicFTRL(3, rate=0.1))
    blind = tarry.Game(simplex, losses, delays, feedback="value", information="non-clairvoyant")
    with pytest.raises(NotGranted, match="acknowledgements"):
        tarry.simulate(blind, tarry.Player(TsallisFTRL(3), tarry.schedulers.Priority()))
    tarry.simulate(blind, TsallisFTRL(3))  # VarOpt estimates the backlog
    with pytest.raises(ValueError, match="level must be"):
        TsallisFTRL(3, level=0.0)
    with pytest.raises(ValueError, match="exploration must be"):
        Exp3(3, rate=0.1, exploration=-0.1)
