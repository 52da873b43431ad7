"""Constructors that tune: the best of their own bound by search, or the source's constants by arithmetic."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import tarry
from tarry.domains import Ball, Box
from tarry.learners import ODFTRL, SOLO, EntropicFTRL, Exp3
from tarry.learners.dual_averaging import reach_of


@pytest.mark.parametrize("bound", [1.0, 3.0])
def test_exponential_weights_take_the_best_rate_of_their_bound(bound):
    actions, horizon, late = 5, 300, 700
    learner = EntropicFTRL.tuned(actions, horizon=horizon, total_delay=late, gradient_bound=bound)

    def promised(rate):
        return log(actions) / rate + rate * bound**2 * (horizon / 2 + late)

    best = minimize_scalar(promised, bounds=(1e-4, 1.0), method="bounded", options={"xatol": 1e-10})
    assert learner.rate.value == pytest.approx(best.x, rel=1e-4)
    assert promised(learner.rate.value) == pytest.approx(bound * sqrt(2 * log(actions) * (horizon + 2 * late)))


def test_optimistic_entropy_without_a_hint_is_tuned_alike():
    sizes = {"horizon": 60, "total_delay": 240, "gradient_bound": 2.0}
    rows = 2 * np.random.default_rng(4).uniform(size=(60, 3))
    game = tarry.WeightedGame(
        tarry.domains.Simplex(3), tarry.losses.Linear(rows), tarry.delays.fixed(horizon=60, delay=4), np.ones(60)
    )
    plays = [
        tarry.simulate(game, make(3, **sizes), keep_rounds=True).plays()
        for make in (EntropicFTRL.tuned, ODFTRL.tuned_entropic)
    ]
    np.testing.assert_allclose(*plays, atol=1e-12)
    assert np.ptp(plays[0], axis=0).max() > 0.05
    assert ODFTRL.tuned_entropic(3, **sizes, hint="mean").needs_acknowledgements


def test_exploring_is_half_the_rate():
    learner = Exp3.exploring(4, horizon=100, total_delay=50)
    assert learner.rate == Exp3.tuned(4, horizon=100, total_delay=50).rate
    assert learner.exploration == learner.rate.value / 2


@pytest.mark.parametrize(
    ("domain", "start", "reach"),
    [(Ball(2), None, 1.0), (Ball(2), [0.5, 0.0], 1.5), (Ball(1), [1.0], 2.0), (Box([0.0, 0.0], [3.0, 4.0]), None, 2.5)],
)
def test_solo_of_the_source(domain, start, reach):
    learner = SOLO.original(domain, start=start)
    assert reach_of(domain, learner.start) == pytest.approx(reach)
    most = reach**2 / 2  # of f = |x − x_1|²/2, which is 1-strongly convex
    assert 1 / learner.scale == pytest.approx(sqrt(2.75 / most))
    assert 13.2 < 2 * sqrt(2.75) + 3.5 * sqrt(8) < 13.3


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_solo_of_the_source_is_below_the_source_s_bound(factor):
    horizon = 2000
    rows = factor * np.where(np.arange(horizon) % 40 < 30, 1.0, -1.0)[:, None]
    none = tarry.delays.fixed(horizon=horizon, delay=0)
    game = tarry.WeightedGame(Ball(1), tarry.losses.Linear(rows), none, np.ones(horizon))
    bound = 13.3 * sqrt(1 / 2) * factor * sqrt(horizon)
    assert tarry.simulate(game, SOLO.original(Ball(1))).regret[0] <= bound
    assert tarry.simulate(game, SOLO(Ball(1), scale=1e-4)).regret[0] > bound
