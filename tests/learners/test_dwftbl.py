"""DW-FTBL: the one-point estimator in closed form, the bound in the mean, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import tarry
from tarry.learners import DWFTBL, DWFTRL
from tarry.learners.base import RecordedDirections, absorb, allocate, predict
from tarry.rates import Power
from tarry.theory import bandit_weighted_regret_bound, one_point_estimate

RNG = np.random.default_rng(8)


def _directions(k):
    """A design: averages of polynomials of degree at most 5 over these points are exact."""
    if k == 2:
        angles = 2 * np.pi * np.arange(16) / 16
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)
    golden = (1 + 5**0.5) / 2
    corners = [(0, a, b * golden) for a in (-1, 1) for b in (-1, 1)]
    points = np.array([np.roll(c, shift) for c in corners for shift in range(3)], dtype=float)
    return points / np.linalg.norm(points, axis=1)[:, None]


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("kind", ["linear", "quadratic"])
def test_the_estimator_is_the_gradient_of_the_smoothed_loss(k, kind):
    data, strength, delta = RNG.normal(size=(1, k)), 0.8, 0.3
    losses = (
        tarry.losses.Linear(data, offsets=[0.7])
        if kind == "linear"
        else tarry.losses.Quadratic(data, strength, offsets=[0.7])
    )
    domain = tarry.domains.Ball(k, radius=1.5, center=RNG.normal(size=k))
    start = domain.center + RNG.uniform(-0.3, 0.3, k)
    learner = DWFTBL(domain, rate=0.1, smoothing=delta, start=start)
    shrunken = domain.center + (1 - delta / 1.5) * (start - domain.center)
    estimates = []
    for u in _directions(k):
        state, play, directions = allocate(learner, 1), np.zeros(k), RecordedDirections(u[None, :])
        predict(learner, state, directions, 1, play)
        assert domain.depth(play) >= -1e-12
        absorb(learner, state, directions, 0, 1, 1.0, np.array([losses.value(play, 1)]))
        estimates.append(state.total.copy())
        stated = one_point_estimate(lambda x: losses.value(x, 1), shrunken, delta, u)
        np.testing.assert_allclose(state.total, stated, rtol=1e-12, atol=1e-12)
    expected = data[0] if kind == "linear" else strength * (shrunken - data[0])
    np.testing.assert_allclose(np.mean(estimates, axis=0), expected, atol=1e-12)


@pytest.mark.slow
def test_the_bound_holds_in_the_mean_over_directions():
    horizon, k, seeds, rng = 60, 2, 400, np.random.default_rng(8)
    rows = rng.normal([1.0, 0.0], size=(horizon, k))  # one way, so that there is something to learn
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    weights = np.where(rng.random(horizon) < 0.5, 0.0, 2.0)
    domain, losses = tarry.domains.Ball(k), tarry.losses.Linear(rows)
    delays = tarry.delays.array(rng.integers(0, 10, horizon))
    smoothing = Power(0.9, 0.25)
    learner = DWFTBL(domain, rate=0.02, smoothing=smoothing)
    game = tarry.WeightedGame(domain, losses, delays, weights, feedback="value")
    record = tarry.simulate(game, learner, seeds=seeds, keep_rounds=True)
    best = domain.linear_minimiser((weights[:, None] * rows).sum(axis=0))
    regrets = [np.sum(weights * (record.rounds(s)["loss"].to_numpy() - rows @ best)) for s in record.seeds]
    deltas = 0.9 * np.arange(1, horizon + 1) ** -0.25
    bound = bandit_weighted_regret_bound(
        weights=weights,
        delays=delays.values,
        rates=np.full(horizon, 0.02),
        smoothing=deltas,
        diameter=2.0,
        gradient_bound=1.0,
        value_bound=1.0,
        inner_radius=1.0,
        dimension=k,
    )
    assert np.mean(regrets) + 4 * np.std(regrets) / np.sqrt(seeds) <= bound
    # A learner that climbs instead of descending would still be below this loose bound; its mean
    # tells them apart: with exact gradients the same rates beat standing still.
    still = np.sum(weights * (0.0 - rows @ best))
    assert np.mean(regrets) + 4 * np.std(regrets) / np.sqrt(seeds) < still


def test_plays_stay_in_the_domain_and_exploration_is_reported():
    domain = tarry.domains.Box([-1.0, 0.0], [1.0, 1.0])
    learner = DWFTBL(domain, rate=0.05, smoothing=Power(1.0, 0.25, cap=0.5))
    assert learner.inner_radius == 0.5
    assert learner.exploration_rounds(1000) == 16  # t^(-1/4) > 1/2 for t < 16, and equal at 16
    game = tarry.Game(
        domain,
        tarry.losses.Linear(RNG.normal(size=(200, 2))),
        tarry.delays.fixed(horizon=200, delay=5),
        capacity=3,
        feedback="value",
    )
    record = tarry.simulate(game, learner, keep_rounds=True)
    plays = record.plays()
    assert record.exploration_rounds == 16
    assert "16 rounds of pure exploration" in repr(record)
    assert np.all(plays >= [-1, 0]) and np.all(plays <= [1, 1])  # noqa: PT018
    np.testing.assert_allclose(np.linalg.norm(plays[:16] - [0, 0.5], axis=1), 0.5)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda d: DWFTBL(d, rate=0.1, smoothing=1.5), "smoothing may not exceed the inner radius 1"),
        (lambda d: DWFTBL(d, rate=0.1, smoothing=-0.1), "positive"),
        (lambda d: DWFTBL(d, rate=0.1, smoothing=0.1, origin=[2.0, 0.0]), "inner radius 0"),
        (lambda d: DWFTBL(d, rate=0.1, smoothing=0.1, inner_radius=3.0), "does not fit"),
        (lambda _: DWFTBL(tarry.domains.Simplex(3), rate=0.1, smoothing=0.1), "affine hull"),
    ],
)
def test_refusals(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make(tarry.domains.Ball(2))


def test_the_kind_of_feedback_must_match():
    domain = tarry.domains.Ball(1)
    game = tarry.Game(domain, tarry.losses.Linear(np.ones((5, 1))), tarry.delays.fixed(horizon=5, delay=0))
    with pytest.raises(tarry.errors.NotGranted, match="DWFTBL learns from value feedback"):
        tarry.simulate(game, DWFTBL(domain, rate=0.1, smoothing=0.5))
    with pytest.raises(tarry.errors.NotGranted, match="DWFTRL learns from gradient feedback"):
        tarry.simulate(tarry.Game(game.domain, game.losses, game.delays, feedback="value"), DWFTRL(domain, rate=0.1))


@pytest.mark.parametrize("value_bound", [0.01, 5.0])
def test_the_unlimited_tuning_counts_estimates_as_long_as_gradients_at_least(value_bound):
    """And D is the diameter, as in the proof, where a domain is narrower than twice its outer radius."""
    wedge = tarry.domains.CustomDomain(lambda x: np.clip(x, 0.0, 1.0, out=x), 2, [0.25, 0.25], 2**0.5, 0.25, 1.1)
    learner = DWFTBL.unlimited(wedge, gradient_bound=2.0, value_bound=value_bound, horizon=100, total_delay=10**5)
    length = 2 * value_bound / (2.0 * learner.smoothing.value)
    assert (length < 1) == (value_bound < 1)
    energy = 6 * (100 * max(1.0, length) ** 2 + 10**5)
    assert learner.rate.value == pytest.approx(2**0.5 / (2.0 * energy**0.5))
