"""Certificates of strongly convex losses: the second sum of the inequality, and the most the first can be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recount import by_arrival, heard_by, rates_of

import tarry
from tarry.learners import DWFTBL, DWFTRL
from tarry.rates import Power, inverse_time

HORIZON = 70
RNG = np.random.default_rng(8)
DOMAIN = tarry.domains.Ball(3)
ROWS = RNG.normal(size=(HORIZON, 3))
DELAYS = tarry.delays.array(RNG.integers(0, 18, HORIZON))


def _game(losses):
    return tarry.Game(DOMAIN, losses, DELAYS, capacity=4)


def test_strong_convexity_leaves_the_first_sum_out_and_says_so():
    learner, curved = DWFTRL(DOMAIN, rate=inverse_time(0.5)), tarry.losses.Quadratic(ROWS, strong_convexity=0.5)
    record = tarry.simulate(_game(curved), tarry.Player(learner), seeds=[3], keep_rounds=True)
    rates = rates_of(Power(2.0, 1.0), HORIZON)
    steep = curved.gradient_bound(DOMAIN)
    own, pairs = by_arrival(heard_by(record, HORIZON, lambda s: steep), rates, HORIZON)
    found = record.certificates[0]
    np.testing.assert_allclose(found[1:5], (0.0, own, pairs, 0.0), rtol=1e-12)
    assert "second sum only, no bound on one path" in found.holds
    assert "λ = 0.5" in found.holds
    assert "restart" not in found.holds
    weights = record.rounds()["weight"].to_numpy()
    assert found.omitted_curvature == pytest.approx(0.5 * 0.5 * 4.0 * np.maximum(0, 1 - weights).sum())
    # Flat losses do not earn it: the rate 1/(λt) is then one among others.
    flat = tarry.simulate(_game(tarry.losses.Linear(ROWS)), tarry.Player(learner)).certificates[0]
    capped = tarry.Player(DWFTRL(DOMAIN, rate=Power(2.0, 1.0, cap=0.5)))
    assert tarry.simulate(_game(curved), capped).certificates[0].regularisation == flat.regularisation
    assert flat.regularisation == pytest.approx(4.0 * 0.5 * HORIZON / 2)
    assert flat.holds == "on every path"


def test_one_path_may_exceed_the_second_sum_but_not_the_full_bound():
    """f = ½(x − 1)² heard at x = 0 in round 10 only: regret ½ against 1, second sum ½η."""
    learner = DWFTRL(tarry.domains.Ball(1), rate=inverse_time(1.0))
    session = tarry.Session(tarry.Player(learner, tarry.schedulers.Always()), capacity=None, rng=0)
    last = [session.ask() for _ in range(10)][-1]
    session.tell(last.id, gradient=[last.play[0] - 1.0])
    found = session.status().certificate
    assert found.bound == pytest.approx(0.5 / 10)  # below the regret, ½
    assert "on every path" not in found.holds
    assert "no bound on one path" in found.holds
    assert found.full_bound == pytest.approx(0.5 / 10 + 0.5 * 4.0 * 9)


@given(seed=st.integers(0, 10**6), rounds=st.integers(1, 30), capacity=st.integers(2, 6))
def test_the_full_bound_dominates_on_every_path(seed, rounds, capacity):
    """Strongly convex losses, random tells: the worst weighted regret over a grid of comparators stays below."""
    rng, grid = np.random.default_rng(seed), np.linspace(-1, 1, 21)
    player = tarry.Player(DWFTRL(tarry.domains.Ball(1), rate=inverse_time(1.0)))
    session = tarry.Session(player, capacity=capacity, rng=seed)
    regret, waiting, targets = np.zeros(21), {}, rng.choice([-0.9, 0.9, 0.0], rounds + 1)
    for _ in range(rounds):
        r = session.ask()
        for id in r.released:
            waiting.pop(id)
        if r.tracked:
            waiting[r.id] = r.play[0]
        for id in [i for i in waiting if rng.random() < 0.3]:
            x, z = waiting.pop(id), targets[id]
            weight = session.tell(id, gradient=[x - z]).weight
            regret += weight * ((x - z) ** 2 - (grid - z) ** 2) / 2
            assert regret.max() <= session.status().certificate.full_bound * (1 + 1e-12)


def test_restarts_are_said_to_drop_rounds():
    player = tarry.Player(DWFTRL(DOMAIN, rate=inverse_time(0.5)), None, tarry.Doubling("backlog"))
    curved = tarry.losses.Quadratic(ROWS, strong_convexity=0.5)
    record = tarry.simulate(_game(curved), player, seeds=[3], keep_rounds=True)
    found, weights = record.certificates[0], record.rounds()["weight"].to_numpy()
    assert "a round that a restart dropped adds up to ½λD²" in found.holds
    assert found.omitted_curvature == pytest.approx(0.5 * 0.5 * 4.0 * np.maximum(0, 1 - weights).sum())


def test_strong_convexity_with_values():
    learner = DWFTBL(DOMAIN, rate=inverse_time(0.5), smoothing=0.5)
    session = tarry.Session(tarry.Player(learner), capacity=4, rng=1, gradient_bound=2.0, value_bound=3.0)
    session.tell(session.ask().id, value=1.0)
    found = session.status().certificate
    np.testing.assert_allclose(found[1:5], (0.0, 0.5 * 2.0 * (3 * 3 / 0.5) ** 2, 0.0, 10 * 4 / 0.5 * 0.5))
    assert "|y_t − u|²" in found.holds
