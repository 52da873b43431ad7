"""Rates and radii for values: equal to the theory's functions round by round, unbiased, and refused where wrong."""

from __future__ import annotations

import numpy as np
import pytest

import tarry
from tarry.learners import DWFTBL, DWFTRL
from tarry.learners.base import RecordedDirections, absorb, allocate, predict, rate_in_force, restart
from tarry.rates import BanditRadius, BanditRate
from tarry.rates.base import MAGNITUDE, MEMORY, first_rate, last_rate, next_rate, radius
from tests.oracles import theory

T = np.arange(1, 301)
D, G, SPREAD, R = 2.0, 1.7, 0.8, 0.6


def _memory(magnitude=0.0):
    memory = np.zeros(MEMORY)
    memory[MAGNITUDE] = magnitude
    return memory


@pytest.mark.parametrize("guess", [1, 2, 64])
@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("capacity", [1, 24])
def test_the_papers_rules_at_a_backlog(guess, given, capacity):
    """σ_max = guess − 1, whether it is given or comes with the epoch."""
    sigma = guess - 1
    memory = _memory(0.0 if given else guess)
    backlog = {"max_backlog": sigma if given else None, "capacity": capacity}
    crowd = {"spread": SPREAD, "max_backlog": sigma, "capacity": capacity}
    rate, flat = BanditRate.for_backlog(D, G, SPREAD, **backlog), BanditRadius.for_backlog(R, SPREAD, **backlog)
    steep = BanditRadius.for_backlog(R, SPREAD, **backlog, curved=True)
    tuned = theory.bernoulli_bandit_tuning(T, diameter=D, gradient_bound=G, inner_radius=R, **crowd)
    bent = theory.bernoulli_bandit_tuning(T, strong_convexity=1.0, inner_radius=R, **crowd)
    expected = tuned.rate
    np.testing.assert_allclose([next_rate(rate, memory, t, -1) for t in T], expected, rtol=1e-12)
    assert first_rate(rate, memory) == pytest.approx(expected[0])
    assert last_rate(rate, memory, 1.0, 300) == pytest.approx(expected[-1])
    for rule, radii in ((flat, tuned.smoothing), (steep, bent.smoothing)):
        np.testing.assert_allclose([radius(rule, memory, t) for t in T], radii, rtol=1e-12)
    assert rate.follows_backlog == flat.follows_backlog == (not given)


def test_without_a_limit_the_crowd_does_not_count():
    memory = _memory(64.0)
    assert radius(BanditRadius.for_backlog(R, SPREAD, None), memory, 50) == pytest.approx(
        R * np.sqrt(SPREAD) * 50**-0.25
    )


@pytest.mark.parametrize("level", [1.0, 5.5])
def test_the_rules_at_a_level(level):
    sigma = np.random.default_rng(1).integers(0, 9, 301)
    sigma[0] = 0
    rate, memory = BanditRate(D, G, SPREAD, level), _memory()
    expected = theory.bandit_anytime_rates(sigma, diameter=D, gradient_bound=G, spread=SPREAD, level=level)
    found = [next_rate(rate, memory, t, sigma[t]) for t in T]
    np.testing.assert_allclose(found, expected[:-1], rtol=1e-12)
    alone = theory.bandit_anytime_rates([0], diameter=D, gradient_bound=G, spread=SPREAD, level=level)
    assert first_rate(rate, memory) == pytest.approx(alone[0])
    shape = {"spread": SPREAD, "level": level}
    flat, steep = BanditRadius(R, **shape), BanditRadius(R, **shape, curved=True)
    np.testing.assert_allclose(
        [radius(flat, memory, t) for t in T], R * theory.bandit_anytime_smoothing(T, **shape), rtol=1e-12
    )
    np.testing.assert_allclose(
        [radius(steep, memory, t) for t in T], R * theory.bandit_curved_smoothing(T, **shape), rtol=1e-12
    )


def test_the_level_rate_is_learnt_from_the_backlog():
    """It plays as the same rates and radii given in advance."""
    rng = np.random.default_rng(6)
    horizon, domain = 150, tarry.domains.Ball(2)
    delays = tarry.delays.array(rng.integers(0, 30, horizon))
    losses = tarry.losses.Linear(rng.normal(size=(horizon, 2)))
    game = tarry.Game(domain, losses, delays, feedback="value", capacity=5)
    shape = {"spread": 0.5, "level": 3.0}
    rates = theory.bandit_anytime_rates(delays.backlog(), diameter=2.0, gradient_bound=1.0, **shape)
    given = DWFTBL(domain, rate=rates, smoothing=theory.bandit_anytime_smoothing(np.arange(1, horizon + 1), **shape))
    learner = DWFTBL(domain, rate=BanditRate(2.0, 1.0, **shape), smoothing=BanditRadius(1.0, **shape))
    expected = tarry.simulate(game, given, keep_rounds=True).plays()
    np.testing.assert_allclose(tarry.simulate(game, learner, keep_rounds=True).plays(), expected, atol=1e-9)
    blind = tarry.Game(domain, losses, delays, "value", 5, "non-clairvoyant")
    with pytest.raises(tarry.errors.NotGranted, match="needs acknowledgements"):
        tarry.simulate(blind, learner)
    session = tarry.Session(learner, capacity=5, information="semi-clairvoyant", rng=0)
    for t in range(1, horizon + 1):
        np.testing.assert_allclose(session.ask().play, expected[t - 1], atol=1e-9)
        for s in range(1, t + 1):
            if s + delays.values[s - 1] == t:
                session.tell(s, value=losses.value(expected[s - 1], s))


def test_after_a_restart_the_estimate_is_still_the_gradient():
    """Averaged over directions and over the coin of the epoch, for radii that changed with it."""
    from tarry.schedulers import DoublingBernoulli
    from tarry.schedulers.base import RecordedUniforms, Request, admit, arrive, renew
    from tarry.schedulers.base import allocate as allocate_scheduler

    angles = 2 * np.pi * np.arange(16) / 16
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    domain, slope, capacity, guess = tarry.domains.Ball(2), np.array([0.7, -1.1]), 4, 8.0
    smoothing = BanditRadius.for_backlog(1.0, 0.2, capacity)
    learner = DWFTBL(
        domain, rate=BanditRate.for_backlog(2.0, 1.0, 0.2, capacity), smoothing=smoothing, start=[0.2, 0.1]
    )
    means, coins = np.zeros(2), 64
    for u in circle:
        for i in range(coins):
            state, play, directions = allocate(learner, 4), np.zeros(2), RecordedDirections(np.tile(u, (9, 1)))
            restart(learner, state, 5, guess)
            predict(learner, state, directions, 6, play)
            scheduler = DoublingBernoulli()
            held = allocate_scheduler(scheduler, 4, capacity)
            renew(scheduler, held, guess)
            draws = RecordedUniforms(np.full(9, (i + 1.0) / coins))
            slot = admit(scheduler, held, draws, Request(6, 0, 0, capacity, 7, -1))
            if slot >= 0:
                weight = arrive(scheduler, held, slot, 6, 8)
                absorb(learner, state, directions, slot, 6, weight, np.array([0.4 + slope @ play]))
            means += state.total / (coins * len(circle))
    np.testing.assert_allclose(means, slope, atol=1e-12)
    assert radius(smoothing, _memory(guess), 2) != pytest.approx(radius(smoothing, _memory(1.0), 2))


def test_the_first_rate_of_a_later_epoch_knows_its_guess():
    learner = DWFTBL(
        tarry.domains.Ball(2), BanditRate.for_backlog(2.0, 1.0, 0.2, 4), BanditRadius.for_backlog(1.0, 0.2, 4)
    )
    state = allocate(learner, 4)
    restart(learner, state, 5, 16.0)
    crowd = {"spread": 0.2, "max_backlog": 15, "capacity": 4}
    expected = theory.bernoulli_bandit_tuning(1, diameter=2.0, gradient_bound=1.0, **crowd).rate
    assert rate_in_force(learner, state, 5) == pytest.approx(float(expected))


def test_exploration_depends_on_the_guess():
    learner = DWFTBL(
        tarry.domains.Ball(2), BanditRate.for_backlog(2.0, 1.0, 2.0, 4), BanditRadius.for_backlog(1.0, 2.0, 4)
    )
    assert learner.exploration_rounds(1000) == 4
    assert learner.exploration_rounds(1000, magnitude=5.0) == 8


BALL = tarry.domains.Ball(2)


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (lambda: BanditRate(2.0, 1.0, 1.0, 0.5), ValueError, "at least 1, got 0.5"),
        (lambda: BanditRadius(1.0, 1.0, 0.0), ValueError, "level must be positive"),
        (lambda: BanditRate.for_backlog(2.0, 1.0, 1.0, 0), ValueError, "capacity"),
        (lambda: BanditRadius.for_backlog(1.0, 1.0, 4, -2), ValueError, "max_backlog"),
        (lambda: DWFTBL(BALL, 0.1, BanditRadius.for_backlog(1.5, 1.0, 4)), ValueError, "inner radius 1, got 1.5"),
        (lambda: DWFTBL(BALL, 0.1, BanditRate(2.0, 1.0, 1.0, 1.0)), TypeError, "no rule for the smoothing"),
        (lambda: DWFTRL(BALL, BanditRadius.for_backlog(1.0, 1.0, 4)), TypeError, "no rule for the rate"),
    ],
)
def test_refusals(make, error, sentence):
    with pytest.raises(error, match=sentence):
        make()
