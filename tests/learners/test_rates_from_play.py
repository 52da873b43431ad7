"""Rates that learn from play: the anytime rate from the backlog, the adaptive one from gradients."""

from __future__ import annotations

import numpy as np
import pytest

import tarry
from tarry.learners import DWFTRL, Adaptive
from tarry.rates import Anytime

RNG = np.random.default_rng(6)
HORIZON, K = 200, 3
DOMAIN = tarry.domains.Ball(K)
ROWS = RNG.normal(size=(HORIZON, K))
ROWS /= np.linalg.norm(ROWS, axis=1)[:, None]
DELAYS = tarry.delays.array(RNG.integers(0, 30, HORIZON))


def _game(capacity=5, information="semi-clairvoyant"):
    return tarry.Game(DOMAIN, tarry.losses.Linear(ROWS), DELAYS, capacity=capacity, information=information)


@pytest.mark.parametrize("capacity", [5, None])
@pytest.mark.parametrize("information", ["semi-clairvoyant", "clairvoyant"])
def test_the_anytime_rate_is_its_formula(capacity, information):
    """It plays exactly as the same rates given in advance, with or without a log of all arrivals."""
    sums = np.cumsum(1 + 2 * DELAYS.backlog())
    rates = 2.0 / np.sqrt(np.append(sums[1:], sums[-1]))
    given = tarry.simulate(_game(capacity, information), DWFTRL(DOMAIN, rate=rates), keep_rounds=True)
    for keep in (True, False):
        learnt = tarry.simulate(_game(capacity, information), DWFTRL(DOMAIN, rate=Anytime(2.0, 1.0)), keep_rounds=keep)
        np.testing.assert_allclose(learnt.regret_at, given.regret_at, rtol=1e-9)
        np.testing.assert_allclose(learnt.bound, given.bound, rtol=1e-2)
        if keep:
            np.testing.assert_allclose(learnt.plays(), given.plays(), atol=1e-12)


def test_the_anytime_rate_needs_acknowledgements_or_held_weight():
    learner, game = DWFTRL(DOMAIN, rate=Anytime(2.0, 1.0)), _game(information="non-clairvoyant")
    tarry.simulate(game, learner)  # with VarOpt, which holds weight
    with pytest.raises(tarry.errors.NotGranted, match="needs acknowledgements"):
        tarry.simulate(game, tarry.Player(learner, tarry.schedulers.Priority()))


def test_unlimited_anytime_regret_is_below_its_theorem():
    game = _game(None)
    regret = tarry.simulate(game, DWFTRL(DOMAIN, rate=Anytime(2.0, 1.0))).regret[0]
    assert regret <= 1.5 * 2.0 * np.sqrt(HORIZON + 2 * DELAYS.total_delay)


def test_the_adaptive_rate_is_its_formula():
    """Against a slow replay from the record's weights and plays."""
    game = _game()
    record = tarry.simulate(game, Adaptive(DOMAIN, gradient_bound=1.0), seeds=[3], keep_rounds=True)
    weights, plays = record.rounds()["weight"].to_numpy(), record.plays()
    theta, seen, energy = np.zeros(K), np.zeros((HORIZON, K)), 0.0
    anchor, point, inverse = np.zeros(K), np.zeros(K), 0.0
    for t in range(HORIZON):
        np.testing.assert_allclose(plays[t], point, atol=1e-10)
        seen[t] = theta
        for s in range(t + 1):
            if s + DELAYS.values[s] == t and weights[s] > 0:
                size = weights[s] * np.linalg.norm(ROWS[s])
                energy += size * (size / 2 + np.linalg.norm(theta - seen[s]))
                theta = theta + weights[s] * ROWS[s]
        rate = 2.0 / np.sqrt(2 * (0.5 + energy))
        anchor = anchor + (1 / rate - inverse) * point
        inverse = 1 / rate
        point = rate * (anchor - theta)
        point = point / max(1.0, float(np.linalg.norm(point)))


def test_live_equals_simulated():
    game, learner = _game(), Adaptive(DOMAIN, gradient_bound=1.0)
    record = tarry.simulate(game, learner, seeds=[3], keep_rounds=True)
    session = tarry.Session(learner, capacity=5, information="semi-clairvoyant", rng=3)
    for t in range(1, HORIZON + 1):
        assert np.array_equal(session.ask().play, record.plays()[t - 1])
        for s in range(1, t + 1):
            if s + DELAYS.values[s - 1] == t:
                session.tell(s, gradient=ROWS[s - 1])


def test_growth_keeps_what_rounds_saw():
    """Unlimited capacity grows the state in the middle of a run; plays do not notice."""
    learner = Adaptive(DOMAIN, gradient_bound=1.0)
    unlimited = tarry.simulate(_game(None), learner, keep_rounds=True).plays()
    roomy = tarry.simulate(_game(HORIZON), tarry.Player(learner), keep_rounds=True).plays()
    assert np.array_equal(unlimited, roomy)
    session = tarry.Session(tarry.Player(learner, tarry.schedulers.Always()), capacity=None, rng=0)
    for t in range(1, HORIZON + 1):
        assert np.array_equal(session.ask().play, unlimited[t - 1])
        for s in range(1, t + 1):
            if s + DELAYS.values[s - 1] == t:
                session.tell(s, gradient=ROWS[s - 1])
