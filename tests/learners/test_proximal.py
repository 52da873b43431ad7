"""FTRL-Proximal: River's optimiser and River's model reproduced, its definition by search, and its bound."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

import tarry
from tarry.domains import Ball, Box
from tarry.learners import DWFTRL, FTRLProximal
from tarry.learners.base import absorb, advance, allocate, predict

RNG = np.random.default_rng(53)


def plays_of(learner, rows, delays, weights):
    game = tarry.WeightedGame(learner.domain, tarry.losses.Linear(rows), tarry.delays.array(delays), weights)
    return tarry.simulate(game, learner, keep_rounds=True).plays()


def open_box(k, reach=1e6):
    return Box(-reach, np.full(k, reach))


def test_it_is_rivers_optimiser_one_step_behind():
    """River writes the weights of the gradients before this one, and then takes this one in."""
    optim = pytest.importorskip("river.optim")
    rows = RNG.normal(size=(200, 3)) * [1.0, 10.0, 0.01]
    found = plays_of(FTRLProximal(open_box(3), 0.3, floor=1.5, ridge=0.7), rows, np.zeros(200, int), np.ones(200))
    theirs, weights = optim.FTRLProximal(alpha=0.3, beta=1.5, l1=0.0, l2=0.7), {0: 0.0, 1: 0.0, 2: 0.0}
    for t in range(200):
        weights = theirs.step(weights, dict(enumerate(rows[t])))
        assert found[t] == pytest.approx([weights[i] for i in range(3)], abs=1e-13)
    assert np.ptp(found, axis=0).min() > 0.001


def test_it_is_rivers_model_whose_predictions_lag():
    """What River predicts in round t comes from x_{t−1}, so its gradients are taken there."""
    linear_model, optim = pytest.importorskip("river.linear_model"), pytest.importorskip("river.optim")
    rows, labels = RNG.normal(size=(150, 2)), RNG.normal(size=150)
    model = linear_model.LinearRegression(
        optimizer=optim.FTRLProximal(alpha=0.2, beta=1.0, l1=0.0, l2=0.1), intercept_lr=0.0
    )
    learner, play = FTRLProximal(open_box(2), 0.2, floor=1.0, ridge=0.1), np.zeros(2)
    state, lagging = allocate(learner, 1), np.zeros(2)
    for t in range(150):
        features = dict(enumerate(rows[t]))
        assert model.predict_one(features) == pytest.approx(rows[t] @ lagging, abs=1e-12)
        gradient = 2 * (rows[t] @ lagging - labels[t]) * rows[t]
        model.learn_one(features, labels[t])
        predict(learner, state, None, t + 1, play)
        lagging = play.copy()
        absorb(learner, state, None, 0, t + 1, 1.0, gradient)
        advance(learner, state, t + 1, 0)
    assert np.abs(lagging).max() > 0.01


def test_it_is_what_its_definition_says():
    horizon, scale, floor, ridge, start = 30, np.array([0.4, 1.3]), 0.5, 0.2, np.array([0.1, 0.9])
    domain = Box([-0.5, 0.0], [0.7, 1.0])
    learner = FTRLProximal(domain, scale, floor=floor, ridge=ridge, start=start)
    rows, weights = RNG.normal(size=(horizon, 2)), RNG.exponential(size=horizon)
    delays = tarry.delays.array(RNG.integers(0, 6, horizon)).values
    plays = plays_of(learner, rows, delays, weights)
    arrived = [[s for s in range(t + 1) if s + delays[s] <= t] for t in range(horizon)]
    for i in range(2):
        roots = [0.0, *(sqrt(sum((weights[s] * rows[s, i]) ** 2 for s in seen)) for seen in arrived)]
        for t in range(1, horizon):
            total = sum(weights[s] * rows[s, i] for s in arrived[t - 1])

            def cost(x, i=i, t=t, total=total, roots=roots):
                pull = sum((roots[s + 1] - roots[s]) / scale[i] / 2 * (x - plays[s, i]) ** 2 for s in range(t))
                return x * total + pull + (floor / scale[i] + ridge) / 2 * (x - start[i]) ** 2

            best = minimize_scalar(
                cost, bounds=(domain.lower[i], domain.upper[i]), method="bounded", options={"xatol": 1e-9}
            )
            assert plays[t, i] == pytest.approx(best.x, abs=1e-5)


def test_in_one_dimension_it_is_dwftrl_with_its_rates():
    rows, ones, none = RNG.normal(size=(60, 1)), np.ones(60), np.zeros(60, int)
    rates = 0.3 / (1.0 + np.sqrt(np.cumsum(rows[:, 0] ** 2)))
    found = plays_of(FTRLProximal(Box(-0.4, 0.6), 0.3, floor=1.0, start=[0.0]), rows, none, ones)
    same = plays_of(DWFTRL(Box(-0.4, 0.6), rate=rates, start=[0.0]), rows, none, ones)
    np.testing.assert_allclose(found, same, atol=1e-12)


def regret_of(plays, rows, weights, domain):
    total = weights @ rows
    return np.sum(weights[:, None] * rows * plays) - total @ domain.linear_minimiser(total)


@given(st.integers(0, 10**6), st.booleans())
def test_without_delay_regret_is_below_the_bound_on_every_path(seed, steady):
    rng = np.random.default_rng(seed)
    horizon = int(rng.integers(1, 40))
    rows = rng.normal(size=(horizon, 3)) * rng.exponential(size=(horizon, 1)) ** 2
    if steady:
        rows[:] = rows[0]
    weights = rng.exponential(size=horizon)
    domain = Box([-1.0, 0.0, 2.0], [1.0, 0.5, 7.0])
    floor, ridge, scale = rng.uniform(0, 1), rng.uniform(0, 1), rng.uniform(0.1, 3, 3)
    learner = FTRLProximal(domain, scale, floor=floor, ridge=ridge)
    plays = plays_of(learner, rows, np.zeros(horizon, int), weights)
    sides, roots = domain.upper - domain.lower, np.sqrt(weights**2 @ rows**2)
    away = (domain.linear_minimiser(weights @ rows) - learner.start) ** 2
    bound = np.sum((sides**2 / (2 * scale) + scale) * roots + (floor / scale + ridge) / 2 * away)
    assert regret_of(plays, rows, weights, domain) <= bound + 1e-9


def test_the_bound_can_fail():
    rows, ones, none = np.where(np.arange(1600) % 2 == 0, 1.0, -1.0)[:, None], np.ones(1600), np.zeros(1600, int)
    domain = Box(-1.0, 1.0)
    bound = sqrt(2) * 2 * sqrt(1600)
    regret = regret_of(plays_of(FTRLProximal.tuned(domain), rows, none, ones), rows, ones, domain)
    assert bound / 3 <= regret <= bound
    assert regret_of(plays_of(FTRLProximal(domain, 100.0), rows, none, ones), rows, ones, domain) > bound


@pytest.mark.parametrize("k", [1, 1000])
def test_dimensions(k):
    rows = np.random.default_rng(k).normal(size=(20, k))
    assert np.all(np.isfinite(plays_of(FTRLProximal.tuned(Box(-1.0, np.ones(k))), rows, np.full(20, 3), np.ones(20))))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: FTRLProximal(Ball(2), 1.0), "must be a Box"),
        (lambda: FTRLProximal(Box(-1.0, 1.0), 0.0), "scale must be positive"),
        (lambda: FTRLProximal(Box(-1.0, 1.0), 1.0, floor=-1.0), "floor must be"),
        (lambda: FTRLProximal(Box(-1.0, 1.0), 1.0, ridge=np.inf), "ridge must be"),
        (lambda: FTRLProximal.tuned(Ball(2)), "the domain must be a Box, got Ball"),
    ],
)
def test_refusals(make, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        make()


def test_a_side_of_length_zero_stays():
    learner = FTRLProximal.tuned(Box([0.0, 2.0], [1.0, 2.0]))
    assert np.all(plays_of(learner, RNG.normal(size=(9, 2)), np.zeros(9, int), np.ones(9))[:, 1] == 2.0)
