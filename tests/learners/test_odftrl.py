"""Optimistic delayed FTRL: its definition in plain Python, DW-FTRL as the case without hints, and its bound."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tarry
from tarry.domains import Ball, Box, Simplex, nearest
from tarry.learners import DWFTRL, ODFTRL, EntropicFTRL
from tarry.learners.optimistic import HINTS

RNG = np.random.default_rng(29)


def plays_of(learner, rows, delays, weights):
    game = tarry.WeightedGame(learner.domain, tarry.losses.Linear(rows), tarry.delays.array(delays), weights)
    return tarry.simulate(game, learner, keep_rounds=True).plays()


def pending(delays, t):
    return [s for s in range(t) if s + delays[s] >= t]


def hint_before(hint, rows, weights, delays, t):
    """h_t, from what has arrived before round t in the order of arrival."""
    seen = sorted((s + delays[s], s) for s in range(t) if s + delays[s] < t and weights[s] > 0)
    if hint == "none" or not seen:
        return np.zeros(rows.shape[1])
    order = [s for _, s in seen]
    times = 1 if hint == "previous" else len(pending(delays, t)) + 1
    if hint == "mean":
        return times * np.average(rows[order], axis=0, weights=weights[order])
    return times * weights[order[-1]] * rows[order[-1]]


@pytest.mark.parametrize("hint", HINTS)
def test_it_is_what_its_definition_says(hint):
    horizon, strength = 40, 1.7
    rows, weights = RNG.normal(size=(horizon, 3)), RNG.exponential(size=horizon)
    delays = tarry.delays.array(RNG.integers(0, 7, horizon)).values
    domain = Box([-1.0, -0.5, 0.0], [1.0, 2.0, 0.7])
    found = plays_of(ODFTRL(domain, strength, hint=hint, start=[0.1, 0.2, 0.3]), rows, delays, weights)
    for t in range(1, horizon):
        total = sum((weights[s] * rows[s] for s in range(t) if s + delays[s] < t), np.zeros(3))
        total = total + hint_before(hint, rows, weights, delays, t)
        expected = nearest(domain, np.array([0.1, 0.2, 0.3]) - total / strength)
        assert found[t] == pytest.approx(expected, abs=1e-12)


def test_without_hints_it_is_dwftrl_and_exponential_weights():
    rows, weights, delays = RNG.normal(size=(50, 4)), RNG.exponential(size=50), RNG.integers(0, 9, 50)
    pairs = [
        (ODFTRL(Ball(4), 2.5), DWFTRL(Ball(4), rate=0.4)),
        (ODFTRL.entropic(4, 2.5), EntropicFTRL(4, rate=0.4)),
    ]
    for ours, other in pairs:
        ours, other = (plays_of(learner, rows, delays, weights) for learner in (ours, other))
        np.testing.assert_allclose(ours, other, atol=1e-12)


def bound_on_regret(learner, rows, weights, delays, hint, order, psi):
    cost = 0.0
    for t in range(len(rows)):
        missing = sum((weights[s] * rows[s] for s in [*pending(delays, t), t]), np.zeros(rows.shape[1]))
        error = np.linalg.norm(hint_before(hint, rows, weights, delays, t) - missing, ord=order)
        size = weights[t] * np.linalg.norm(rows[t], ord=order)
        cost += (error**2 - max(0.0, error - size) ** 2) / 2
    return learner.strength * psi + cost / learner.strength


@given(st.integers(0, 10**6), st.sampled_from(HINTS), st.booleans(), st.booleans())
def test_regret_is_below_the_bound_on_every_path(seed, hint, entropic, steady):
    rng = np.random.default_rng(seed)
    horizon, k = int(rng.integers(1, 16)), int(rng.integers(2, 4))
    rows = rng.normal(size=(horizon, k))
    if steady:
        rows[:] = rows[0]
    delays = tarry.delays.array(rng.integers(0, 1 + int(rng.integers(0, 8)), horizon)).values
    weights = rng.exponential(size=horizon) * rng.integers(0, 2, horizon)
    strength = float(rng.uniform(0.1, 5))
    learner = ODFTRL.entropic(k, strength, hint=hint) if entropic else ODFTRL(Ball(k), strength, hint=hint)
    plays = plays_of(learner, rows, delays, weights)
    total = weights @ rows
    best = total.min() if entropic else -np.linalg.norm(total)
    regret = np.sum(weights[:, None] * rows * plays) - best
    psi = log(k) if entropic else 0.5
    assert psi <= learner.span
    assert regret <= bound_on_regret(learner, rows, weights, delays, hint, np.inf if entropic else 2, psi) + 1e-9


@pytest.mark.parametrize("hint", ["none", "recent"])
def test_the_bound_can_fail_and_a_right_hint_takes_the_delay_away(hint):
    """One gradient over and over, d rounds late: regret is within a factor 3 of the bound."""
    horizon, delay = 60, 9
    rows, ones, delays = np.tile([1.0, 0.0], (horizon, 1)), np.ones(horizon), np.full(horizon, delay)
    learner = ODFTRL(Ball(2), 25.0, hint=hint)
    cut = tarry.delays.array(delays).values
    plays = plays_of(learner, rows, delays, ones)
    regret = np.sum(rows * plays) + horizon
    bound = bound_on_regret(learner, rows, ones, cut, hint, 2, 0.5)
    assert bound / 3 <= regret <= bound
    known = np.arange(delay + 1, horizon) + (1 if hint == "recent" else -delay)  # all of them, or those that came
    assert plays[delay + 1 :, 0] == pytest.approx(-np.minimum(1.0, known / 25.0), abs=1e-12)


def test_the_tuning_is_the_best_of_its_bound():
    learner = ODFTRL.tuned(Ball(3), gradient_bound=2.0, horizon=50, total_delay=300)
    worst = learner.strength * learner.span + 4.0 * (25 + 300) / learner.strength
    assert worst == pytest.approx(2.0 * 2.0 * np.sqrt(50 + 600))


@pytest.mark.parametrize("k", [1, 1000])
def test_dimensions(k):
    rows = np.random.default_rng(k).normal(size=(20, k))
    found = plays_of(ODFTRL(Ball(k), 3.0, hint="recent"), rows, np.full(20, 3), np.ones(20))
    assert np.all(np.isfinite(found))
    if k > 1:
        assert np.all(np.isfinite(plays_of(ODFTRL.entropic(k, 3.0, hint="mean"), rows, np.full(20, 3), np.ones(20))))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: ODFTRL(Ball(2), 0.0), "strength must be"),
        (lambda: ODFTRL(Simplex(2), 1.0, hint="future"), "hint must be one of"),
        (lambda: ODFTRL.entropic(1, 1.0), "dimension"),
    ],
)
def test_refusals(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_only_hints_that_count_need_acknowledgements():
    assert [ODFTRL(Ball(2), 1.0, hint=hint).needs_acknowledgements for hint in HINTS] == [False, True, False, True]
