"""Follow the leader of late quadratics: a brute-force minimiser, the sheet's plays, identities, its bound."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import tarry
from tarry.domains import Ball, Box
from tarry.learners import DWFTRL, FTL, OGD, SOLID, OnePoint
from tarry.learners.base import KeyedDirections, absorb, advance, allocate, direction, enter, predict
from tarry.rates import inverse_time
from tests.oracles.methods import METHODS
from tests.oracles.methods.stated import of_ftl

RNG = np.random.default_rng(23)
HORIZON, K, CURVATURE = 60, 3, 0.7
ROWS = RNG.normal(size=(HORIZON, K))
DELAYS = tarry.delays.array(RNG.integers(0, 9, HORIZON)).values
WEIGHTS = RNG.exponential(size=HORIZON) + 0.1
BALL, BOX = Ball(K, center=[0.3, 0.0, -0.2]), Box([-0.4, 0.0, -2.0], [1.0, 0.3, 2.0])


def plays(learner, delays=DELAYS, weights=WEIGHTS, rows=ROWS, ridge=0.5):
    game = tarry.WeightedGame(
        learner.domain,
        tarry.losses.Linear(rows, ridge=ridge),
        tarry.delays.array(delays),
        weights,
        feedback=learner.feedback,
    )
    return tarry.simulate(game, learner, keep_rounds=True).plays()


def test_the_sheets_plays():
    """λ = 1, delays (2, 0, 1, 0, 0, 0), slopes of ±1 on a line."""
    delays, signs, line = np.array([2, 0, 1, 0, 0, 0]), np.array([[1.0, 1, 1, -1, 1, -1]]).T, Ball(1, radius=9.0)
    expected = [0.0, 0.0, -1.0, -1.0, -1.0, -1.2]
    found = plays(FTL(line, 1.0), delays, np.ones(6), signs, ridge=0.0)[:, 0]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    other = plays(SOLID(DWFTRL(line, inverse_time(1.0))), delays, np.ones(6), signs, ridge=0.0)[:, 0]
    assert abs(other - expected).max() > 0.1, "SOLID of DW-FTRL plays another game"


@pytest.mark.parametrize("domain", [BALL, BOX])
def test_plays_minimise_the_quadratics_that_have_arrived(domain):
    found = plays(FTL(domain, CURVATURE))
    for t in range(8):
        known = [s for s in range(t) if s + DELAYS[s] < t]
        if not known:
            assert np.array_equal(found[t], domain.center)
            continue

        def late(x, known=known):
            return sum(
                WEIGHTS[s] * ((ROWS[s] + 0.5 * found[s]) @ x + CURVATURE / 2 * np.sum((x - found[s]) ** 2))
                for s in known
            )

        inside = (
            {"constraints": {"type": "ineq", "fun": lambda x: 1.0 - np.sum((x - domain.center) ** 2)}}
            if domain is BALL
            else {"bounds": list(zip(BOX.lower, BOX.upper, strict=True))}
        )
        best = minimize(late, domain.center + 0.01, method="SLSQP", options={"ftol": 1e-14}, **inside).x
        np.testing.assert_allclose(found[t], best, atol=1e-5)


@pytest.mark.parametrize("domain", [BALL, BOX])
def test_without_delay_it_is_dw_ftrl(domain):
    none, ones = np.zeros(HORIZON, int), np.ones(HORIZON)
    leader = plays(DWFTRL(domain, inverse_time(CURVATURE)), none, ones)
    np.testing.assert_allclose(plays(FTL(domain, CURVATURE), none, ones), leader, atol=1e-12)


def test_far_from_the_border_and_without_delay_it_is_descent():
    none, ones, wide_open = np.zeros(HORIZON, int), np.ones(HORIZON), Ball(K, radius=1e3)
    descent = plays(OGD.strongly_convex(wide_open, CURVATURE), none, ones)
    np.testing.assert_allclose(plays(FTL(wide_open, CURVATURE), none, ones), descent, atol=1e-12)


def test_solid_centres_them_where_it_stands():
    leader = plays(SOLID(DWFTRL(BALL, inverse_time(CURVATURE))), weights=np.ones(HORIZON))
    np.testing.assert_allclose(plays(SOLID(FTL(BALL, CURVATURE)), weights=np.ones(HORIZON)), leader, atol=1e-12)


def test_from_one_value_quadratics_are_centred_at_the_iterate():
    """y, not the play y + δu; estimates are (k/δ) f u, on the shrunken ball."""
    delta, directions = 0.4, KeyedDirections(np.uint64(5))
    learner, play = OnePoint(FTL(BALL, CURVATURE), delta), np.zeros(K)
    state, iterates, estimates, values = allocate(learner, HORIZON), [], [], RNG.normal(size=HORIZON)
    with np.errstate(over="ignore"):
        for t in range(HORIZON):
            known = [s for s in range(t) if s + DELAYS[s] < t]
            middle = np.array(BALL.center)
            if known:
                mean = np.mean([iterates[s] - estimates[s] / CURVATURE for s in known], axis=0)
                middle = tarry.domains.nearest(Ball(K, center=BALL.center, radius=1 - delta), mean)
            predict(learner, state, directions, t + 1, play)
            u = np.zeros(K)
            direction(directions, t + 1, u)
            np.testing.assert_allclose(play, middle + delta * u, atol=1e-9)
            iterates.append(middle)
            estimates.append(K / delta * values[t] * u)
            enter(learner, state, t, t + 1)
            for s in range(t + 1):
                if s + DELAYS[s] == t:
                    absorb(learner, state, directions, s, s + 1, 1.0, values[s : s + 1])
            advance(learner, state, t + 1, 0)


def test_the_bound_notices_too_small_a_curvature():
    game = METHODS["FTL"].hardest()
    assert tarry.simulate(game, FTL(game.domain, 0.1)).regret[0] <= of_ftl(game)
    assert tarry.simulate(game, FTL(game.domain, 0.01)).regret[0] > of_ftl(game)
