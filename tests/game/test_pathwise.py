"""The pathwise DW-OCO inequality, on instances that can break it, and the books that compute it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recount import Heard, by_arrival

import tarry
from tests.oracles.theory import backlog_sums, bound_from_sums


def _instance(seed, horizon, adversarial):
    rng = np.random.default_rng(seed)
    delays = rng.integers(0, horizon, horizon)
    weights = np.where(rng.random(horizon) < 0.4, 0.0, rng.exponential(2.0, horizon))
    k = int(rng.integers(1, 4))
    rows = np.ones((horizon, k)) if adversarial else rng.normal(size=(horizon, k))
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    rates = np.minimum.accumulate(rng.uniform(0.05, 1.0, horizon)) if rng.random() < 0.5 else np.full(horizon, 0.3)
    return delays, weights, rows, rates


def _weighted_regret(record, losses, weights, point):
    rounds = range(1, record.horizon + 1)
    best = np.array([losses.value(point, t) for t in rounds])
    return float(np.sum(weights * (record.rounds()["loss"].to_numpy() - best)))


@given(seed=st.integers(0, 10**6), horizon=st.integers(1, 40), adversarial=st.booleans(), half=st.booleans())
def test_convex(seed, horizon, adversarial, half):
    delays, weights, rows, rates = _instance(seed, horizon, adversarial)
    domain, losses = tarry.domains.Ball(rows.shape[1]), tarry.losses.Linear(rows)
    game = tarry.WeightedGame(domain, losses, tarry.delays.array(delays), weights)
    record = tarry.simulate(game, tarry.learners.DWFTRL(domain, rate=rates), keep_rounds=True)
    own, pairs = backlog_sums(weights, game.delays.values, rates)
    bound = bound_from_sums(diameter=2.0, gradient_bound=1.0, last_rate=rates[-1], own=own, pairs=pairs, sharpened=half)
    worst = domain.linear_minimiser((weights[:, None] * rows).sum(axis=0))
    assert _weighted_regret(record, losses, weights, worst) <= bound + 1e-9
    if weights.any():
        ends = np.arange(1, horizon + 1) + game.delays.values
        heard = [Heard(s, at, w, 1.0) for s, (at, w) in enumerate(zip(ends, weights, strict=True), 1)]
        by = by_arrival(heard, dict(enumerate((rates[0], *rates), 1)), horizon)
        np.testing.assert_allclose(record.bound[0], 2.0 / rates[-1] + sum(by), rtol=1e-10)
        assert _weighted_regret(record, losses, weights, worst) <= record.bound[0] + 1e-9
        assert record.bound[0] <= 2.0 / rates[-1] + 0.5 * own + pairs + 1e-9


@given(seed=st.integers(0, 10**6), horizon=st.integers(1, 40), half=st.booleans())
def test_strongly_convex(seed, horizon, half):
    delays, weights, rows, _ = _instance(seed, horizon, False)
    strength = 0.5
    domain, losses = (
        tarry.domains.Ball(rows.shape[1]),
        tarry.losses.Quadratic(rows, strong_convexity=strength),
    )
    rates = 1.0 / (strength * np.arange(1, horizon + 1))
    game = tarry.WeightedGame(domain, losses, tarry.delays.array(delays), weights)
    learner = tarry.learners.DWFTRL(domain, rate=tarry.rates.inverse_time(strength))
    record = tarry.simulate(game, learner, keep_rounds=True)
    total = max(weights.sum(), 1e-12)
    point = tarry.domains.nearest(domain, (weights[:, None] * rows).sum(axis=0) / total)
    own, pairs = backlog_sums(weights, game.delays.values, rates)
    increments = np.diff(np.concatenate(([0.0], 1.0 / rates)))
    distances = ((record.plays() - point) ** 2).sum(axis=1)
    first = float(np.sum((increments - weights * strength) / 2 * distances))
    gradient_bound = losses.gradient_bound(domain)
    bound = first + gradient_bound**2 * ((0.5 if half else 1.0) * own + pairs)
    assert _weighted_regret(record, losses, weights, point) <= bound + 1e-9


def test_the_sharpened_bound_is_attained_when_nothing_arrives():
    """All feedback late, equal unit gradients, weights 1: D²/(2η) is not reached, the rest is."""
    horizon, rate = 30, 0.02
    rows = np.ones((horizon, 1))
    domain = tarry.domains.Ball(1, radius=0.5)
    game = tarry.WeightedGame(
        domain,
        tarry.losses.Linear(rows),
        tarry.delays.array(horizon - 1 - np.arange(horizon)),
        np.ones(horizon),
    )
    record = tarry.simulate(game, tarry.learners.DWFTRL(domain, rate=rate, start=[0.5]), keep_rounds=True)
    regret = float(record.regret[0])
    assert regret == pytest.approx(horizon)  # x stays at the start, the comparator is one diameter away
    tuned = 1.0 / (np.sqrt(2 * (0.5 * horizon + horizon * (horizon - 1) / 2)))
    own, pairs = backlog_sums(np.ones(horizon), game.delays.values, np.full(horizon, tuned))
    bound = bound_from_sums(diameter=1.0, gradient_bound=1.0, last_rate=tuned, own=own, pairs=pairs)
    assert bound == pytest.approx(horizon)
    assert bound_from_sums(diameter=1.0, gradient_bound=1.0, last_rate=tuned, own=0.9 * own, pairs=0.9 * pairs) < regret
