"""Exponential weights against their definition in plain Python, against scipy, and against their bound."""

from __future__ import annotations

from math import exp, inf, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from marking import slow_but
from scipy.optimize import minimize

import tarry
from tarry.learners import EntropicFTRL
from tarry.learners.entropic_ftrl import softmin
from tarry.rates import Anytime, Power

RNG = np.random.default_rng(11)


def _plays(rate, delays, weights, rows):
    game = tarry.WeightedGame(
        tarry.domains.Simplex(rows.shape[1]), tarry.losses.Linear(rows), tarry.delays.array(delays), weights
    )
    return tarry.simulate(game, EntropicFTRL(rows.shape[1], rate=rate), keep_rounds=True).plays()


def _pending(delays, t):
    return [s for s in range(t) if s + delays[s] >= t]


def _weighted_cost(delays, weights, rates, sizes):
    mass = weights * sizes
    return sum(
        rate * mass[t] * (mass[t] / 2 + sum(mass[s] for s in _pending(delays, t)))
        for t, rate in enumerate(np.broadcast_to(rates, mass.shape))
    )


def test_it_is_what_its_definition_says():
    horizon, k = 40, 5
    rows, weights = RNG.normal(size=(horizon, k)), RNG.exponential(size=horizon)
    delays = tarry.delays.array(RNG.integers(0, 9, horizon)).values
    rates = np.minimum.accumulate(RNG.uniform(0.1, 0.9, horizon))
    plays = _plays(rates, delays, weights, rows)
    assert plays[0] == pytest.approx([1 / k] * k, abs=1e-15)
    for t in range(1, horizon):
        losses = [sum(weights[s] * rows[s, i] for s in range(t) if s + delays[s] < t) for i in range(k)]
        masses = [exp(-rates[t - 1] * loss) for loss in losses]
        assert plays[t] == pytest.approx([mass / sum(masses) for mass in masses], abs=1e-12)


def test_it_minimises_the_regularised_losses():
    total, rate = np.array([0.3, -0.4, 1.1]), 0.7
    out = np.zeros(3)
    softmin(total, 1 / rate, out)
    best = minimize(
        lambda x: x @ total + (x * np.log(x)).sum() / rate,
        np.full(3, 1 / 3),
        bounds=[(1e-9, 1)] * 3,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
        tol=1e-14,
    )
    assert out == pytest.approx(best.x, abs=1e-6)


@pytest.mark.parametrize("size", [1e-300, 1.0, 1e6, 1e300])
def test_losses_of_any_size_give_weights(size):
    out = np.zeros(3)
    softmin(size * np.array([3.0, -5.0, -5.0]), 1.0, out)
    assert np.all(np.isfinite(out))
    assert out.sum() == pytest.approx(1.0, abs=1e-15)
    assert out[1] == out[2] >= out[0]


def test_at_temperature_zero_the_smallest_share_evenly():
    out = np.zeros(4)
    softmin(np.array([2.0, 1.0, 1.0, 5.0]), 0.0, out)
    assert out.tolist() == [0.0, 0.5, 0.5, 0.0]


@given(data=st.data())
def test_the_weighted_regret_is_below_the_bound_on_every_path(data):
    horizon, k = data.draw(st.integers(1, 12)), data.draw(st.integers(2, 4))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    rows = np.sign(rng.normal(size=(horizon, k))) if data.draw(st.booleans()) else rng.uniform(-1, 1, (horizon, k))
    if data.draw(st.booleans()):
        rows[:] = rows[0]
    delays = tarry.delays.array(rng.integers(0, 1 + data.draw(st.integers(0, 12)), horizon)).values
    weights = rng.exponential(size=horizon) * rng.integers(0, 2, horizon)
    rates = np.minimum.accumulate(rng.uniform(0.05, 1.0, horizon))
    plays = _plays(rates, delays, weights, rows)
    weighted = weights[:, None] * rows
    regret = np.sum(weighted * plays) - weighted.sum(axis=0).min()
    before = np.concatenate((rates[:1], rates[:-1]))  # η_{t−1}
    bound = log(k) / rates[-1] + _weighted_cost(delays, weights, before, np.abs(rows).max(axis=1))
    assert regret <= bound + 1e-9


def test_its_certificate_is_the_bound():
    horizon = 25
    rows, weights = RNG.uniform(-1, 1, (horizon, 3)), RNG.exponential(size=horizon)
    delays = tarry.delays.array(RNG.integers(0, 9, horizon))
    game = tarry.WeightedGame(tarry.domains.Simplex(3), tarry.losses.Linear(rows), delays, weights)
    made = tarry.simulate(game, EntropicFTRL(3, rate=0.3)).certificates[0]
    expected = log(3) / 0.3 + _weighted_cost(delays.values, weights, 0.3, np.abs(rows).max(axis=1))
    assert made.bound == pytest.approx(expected, rel=1e-9)
    assert made.holds == "on every path"


def test_curved_losses_do_not_pay_for_entropy():
    losses = tarry.losses.Linear(RNG.uniform(size=(10, 3)), ridge=1.0)
    delays = tarry.delays.fixed(horizon=10, delay=2)
    game = tarry.WeightedGame(tarry.domains.Simplex(3), losses, delays, np.ones(10))
    made = tarry.simulate(game, EntropicFTRL(3, rate=Power(1.0, 1.0))).certificates[0]
    assert made.regularisation == pytest.approx(10 * log(3))
    assert made.holds == "on every path"


def test_the_bound_is_nearly_reached_when_nothing_comes_in_time():
    horizon = 40
    delays = np.arange(horizon - 1, -1, -1)
    rows, ones = np.tile([1.0, -1.0], (horizon, 1)), np.ones(horizon)
    rate = sqrt(2 * log(2)) / horizon
    plays = _plays(rate, delays, ones, rows)
    regret = np.sum(rows * plays) - rows.sum(axis=0).min()
    bound = log(2) / rate + _weighted_cost(delays, ones, rate, ones)
    assert bound / 1.2 <= regret <= bound
    assert regret > log(2) / rate + rate * horizon / 2, "without the pairs it would be no bound"


SCHEDULERS = {
    "VarOpt": (tarry.schedulers.VarOpt(), 6),
    "Priority": (tarry.schedulers.Priority(), 6),
    "Morris": (tarry.schedulers.Morris(1.0), 6),
    "Always": (tarry.schedulers.Always(), None),
}


@pytest.mark.parametrize("name", slow_but(SCHEDULERS, {"VarOpt", "Always"}))
def test_experts_are_learnt_under_any_scheduler(name):
    """Weights have mean 1 and know nothing of the plays, so the certificate, whose regret is weighted, holds in the
    mean for regret itself, but for rounds that were refused; playing at random would lose more than that."""
    scheduler, capacity = SCHEDULERS[name]
    horizon, k = 1000, 4
    losses = np.ones((horizon, k))
    losses[:, 2] = 0.0
    delays = tarry.delays.fixed(horizon=horizon, delay=10)
    game = tarry.Game(tarry.domains.Simplex(k), tarry.losses.Linear(losses), delays, capacity=capacity)
    player = tarry.Player(EntropicFTRL(k, rate=Anytime(sqrt(2 * log(k)), 1.0)), scheduler)
    record = tarry.simulate(game, player, seeds=4)
    bound = np.mean([made.bound for made in record.certificates]) + record.ledger["saturated"].to_numpy().mean()
    assert record.regret.mean() <= bound
    assert bound < horizon * (1 - 1 / k), "else no learner could fail"


@pytest.mark.parametrize(("dimension", "rate"), [(1, 0.1), (2.5, 0.1), (3, -1.0), (3, 0.0), (3, inf)])
def test_what_is_no_learner_is_refused(dimension, rate):
    with pytest.raises(ValueError, match="must be"):
        EntropicFTRL(dimension, rate=rate)


def test_a_rate_that_may_end_is_checked():
    learner = EntropicFTRL(2, rate=[0.5, 0.4])
    with pytest.raises(ValueError, match="2 rounds"):
        learner.check_horizon(3)
    EntropicFTRL(2, rate=Power(1.0, 0.5)).check_horizon(3)
