"""OGD, DOGD, DOGD-SC and the best-of-both rate, against plain loops, identities and their own bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tarry
from tarry.domains import Ball, Box, nearest
from tarry.learners import DOGD, DOGDSC, DWFTRL, OGD
from tarry.rates import Anytime, BestOfBoth, DoublingRate, Power, inverse_time
from tarry.rates.base import MEMORY, SUM, next_rate

RNG = np.random.default_rng(11)
HORIZON, K = 80, 3
ROWS = RNG.normal(size=(HORIZON, K))
ROWS /= np.linalg.norm(ROWS, axis=1)[:, None]
DELAYS = tarry.delays.array(RNG.integers(0, 12, HORIZON)).values
WEIGHTS = RNG.exponential(size=HORIZON) * (RNG.uniform(size=HORIZON) < 0.8)
UNIT, WIDE = Ball(K), Ball(K, radius=1e3)
RATES = np.sort(RNG.uniform(0.2, 0.9, HORIZON))[::-1].copy()


def plays(learner, delays=DELAYS, weights=WEIGHTS, rows=ROWS):
    game = tarry.WeightedGame(learner.domain, tarry.losses.Linear(rows), tarry.delays.array(delays), weights)
    return tarry.simulate(game, learner, keep_rounds=True).plays()


def arrivals(t, delays=DELAYS, weights=WEIGHTS):
    """The rounds from 0 on whose feedback comes in round t and weighs something, in order."""
    return [s for s in range(t + 1) if s + delays[s] == t and weights[s] > 0]


@pytest.mark.parametrize("domain", [UNIT, WIDE, Box([-0.2, -1.0, 0.1], [1.0, 0.5, 0.9])], ids=["ball", "wide", "box"])
def test_dogd_is_its_update(domain):
    x, found = np.array(domain.center), plays(DOGD(domain, rate=RATES))
    for t in range(HORIZON):
        np.testing.assert_allclose(found[t], x, atol=1e-12)
        came = arrivals(t)
        if came:
            x = nearest(domain, x - RATES[t] * sum(WEIGHTS[s] * ROWS[s] for s in came))


@pytest.mark.parametrize("domain", [UNIT, Box([-0.2, -1.0, 0.1], [1.0, 0.5, 0.9])], ids=["ball", "box"])
def test_ogd_steps_once_per_feedback(domain):
    x, n, found = np.array(domain.center), 0, plays(OGD(domain, rate=RATES))
    for t in range(HORIZON):
        np.testing.assert_allclose(found[t], x, atol=1e-12)
        for s in arrivals(t):
            n += 1
            x = nearest(domain, x - RATES[n - 1] * WEIGHTS[s] * ROWS[s])


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_dogdsc_is_its_update(share):
    x, h, found = np.zeros(K), 0.0, plays(DOGDSC(UNIT, strong_convexity=0.7, share=share))
    for t in range(HORIZON):
        np.testing.assert_allclose(found[t], x, atol=1e-12)
        came = arrivals(t)
        if came:
            h += share * 0.7 * sum(WEIGHTS[s] for s in came)
            x = nearest(UNIT, x - sum(WEIGHTS[s] * ROWS[s] for s in came) / h)


def test_without_projection_dwftrl_is_dogd_with_the_arrival_rounds_step():
    np.testing.assert_allclose(plays(DWFTRL(WIDE, rate=RATES)), plays(DOGD(WIDE, rate=RATES)), atol=1e-10)
    assert not np.allclose(plays(DWFTRL(UNIT, rate=RATES)), plays(DOGD(UNIT, rate=RATES)), atol=1e-3)


def test_constant_step_without_projection_makes_the_order_of_feedback_irrelevant():
    np.testing.assert_allclose(plays(OGD(WIDE, rate=0.3)), plays(DOGD(WIDE, rate=0.3)), atol=1e-12)
    assert not np.allclose(plays(OGD(UNIT, rate=0.3)), plays(DOGD(UNIT, rate=0.3)), atol=1e-3)


@pytest.mark.parametrize("rate", [0.3, Power(1.0, 0.5), inverse_time(0.5)])
def test_without_delay_all_are_one(rate):
    none, ones = np.zeros(HORIZON, int), np.ones(HORIZON)
    descent = plays(OGD(UNIT, rate=rate), none, ones)
    assert np.array_equal(descent, plays(DOGD(UNIT, rate=rate), none, ones))
    if rate == inverse_time(0.5):
        np.testing.assert_allclose(descent, plays(DOGDSC(UNIT, strong_convexity=0.5), none, ones), atol=1e-12)


def test_a_fixed_delay_makes_langfords_rate_one_of_rounds():
    tau, learner = 4, OGD.langford(UNIT, gradient_bound=1.0, delay=4)
    found, x = plays(learner, np.full(HORIZON, tau), np.ones(HORIZON)), np.zeros(K)
    for t in range(1, HORIZON - tau):
        np.testing.assert_allclose(found[t - 1], x, atol=1e-12)
        if t > tau:
            x = nearest(UNIT, x - 2.0 / (2 * np.sqrt(tau * (t - tau))) * ROWS[t - tau - 1])


def test_the_share_of_the_source():
    assert DOGDSC.original(UNIT, strong_convexity=0.7) == DOGDSC(UNIT, strong_convexity=0.7, share=0.5)


@pytest.mark.parametrize("make", [lambda d: OGD(d, 0.3), lambda d: DOGD(d, 0.3), lambda d: DOGDSC(d, 1.0)])
@pytest.mark.parametrize("k", [1, 1000])
def test_dimensions_and_zero_weights(make, k):
    rows, domain = RNG.normal(size=(30, k)), Ball(k)
    other, weights = rows.copy(), np.ones(30)
    weights[::3] = 0.0
    other[::3] = 7.0
    delays = RNG.integers(0, 9, 30)
    found = plays(make(domain), delays, weights, rows)
    assert np.array_equal(found, plays(make(domain), delays, weights, other))
    assert np.all(np.linalg.norm(found, axis=1) <= 1 + 1e-12)


def test_dogd_follows_an_epochs_guess():
    losses = tarry.losses.Linear(ROWS)
    game = tarry.Game(UNIT, losses, tarry.delays.array(DELAYS), capacity=None)
    player = tarry.Player(DOGD(UNIT, DoublingRate(2.0, 1.0)), tarry.schedulers.Always(), tarry.Doubling("total"))
    assert np.isfinite(tarry.simulate(game, player).regret[0])


def _late(horizon, delay):
    """Losses that turn round every delay + 1 rounds: the last feedback always points the wrong way."""
    signs = np.where(np.arange(horizon) // (delay + 1) % 2 == 0, 1.0, -1.0)
    return tarry.losses.Linear(signs[:, None]), tarry.delays.fixed(horizon=horizon, delay=delay)


def test_dogd_stays_below_its_bound_and_ogds_own_rate_does_not():
    """Blocks as long as the delay: GD√(T + 2d_tot) holds for its step, GD√T fails for the step of no delay."""
    losses, delays = _late(600, 24)
    game = tarry.WeightedGame(Ball(1), losses, delays, np.ones(600))
    total = delays.total_delay
    bound = 2.0 * np.sqrt(600 + 2 * total)
    assert tarry.simulate(game, DOGD.tuned(Ball(1), 1.0, 600, total)).regret[0] <= bound
    assert tarry.simulate(game, DOGD(Ball(1), 10.0)).regret[0] > bound
    undelayed = 2.0 * np.sqrt(600)
    assert tarry.simulate(game, OGD.fixed(Ball(1), 1.0, 600)).regret[0] > undelayed
    none = tarry.WeightedGame(Ball(1), losses, tarry.delays.fixed(horizon=600, delay=0), np.ones(600))
    assert tarry.simulate(none, OGD.fixed(Ball(1), 1.0, 600)).regret[0] <= undelayed
    assert tarry.simulate(none, OGD.falling(Ball(1), 1.0)).regret[0] <= 1.5 * undelayed


def test_the_bound_of_dogd_is_attained_when_all_feedback_is_late():
    """Nothing arrives in time, all losses alike: D²/(2η) + ηG²(T/2 + d_tot) with opposite ends of the segment."""
    horizon = 5
    delays = tarry.delays.array([4, 3, 2, 1, 0])
    learner = DOGD(Box([0.0], [1.0]), 1 / np.sqrt(horizon + 2 * 10), start=[1.0])
    game = tarry.WeightedGame(learner.domain, tarry.losses.Linear(np.ones((horizon, 1))), delays, np.ones(horizon))
    assert tarry.simulate(game, learner).regret[0] == pytest.approx(np.sqrt(horizon + 2 * 10))


def test_strongly_convex_descent_stays_below_its_bound():
    targets = np.where(np.arange(400) % 2 == 0, 1.0, -1.0)[:, None]
    losses = tarry.losses.Quadratic(targets, strong_convexity=1.0)
    game = tarry.WeightedGame(Ball(1), losses, tarry.delays.fixed(horizon=400, delay=0), np.ones(400))
    bound = 2.0**2 / 2 * (1 + np.log(400))
    assert tarry.simulate(game, OGD.strongly_convex(Ball(1), 1.0)).regret[0] <= bound
    assert tarry.simulate(game, OGD(Ball(1), 0.5)).regret[0] > bound


@pytest.mark.parametrize("capacity", [None, 6])
def test_best_of_both_is_its_formula(capacity):
    delays, lam, steep, across = tarry.delays.array(DELAYS), 0.3, 1.0, 2.0
    sigma, beta, rates = np.append(delays.backlog(), 0), 0.0, []
    for t in range(2, HORIZON + 2):
        a, c = lam * (t - 1) + beta, 2 * steep**2 * sigma[t - 1] / across**2
        beta += (np.sqrt(a * a + 4 * c) - a) / 2
        rates.append(1 / (lam * (t - 1) + beta))
    game = tarry.Game(UNIT, tarry.losses.Linear(ROWS), delays, capacity=capacity)
    learnt = DWFTRL(UNIT, rate=BestOfBoth(lam, steep, across))
    found = [tarry.simulate(game, one, keep_rounds=True).plays() for one in (learnt, DWFTRL(UNIT, rate=rates))]
    np.testing.assert_allclose(*found, atol=1e-12)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=60), st.floats(0.01, 10), st.floats(0.1, 10))
def test_best_of_both_balances_to_within_two(jumps, lam, steep):
    """½D²β + Σ G²σ_t η_{t−1} is at most twice the better of all curvature and all regularisation."""
    sigma = np.minimum(jumps, np.arange(1, len(jumps) + 1)).astype(float)  # σ_2, σ_3, …
    rule, memory, across = BestOfBoth(lam, steep, 3.0), np.zeros(MEMORY), 3.0
    rates = np.array([next_rate(rule, memory, t, pending) for t, pending in enumerate(sigma, start=1)])
    paid = across**2 * memory[SUM] / 2 + steep**2 * np.sum(sigma * rates)
    curved = steep**2 / lam * np.sum(sigma / np.arange(1, sigma.size + 1))
    assert paid <= 2 * min(curved, steep * across * np.sqrt(2 * sigma.sum())) * (1 + 1e-9)


def test_best_of_both_needs_acknowledgements_and_defaults_to_the_largest_diameter():
    assert BestOfBoth(0.5, 1.0) == BestOfBoth(0.5, 1.0, 4.0)
    game = tarry.Game(
        UNIT, tarry.losses.Linear(ROWS), tarry.delays.array(DELAYS), capacity=3, information="non-clairvoyant"
    )
    with pytest.raises(tarry.errors.NotGranted, match="needs acknowledgements"):
        tarry.simulate(game, tarry.Player(DWFTRL(UNIT, rate=BestOfBoth(0.5, 1.0)), tarry.schedulers.Priority()))


@pytest.mark.parametrize(("delay", "strong_convexity"), [(60, 0.01), (5, 0.5)])
def test_best_of_both_is_below_its_bound(delay, strong_convexity):
    """Weak curvature and long delays: the plain rate 1/(λt) exceeds the bound that this one keeps."""
    horizon, lam = 800, strong_convexity
    signs = np.where(np.arange(horizon) // (delay + 1) % 2 == 0, 1.0, -1.0)
    losses = tarry.losses.Linear((1 - lam) * signs[:, None], ridge=lam)
    delays = tarry.delays.fixed(horizon=horizon, delay=delay)
    game = tarry.WeightedGame(Ball(1), losses, delays, np.ones(horizon))
    t, sigma = np.arange(2, horizon + 1), delays.backlog()[1:]
    curved, flat = np.sum(sigma / (t - 1)) / lam, 2.0 * np.sqrt(2 * delays.total_delay)
    bound = 2 * min(curved, flat) + (1 + np.sum(1 / (t - 1))) / (2 * lam)
    regret = tarry.simulate(game, DWFTRL(Ball(1), rate=BestOfBoth(lam, 1.0, 2.0))).regret[0]
    plain = tarry.simulate(game, DWFTRL(Ball(1), rate=inverse_time(lam))).regret[0]
    assert regret <= bound
    if delay == 60:
        assert regret < 0.75 * plain


@pytest.mark.parametrize(
    ("make", "kind", "sentence"),
    [
        (lambda: OGD(UNIT, rate=Anytime(2.0, 1.0)), TypeError, "cannot follow the game as Anytime does"),
        (lambda: OGD(UNIT, rate=0.0), ValueError, "rate must be positive"),
        (lambda: OGD.fixed(UNIT, 1.0, 0), ValueError, "horizon must be a whole number of at least 1"),
        (lambda: OGD.langford(UNIT, 1.0, 0), ValueError, "delay must be a whole number of at least 1"),
        (lambda: DOGD.tuned(UNIT, 1.0, 10, -1), ValueError, "total_delay must be a whole number"),
        (lambda: DOGD(UNIT, rate=0.1, start=[3.0, 0.0, 0.0]), ValueError, "must lie in the domain"),
        (lambda: DOGDSC(UNIT, strong_convexity=0.0), ValueError, "strong_convexity must be positive"),
        (lambda: DOGDSC(UNIT, strong_convexity=1.0, share=0.0), ValueError, "share must be positive"),
        (lambda: BestOfBoth(1.0, -1.0), ValueError, "gradient_bound must be positive"),
    ],
)
def test_refusals(make, kind, sentence):
    with pytest.raises(kind, match=sentence):
        make()


def test_a_sequence_must_cover_the_horizon():
    with pytest.raises(ValueError, match="3 rounds, the game has 80"):
        plays(DOGD(UNIT, rate=[0.3, 0.2, 0.1]))
