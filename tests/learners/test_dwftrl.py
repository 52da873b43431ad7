"""DW-FTRL against delayed gradient descent and against its own definition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import tarry
from tarry.learners import DWFTRL
from tarry.rates import Constant, Power, Rule, Sequence, inverse_time
from tarry.rates.base import at

RNG = np.random.default_rng(3)


def _run(domain, rate, delays, weights, rows, **options):
    game = tarry.WeightedGame(domain, tarry.losses.Linear(rows), tarry.delays.array(delays), weights)
    return tarry.simulate(game, DWFTRL(domain, rate=rate, **options), keep_rounds=True).plays()


def test_without_active_projection_it_is_delayed_gradient_descent():
    horizon, k = 60, 4
    rows, weights = RNG.normal(size=(horizon, k)), RNG.exponential(size=horizon)
    delays = tarry.delays.array(RNG.integers(0, 15, horizon)).values
    rates = np.minimum.accumulate(RNG.uniform(0.01, 0.1, horizon))
    plays = _run(tarry.domains.Ball(k, radius=1e3), rates, delays, weights, rows)
    x = np.zeros(k)
    for t in range(horizon):
        np.testing.assert_allclose(plays[t], x, atol=1e-12)
        arrived = [s for s in range(t + 1) if s + delays[s] == t]
        x = x - rates[t] * sum((weights[s] * rows[s] for s in arrived), np.zeros(k))


def test_at_a_constant_rate_nothing_late_it_is_lazy_descent():
    """And, while no projection is active, plain gradient descent: what SGD with a fixed step plays."""
    horizon, k, rate = 80, 3, 0.3
    rows, ball = RNG.normal(size=(horizon, k)), tarry.domains.Ball(k)
    plays = _run(ball, rate, np.zeros(horizon, int), np.ones(horizon), rows)
    free = _run(tarry.domains.Ball(k, radius=1e3), rate, np.zeros(horizon, int), np.ones(horizon), rows)
    total, x, eager = np.zeros(k), np.zeros(k), np.zeros(k)
    for t in range(horizon):
        lazy = -rate * total
        np.testing.assert_allclose(plays[t], lazy / max(1.0, np.linalg.norm(lazy)), atol=1e-13)
        np.testing.assert_allclose(free[t], x, atol=1e-12)
        total, x = total + rows[t], x - rate * rows[t]
    assert np.sum(np.linalg.norm(free, axis=1) > 1) > 10, "projections that are never active would prove nothing"
    for row in rows[:-1]:
        eager = eager - rate * row
        eager = eager / max(1.0, np.linalg.norm(eager))
    assert np.linalg.norm(eager - plays[-1]) > 0.01, "lazy and eager descent differ here"


def test_it_is_the_argmin_it_says():
    horizon, k = 8, 2
    rows, weights = RNG.normal(size=(horizon, k)), RNG.exponential(size=horizon)
    delays = tarry.delays.array(RNG.integers(0, 3, horizon)).values
    rates = np.minimum.accumulate(RNG.uniform(0.3, 1.0, horizon))
    plays = _run(tarry.domains.Ball(k), rates, delays, weights, rows, start=[0.2, -0.1])
    increments = np.diff(np.concatenate(([0.0], 1 / rates)))
    for t in range(horizon - 1):
        total = sum((weights[s] * rows[s] for s in range(t + 1) if s + delays[s] <= t), np.zeros(k))

        def objective(x, total=total, t=t):
            distances = ((x - plays[: t + 1]) ** 2).sum(axis=1)
            return x @ total + 0.5 * increments[: t + 1] @ distances

        ball = {"type": "ineq", "fun": lambda x: 1 - x @ x}
        best = minimize(objective, plays[t], constraints=ball, tol=1e-14)
        np.testing.assert_allclose(plays[t + 1], best.x, atol=1e-5)
        assert objective(plays[t + 1]) <= best.fun + 1e-9


def test_a_zero_weight_changes_nothing():
    horizon = 30
    rows, weights = RNG.normal(size=(horizon, 2)), RNG.exponential(size=horizon)
    weights[::3] = 0.0
    other = rows.copy()
    other[::3] = RNG.normal(size=other[::3].shape)
    delays = RNG.integers(0, 9, horizon)
    domain = tarry.domains.Ball(2)
    assert np.array_equal(_run(domain, 0.2, delays, weights, rows), _run(domain, 0.2, delays, weights, other))


@pytest.mark.parametrize(
    ("given", "values"),
    [
        (0.5, [0.5, 0.5, 0.5]),
        ([0.5, 0.4, 0.4], [0.5, 0.4, 0.4]),
        (inverse_time(2.0), [1 / 2, 1 / 4, 1 / 6]),
        (Power(1.0, 0.5, cap=0.8), [0.8, 2**-0.5, 3**-0.5]),
        (lambda t: 1.0 / (t + 1), [1 / 2, 1 / 3, 1 / 4]),
    ],
)
def test_rates(given, values):
    learner = DWFTRL(tarry.domains.Ball(1), rate=given)
    assert [at(learner.rate, t) for t in (1, 2, 3)] == pytest.approx(values)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Constant(0.0), "positive"),
        (lambda: Constant(np.nan), "positive"),
        (lambda: Sequence([0.1, 0.2]), "may not increase, got 0.1 at round 1 and 0.2 at round 2"),
        (lambda: Sequence([0.1, -0.2]), "positive"),
        (lambda: Power(1.0, -0.5), "exponent"),
        (lambda: Rule(lambda t: float(t)), "may not increase"),
        (lambda: DWFTRL(tarry.domains.Ball(2), rate=-1.0), "rate must be positive"),
        (lambda: DWFTRL(tarry.domains.Ball(2), rate=1.0, start=[2.0, 0.0]), "must lie in the domain"),
        (lambda: DWFTRL(tarry.domains.Ball(2), rate=1.0, start=[0.0]), "1 entries, the domain has 2"),
    ],
)
def test_refusals(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_a_sequence_must_cover_the_horizon():
    domain = tarry.domains.Ball(1)
    game = tarry.Game(domain, tarry.losses.Linear(np.ones((5, 1))), tarry.delays.fixed(horizon=5, delay=0))
    with pytest.raises(ValueError, match="3 rounds, the game has 5"):
        tarry.simulate(game, DWFTRL(domain, rate=[0.3, 0.2, 0.1]))


@pytest.mark.parametrize("k", [1, 1000])
def test_dimensions(k):
    rows = RNG.normal(size=(20, k))
    plays = _run(tarry.domains.Ball(k), 0.1, np.full(20, 3), np.ones(20), rows)
    assert np.all(np.linalg.norm(plays, axis=1) <= 1 + 1e-12)
