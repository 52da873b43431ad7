"""AdaFTRL: its definition with a general solver, its bounds, and that scales do not matter."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

import tarry
from tarry.domains import Ball, Box, Ellipsoid, Simplex
from tarry.learners import AdaFTRL
from tarry.learners.base import absorb, advance, allocate, enter, predict

RNG = np.random.default_rng(37)


def play_out(learner, rows, delays, weights):
    """Plays, and Δ in the end."""
    state, play, plays = allocate(learner, len(rows)), np.zeros(learner.dimension), []
    for t in range(len(rows)):
        predict(learner, state, None, t + 1, play)
        plays.append(play.copy())
        enter(learner, state, t, t + 1)
        for s in range(t + 1):
            if s + delays[s] == t and weights[s] > 0:
                absorb(learner, state, None, s, s + 1, weights[s], rows[s])
        advance(learner, state, t + 1, 0)
    return np.array(plays), float(state.growth[0])


def plays_of(learner, rows, delays, weights):
    game = tarry.WeightedGame(learner.domain, tarry.losses.Linear(rows), tarry.delays.array(delays), weights)
    return tarry.simulate(game, learner, keep_rounds=True).plays()


def solve(learner, total, growth):
    """The regularised leader on a box and its value, by a solver that knows no projections."""

    def value(x):
        return x @ total + growth * learner.curvature / 2 * np.sum((x - learner.start) ** 2)

    box = list(zip(learner.domain.lower, learner.domain.upper, strict=True))
    found = minimize(value, learner.start, bounds=box, method="L-BFGS-B", options={"ftol": 1e-16, "gtol": 1e-12})
    return found.x, found.fun


def test_it_is_what_its_definition_says():
    horizon = 25
    learner = AdaFTRL(Box([-1.0, 0.0], [1.0, 0.5]), start=[0.2, 0.4])
    rows, weights = RNG.normal(size=(horizon, 2)), RNG.exponential(size=horizon)
    delays = tarry.delays.array(RNG.integers(0, 5, horizon)).values
    plays, final = play_out(learner, rows, delays, weights)
    total, growth, x = np.zeros(2), 0.0, learner.start
    for t in range(horizon):
        assert plays[t] == pytest.approx(x, abs=1e-5)
        for s in range(t + 1):
            if s + delays[s] == t:
                g = weights[s] * rows[s]
                if growth == 0:
                    corners = np.array([[a, b] for a in (-1.0, 1.0) for b in (0.0, 0.5)])
                    assert learner.reach >= np.linalg.norm(corners - learner.start, axis=1).max()
                    growth = learner.reach * np.linalg.norm(g)
                else:
                    lost = g @ plays[s] + solve(learner, total, growth)[1] - solve(learner, total + g, growth)[1]
                    growth += max(0.0, lost)
                total = total + g
        if growth > 0:
            x = solve(learner, total, growth)[0]
    assert final == pytest.approx(growth, rel=1e-6)


@given(st.integers(0, 10**6), st.booleans(), st.booleans(), st.sampled_from(["ball", "box", "simplex"]))
def test_regret_is_below_its_growth_on_every_path(seed, late, steady, kind):
    rng = np.random.default_rng(seed)
    horizon = int(rng.integers(1, 25))
    rows = rng.normal(size=(horizon, 3)) * rng.exponential(size=(horizon, 1)) ** 3
    if steady:
        rows[:] = rows[0]
    delays = tarry.delays.array(rng.integers(0, 1 + 8 * late, horizon)).values
    weights = rng.exponential(size=horizon) * (rng.integers(0, 2, horizon) if late else 1)
    domain = {"ball": Ball(3), "box": Box([-1.0, 0.0, 0.5], [1.0, 2.0, 0.6]), "simplex": Simplex(3)}[kind]
    learner = AdaFTRL(domain, curvature=float(rng.uniform(0.05, 3)))
    plays, growth = play_out(learner, rows, delays, weights)
    total = weights @ rows
    u = domain.linear_minimiser(total)
    regret = np.sum(weights[:, None] * rows * plays) - total @ u
    own = 1 + learner.curvature / 2 * np.sum((u - learner.start) ** 2)
    assert regret <= own * growth + 1e-9
    if not late:
        squares = np.sum(weights**2 * np.sum(rows**2, axis=1))
        assert growth <= sqrt((domain.diameter**2 + 1 / learner.curvature) * squares) + 1e-9
        assert regret <= learner.regret_factor * sqrt(squares) + 1e-9


@pytest.mark.parametrize("delay", [0, 4])
def test_the_bound_by_growth_is_within_three_of_the_regret(delay):
    """Gradients that turn against the play, by the sign of what arrives last."""
    horizon, learner = 200, AdaFTRL(Ball(1))
    rows = np.where(np.arange(horizon) // (2 * delay + 1) % 2 == 0, 1.0, -1.0)[:, None]
    plays, growth = play_out(learner, rows, tarry.delays.fixed(horizon=horizon, delay=delay).values, np.ones(horizon))
    regret = np.sum(rows * plays) + abs(rows.sum())
    bound = (1 + learner.curvature / 2) * growth
    assert bound / 3 <= regret <= bound


@pytest.mark.parametrize("size", [1e-100, 1e-3, 1e100])
def test_rescaled_losses_change_no_play(size):
    rows, delays = RNG.normal(size=(40, 3)), RNG.integers(0, 6, 40)
    learner = AdaFTRL(Ball(3))
    once = plays_of(learner, rows, delays, np.ones(40))
    assert np.ptp(once, axis=0).max() > 0.1
    np.testing.assert_allclose(plays_of(learner, size * rows, delays, np.ones(40)), once, atol=1e-9)


def test_it_lives_on_domains_without_a_linear_minimiser_in_compiled_code():
    domain = tarry.domains.Product(Ellipsoid(np.diag([2.0, 1.0])), Box([0.0], [3.0]))
    plays = plays_of(AdaFTRL(domain), RNG.normal(size=(30, 3)), RNG.integers(0, 6, 30), np.ones(30))
    assert np.all(np.isfinite(plays))


@pytest.mark.parametrize("k", [1, 1000])
def test_dimensions(k):
    rows = np.random.default_rng(k).normal(size=(20, k))
    assert np.all(np.isfinite(plays_of(AdaFTRL(Ball(k)), rows, np.full(20, 3), np.ones(20))))


def test_tunings():
    ball = Ball(2, radius=3.0)
    assert AdaFTRL.original(ball).curvature == pytest.approx(1 / 72)
    best = AdaFTRL(ball)
    for factor in (0.8, 1.25):
        assert best.regret_factor < AdaFTRL(ball, curvature=factor * best.curvature).regret_factor
    assert AdaFTRL(ball, start=[3.0, 0.0]).regret_factor == pytest.approx(2.1 * 6, rel=1e-3)
    with pytest.raises(ValueError, match="curvature must be"):
        AdaFTRL(ball, curvature=0.0)
