"""AdaptiveRevision, AdaDelay, SOLO and FPL, against plain loops, symmetries and their own bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from marking import slow_but

import tarry
from tarry.domains import Ball, Box, CustomDomain, Ellipsoid, Product, Shift, Simplex, nearest
from tarry.learners import FPL, ODFTRL, SOLO, AdaDelay, AdaFTRL, AdaptiveRevision
from tarry.learners.ftl import least

RNG = np.random.default_rng(13)
HORIZON, K = 80, 3
ROWS = RNG.normal(size=(HORIZON, K))
ROWS /= np.linalg.norm(ROWS, axis=1)[:, None]
DELAYS = tarry.delays.array(RNG.integers(0, 12, HORIZON)).values
WEIGHTS = RNG.exponential(size=HORIZON) * (RNG.uniform(size=HORIZON) < 0.8)
UNIT = Ball(K)
CUSTOM = CustomDomain(lambda x: np.clip(x, 0.0, 1.0, out=x), 2, [0.5, 0.5], 2**0.5, 0.5)


def play(learner, delays=DELAYS, weights=WEIGHTS, rows=ROWS, **options):
    game = tarry.WeightedGame(learner.domain, tarry.losses.Linear(rows), tarry.delays.array(delays), weights)
    return tarry.simulate(game, learner, keep_rounds=True, **options)


def in_time(domain, rows):
    """Linear losses whose gradients are never late."""
    none = tarry.delays.fixed(horizon=len(rows), delay=0)
    return tarry.WeightedGame(domain, tarry.losses.Linear(rows), none, np.ones(len(rows)))


def arrivals(t, delays=DELAYS, weights=WEIGHTS):
    return [s for s in range(t + 1) if s + delays[s] == t and weights[s] > 0]


def test_revision_is_its_update():
    found, x, b, z, peak = play(AdaptiveRevision(UNIT, scale=0.6)).plays(), *np.zeros((2, K)), *np.ones((2, K))
    seen, revised = np.zeros((HORIZON, K)), False
    for t in range(HORIZON):
        np.testing.assert_allclose(found[t], nearest(UNIT, x), atol=1e-12)
        seen[t] = b
        for s in arrivals(t):
            g, missed = WEIGHTS[s] * ROWS[s], b - seen[s]
            before, z = 0.6 / np.sqrt(peak), z + g**2 + 2 * g * missed
            peak = np.maximum(peak, z)
            revised |= bool(np.any(peak > z))  # z can fall, its peak cannot
            x = x - 0.6 / np.sqrt(peak) * g + (before - 0.6 / np.sqrt(peak)) * missed
            b = b + g
    assert revised


def test_revision_without_delay_is_adagrad():
    domain = Box([-50.0] * K, [50.0] * K)
    found = play(AdaptiveRevision(domain, scale=0.6, floor=0.1), np.zeros(HORIZON, int)).plays()
    x, z = np.zeros(K), np.full(K, 0.1)
    for t in range(HORIZON):
        np.testing.assert_allclose(found[t], x, atol=1e-12)
        z = z + (WEIGHTS[t] * ROWS[t]) ** 2
        x = x - 0.6 * WEIGHTS[t] * ROWS[t] / np.sqrt(z)


def products(delays, sizes):
    """λ_t = n_t² + 2 n_t Σ_{s∈B_t} n_s for every round."""
    horizon = len(delays)
    out = [sum(sizes[s] for s in range(t) if s + delays[s] >= t) for t in range(horizon)]
    return sizes**2 + 2 * sizes * np.array(out)


def received(delays, sizes, t):
    """The same sum over the rounds heard before round t, pair by pair."""
    heard = [s for s in range(t) if s + delays[s] < t]
    pairs = sum(2 * sizes[r] * sizes[s] for s in heard for r in heard if r < s and r + delays[r] >= s)
    return sum(sizes[s] ** 2 for s in heard) + pairs


def test_adadelay_is_its_formula():
    tau, ones = int(DELAYS.max()), np.ones(HORIZON)
    rows = ROWS * RNG.uniform(0.2, 1.0, (HORIZON, 1))
    found = play(AdaDelay(UNIT, gradient_bound=1.0, max_delay=tau), weights=ones, rows=rows).plays()
    for t in range(HORIZON):
        level = received(DELAYS, np.linalg.norm(rows, axis=1), t) + (tau + 1) * (3 * tau + 1)
        total = sum((rows[s] for s in range(t) if s + DELAYS[s] < t), np.zeros(K))
        np.testing.assert_allclose(found[t], nearest(UNIT, -2.0 / np.sqrt(2 * level) * total), atol=1e-12)


@given(st.integers(0, 4), st.lists(st.tuples(st.integers(0, 4), st.floats(0, 1)), min_size=1, max_size=25))
def test_the_allowance_covers_what_is_out(tau, rounds):
    delays = np.array([min(delay, tau) for delay, _ in rounds])
    sizes = np.array([size for _, size in rounds])
    sums = np.cumsum(products(delays, sizes))
    for t in range(len(rounds)):
        assert sums[t] <= received(delays, sizes, t) + (tau + 1) * (3 * tau + 1) + 1e-9


def test_adadelay_is_below_its_bound():
    """A square wave whose quarter is the delay, so that what is known always points the wrong way.

    The same learner with a rate forty times as large exceeds the bound.
    """
    horizon, delay = 2000, 10
    signs = np.where((np.arange(horizon) + delay) // (2 * delay) % 2 == 0, 1.0, -1.0)
    delays = tarry.delays.fixed(horizon=horizon, delay=delay)
    game = tarry.WeightedGame(Ball(1), tarry.losses.Linear(signs[:, None]), delays, np.ones(horizon))
    bound = np.sqrt(2) * 2 * np.sqrt(products(delays.values, np.abs(signs)).sum() + (delay + 1) * (3 * delay + 1))
    learner = AdaDelay(Ball(1), 1.0, delay)
    hasty = AdaDelay.make(learner.domain, 40 * learner.scale, learner.allowance, learner.start)
    assert tarry.simulate(game, learner).regret[0] <= bound
    assert tarry.simulate(game, hasty).regret[0] > bound


def test_solo_is_its_formula_and_knows_no_scale():
    learner = SOLO(UNIT, start=[0.2, 0.0, -0.1])
    found, total, squares = play(learner).plays(), np.zeros(K), 0.0
    for t in range(HORIZON):
        push = total / np.sqrt(squares) if squares else total
        np.testing.assert_allclose(found[t], nearest(UNIT, learner.start - 2 / np.sqrt(5.5) * push), atol=1e-12)
        for s in arrivals(t):
            total, squares = total + WEIGHTS[s] * ROWS[s], squares + WEIGHTS[s] ** 2
    for factor in (1e-6, 1e6):
        np.testing.assert_allclose(play(learner, rows=factor * ROWS).plays(), found, atol=1e-9)


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_solo_without_delay_is_below_its_bound(factor):
    horizon = 2000
    rows = factor * np.where(np.arange(horizon) % 40 < 30, 1.0, -1.0)[:, None]
    game = tarry.WeightedGame(
        Ball(1), tarry.losses.Linear(rows), tarry.delays.fixed(horizon=horizon, delay=0), np.ones(horizon)
    )
    scale, root = 2 / np.sqrt(5.5), factor * np.sqrt(horizon)
    bound = (1 / (2 * scale) + 2.75 * scale) * root + 3.5 * min(scale * np.sqrt(horizon - 1), 2.0) * factor
    assert tarry.simulate(game, SOLO(Ball(1))).regret[0] <= bound
    assert tarry.simulate(game, SOLO(Ball(1), scale=1e-4)).regret[0] > bound


@pytest.mark.parametrize(
    "domain",
    [
        Ball(3, radius=2.0, center=[1.0, 0.0, 0.0]),
        Box([-1.0, 0.0, 2.0], 3.0),
        Simplex(3, 2.0),
        Ellipsoid([[2.0, 0.5, 0.0], [0.5, 1.0, 0.1], [0.0, 0.1, 3.0]], 1.5, [0.3, -0.2, 1.0]),
        Product(Ball(2), Box([-1.0], [2.0])),
        Shift(Product(Box([0.0], [1.0]), Simplex(2)), [1.0, -2.0, 0.5]),
    ],
)
def test_least_points_are_least(domain):
    for cost in RNG.normal(size=(20, 3)):
        point = np.empty(3)
        least(domain, cost, point)
        assert tarry.domains.contains(domain, point)
        assert cost @ point == pytest.approx(cost @ domain.linear_minimiser(cost))


def test_fpl_follows_the_perturbed_leader():
    noise = np.array([[0.3, 0.9, 0.1]])
    domain = Simplex(3)
    found = play(FPL(domain, spread=2.0), draws=tarry.Recorded(directions=np.repeat(noise, HORIZON, 0))).plays()
    for t in range(HORIZON):
        total = 2.0 * noise[0] + sum((WEIGHTS[s] * ROWS[s] for s in range(t) if s + DELAYS[s] < t), np.zeros(3))
        assert np.array_equal(found[t], domain.linear_minimiser(total))


def test_fpl_in_the_mean_is_below_its_bound_and_without_noise_is_not():
    """Each loss falls on the action that has suffered least: the leader without noise pays nearly all of them."""
    horizon, domain = 400, Simplex(2)
    rows = np.zeros((horizon, 2))
    rows[0] = [0.5, 0.0]
    rows[np.arange(1, horizon), np.arange(1, horizon) % 2] = 1.0
    game = tarry.WeightedGame(
        domain, tarry.losses.Linear(rows), tarry.delays.fixed(horizon=horizon, delay=0), np.ones(horizon)
    )
    learner = FPL.tuned(domain, size=1.0, span=1.0, width=2.0, horizon=horizon, total_delay=0)
    bound = 2 * np.sqrt(2 * horizon)
    assert tarry.simulate(game, learner, seeds=20).regret.mean() <= bound
    assert tarry.simulate(game, FPL(domain, spread=1e-3), seeds=3).regret.mean() > bound


@pytest.mark.parametrize("k", slow_but([1, 50, 1000], {1, 50}))
@pytest.mark.parametrize(
    "make",
    [
        lambda d: AdaptiveRevision(d, 0.5),
        lambda d: AdaDelay(d, 9.0, 8),
        SOLO,
        AdaFTRL,
        lambda d: ODFTRL(d, 2.0, hint="mean"),
        lambda d: FPL(d, 1.0),
    ],
)
def test_dimensions_and_zero_weights(make, k):
    rows, domain = RNG.normal(size=(30, k)), Ball(k)
    other, weights = rows.copy(), np.ones(30)
    weights[::3] = 0.0
    other[::3] = 7.0
    delays = RNG.integers(0, 9, 30)
    found = play(make(domain), delays, weights, rows).plays()
    assert np.array_equal(found, play(make(domain), delays, weights, other).plays())


@pytest.mark.parametrize(
    ("make", "kind", "sentence"),
    [
        (lambda: AdaptiveRevision(UNIT, scale=0.0), ValueError, "scale must be positive"),
        (lambda: AdaptiveRevision(UNIT, scale=1.0, floor=0.0), ValueError, "floor must be positive"),
        (lambda: AdaDelay(UNIT, 1.0, max_delay=-1), ValueError, "max_delay must be a whole number"),
        (lambda: SOLO(UNIT, scale=-1.0), ValueError, "scale must be positive"),
        (lambda: FPL(Product(UNIT, CUSTOM), 1.0), TypeError, "needs a formula for least points"),
        (lambda: FPL(UNIT, 0.0), ValueError, "spread must be positive"),
    ],
)
def test_refusals(make, kind, sentence):
    with pytest.raises(kind, match=sentence):
        make()
