"""Calibration: each answer is just on the safe side of its target, and the quoted gains are there."""

from __future__ import annotations

import math

import numpy as np
import pytest
from casework import agree
from hypothesis import given as drawn
from hypothesis import strategies as st

from tarry.theory import bernoulli_survival, saturation_condition
from tests.oracles import theory


@drawn(st.integers(0, 500), st.integers(1, 40), st.floats(-30, -0.1))
def test_probability_is_the_largest(backlog, capacity, exponent):
    target = math.exp(exponent)
    p = theory.calibrated_probability(max_backlog=backlog, capacity=capacity, target=target)
    if backlog < capacity:
        assert p == 1.0
        return
    assert theory.binomial_tail(backlog, p, capacity) <= target
    assert theory.binomial_tail(backlog, min(1.0, p * (1 + 1e-9)), capacity) > target
    assert p <= theory.calibrated_probability(max_backlog=backlog, capacity=capacity + 1, target=target)


def test_gains_over_the_papers_probability():
    """1.3 to 2.9 times at e^(−C), up to 7 times at 10⁻³."""

    def gain(backlog, capacity, target):
        p = theory.calibrated_probability(max_backlog=backlog, capacity=capacity, target=target)
        return p / min(1.0, capacity / (8 * (backlog + 1)))

    grid = [(n, c) for c in (8, 16, 32, 64) for n in (2 * c, 200, 1000) if n > c]
    strict = [gain(n, c, math.exp(-c)) for n, c in grid]
    loose = [gain(n, c, 1e-3) for n, c in grid]
    assert min(strict) > 1.3
    assert max(strict) < 2.95
    assert 5 < max(loose) < 7


@pytest.mark.parametrize("delays", [[30] * 90, [0, 9] * 40, list(range(60))[::-1]])
@pytest.mark.parametrize(("capacity", "target"), [(2, 0.2), (5, 1e-2), (8, 1e-4)])
def test_safety_is_the_smallest(delays, capacity, target):
    safety = theory.calibrated_safety(capacity=capacity, target=target, delays=delays)
    if theory.backlogs(delays).max() < capacity:
        assert safety == 0.0
        return

    def worst(s):
        return theory.saturation_tails(delays, theory.pareto_survival(capacity, safety=s), capacity).max()

    assert worst(safety) <= target < worst(safety * (1 - 1e-5))


def test_safety_of_the_worst_shape_serves_every_shape():
    rng = np.random.default_rng(5)
    worst = theory.calibrated_safety(capacity=6, target=1e-3, horizon=80)
    everywhere = theory.calibrated_safety(capacity=6, target=1e-3)
    assert worst <= everywhere < 16
    for _ in range(8):
        delays = (rng.random(80) ** 3 * 80).astype(int)
        assert theory.calibrated_safety(capacity=6, target=1e-3, delays=delays) <= worst * (1 + 1e-5)


@pytest.mark.parametrize("capacity", [1, 2, 4, 16])
def test_universal_safety_on_the_longest_delays(capacity):
    safety = theory.calibrated_safety(capacity=capacity, target=1e-2)
    tails = theory.saturation_tails(np.arange(400)[::-1], theory.pareto_survival(capacity, safety=safety), capacity)
    assert tails.max() <= 1e-2


def test_the_harmonic_sum():
    heights = np.cumsum(1.0 / np.arange(1, 2001))
    sums = [np.sum(1.0 / (heights[:t] * np.arange(t, 0, -1))) for t in range(1, 2001)]
    assert 1.2264 < max(sums) <= 1.2265
    assert int(np.argmax(sums)) + 1 == 5


def test_one_source_of_delays():
    with pytest.raises(ValueError, match="not both"):
        theory.calibrated_safety(capacity=2, target=0.1, delays=[3], horizon=4)


def climbed(epsilon, rounds, capacity):
    """P(|S| = C) after so many rounds of Morris when nothing leaves: a chain that only climbs, exactly."""
    chance = np.zeros(capacity + 1)
    chance[0] = 1.0
    odds = np.append((1.0 + epsilon) ** -np.arange(capacity), 0.0)
    for _ in range(rounds):
        chance = chance * (1 - odds) + np.append(0.0, (chance * odds)[:-1])
    return float(chance[-1])


@pytest.mark.parametrize("capacity", [2, 3, 6, 12])
@pytest.mark.parametrize("backlog", [1, 5, 40])
def test_morris_tail_is_above_the_chain(backlog, capacity):
    for epsilon in (0.05, 0.3, 0.5, 1.0, 3.0):
        game = {"epsilon": epsilon, "backlog": backlog, "capacity": capacity}
        real = climbed(epsilon, backlog, capacity)
        assert real <= theory.morris_tail(**game) * (1 + 1e-9)
        if backlog >= capacity:
            assert theory.morris_tail(**game) <= theory.morris_markov_tail(**game) * (1 + 1e-9)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_moment_recursion_is_exact_without_departures(order):
    """E[(1+ε)^(k|S|)] = Σ_j binom(n, j) Π((1+ε)^i − 1) at k = 1, and below that sum for larger k."""
    epsilon, n = 0.4, 12
    chance = np.zeros(n + 1)
    chance[0] = 1.0
    odds = (1.0 + epsilon) ** -np.arange(n + 1)
    for _ in range(n):
        chance = chance * (1 - odds) + np.append(0.0, (chance * odds)[:-1])
    exact = float(chance @ (1 + epsilon) ** (order * np.arange(n + 1)))
    formula = sum(
        math.comb(n, j) * math.prod((1 + epsilon) ** i - 1 for i in range(order - j + 1, order + 1))
        for j in range(order + 1)
    )
    if order == 1:
        agree(exact, formula)
        agree(theory.morris_moments(n, epsilon=epsilon), formula)
    assert exact <= formula * (1 + 1e-12)


def test_morris_numbers_of_the_specification():
    game = {"backlog": 200, "capacity": 16}
    assert theory.morris_markov_tail(**game, epsilon=0.35) == pytest.approx(0.58, abs=0.005)
    assert theory.morris_markov_tail(**game, epsilon=0.5) == pytest.approx(0.15, abs=0.005)
    assert theory.morris_tail(**game, epsilon=0.35) == pytest.approx(0.30, abs=0.005)
    assert theory.morris_tail(**game, epsilon=0.5) == pytest.approx(0.0003, abs=0.00005)
    assert theory.morris_epsilon(max_backlog=200, capacity=16, target=1e-3) < 0.5
    assert theory.morris_epsilon(max_backlog=500, capacity=16, target=1e-3) == pytest.approx(0.6, abs=0.01)


def test_morris_tail_is_the_least_over_orders():
    """The early stop finds the minimum over k; computed here with whole numbers and fractions of logs."""
    for epsilon, n, c in ((0.5, 200, 16), (0.2, 30, 8), (1.0, 1000, 12), (0.05, 20, 18)):
        best = min(
            math.fsum(
                math.comb(n, j) * math.prod((1 + epsilon) ** i - 1 for i in range(k - j + 1, k + 1))
                for j in range(min(k, n) + 1)
            )
            * (1 + epsilon) ** (-k * c)
            for k in range(41)
        )
        assert theory.morris_tail(epsilon=epsilon, backlog=n, capacity=c) <= best * (1 + 1e-9)


@pytest.mark.parametrize(("backlog", "capacity", "target"), [(200, 16, 1e-3), (10, 2, 0.3), (5000, 32, 1e-6)])
def test_morris_epsilon_is_the_smallest(backlog, capacity, target):
    epsilon = theory.morris_epsilon(max_backlog=backlog, capacity=capacity, target=target)
    game = {"backlog": backlog, "capacity": capacity}
    tails = [theory.morris_tail(epsilon=e, **game) for e in np.geomspace(epsilon / 4, epsilon * 4, 41)]
    assert theory.morris_tail(epsilon=epsilon, **game) <= target
    assert theory.morris_tail(epsilon=epsilon * (1 - 1e-5), **game) > target
    assert np.all(np.diff(tails) <= 1e-12)


def test_morris_tail_at_a_backlog_of_just_the_capacity():
    """All of the first C must enter, with odds 1·q·…·q^(C−1), q = 1/(1+ε): a tight bound tends to that."""
    for epsilon in (0.1, 1.0):
        exact = (1 + epsilon) ** (-6 * 5 / 2)
        agree(climbed(epsilon, 6, 6), exact)
        assert theory.morris_tail(epsilon=epsilon, backlog=6, capacity=6) == pytest.approx(exact, rel=1e-6)


def test_morris_needs_two_slots():
    assert theory.morris_epsilon(max_backlog=3, capacity=4, target=0.1) == 0.0
    with pytest.raises(ValueError, match="one slot is always full"):
        theory.morris_epsilon(max_backlog=3, capacity=1, target=0.1)


def test_morris_regret_bounds():
    game = {"epsilon": 0.5, "horizon": 1000, "total_delay": 20_000}
    full = (1000 + 0.5 * 20_000) * 1.5**-20
    agree(theory.morris_costs(**game, capacity=20).saturation, full)
    root = (1000 + 2.5 * 20_000) ** 0.5
    flat = {"diameter": 2.0, "gradient_bound": 3.0, **game, "capacity": 20}
    agree(theory.morris_bound(**flat), 6 * (root + full))
    agree(theory.morris_bound(**flat, anytime=True), 6 * (1.5 * root + full))
    rate = theory.optimised_rate(diameter=2.0, gradient_bound=3.0, cost=theory.morris_costs(**game, capacity=20).cost)
    sigma = np.full(1000, 20)
    fixed = theory.expected_bound(
        diameter=2.0,
        gradient_bound=3.0,
        rates=np.full(1000, rate),
        moments=theory.morris_moments(sigma, epsilon=0.5),
        backlogs=sigma,
    )
    agree(fixed, 6 * root)
    running = theory.anytime_rates(sigma, diameter=2.0, gradient_bound=3.0, pending=2.5)
    moments = theory.morris_moments(sigma, epsilon=0.5)
    moved = theory.expected_bound(diameter=2.0, gradient_bound=3.0, rates=running, moments=moments, backlogs=sigma)
    assert 1.4 * 6 * root < moved <= 1.5 * 6 * root
    steps = 1 / np.maximum(1.0, np.arange(1000))
    agree(
        theory.morris_bound(gradient_bound=3.0, strong_convexity=2.0, **game, max_backlog=20, capacity=20),
        4.5 * np.sum(steps * (0.5 * (1 + 0.5 * 20) + 20)) + 4 * 4.5 * full,
    )
    agree(theory.morris_bound(**flat, saturation=2.0), 6 * (root + 2))


@pytest.mark.parametrize("chance", [0.0, -0.1, 1.5, float("nan")])
def test_a_coin_has_a_probability(chance):
    with pytest.raises(ValueError, match=r"^chance must be "):
        bernoulli_survival(chance)
    assert bernoulli_survival(1.0)(np.array([1.0]), np.array([0.0])).tolist() == [1.0]


@pytest.mark.parametrize("safety", [0.0, -8.0, float("nan")])
def test_a_safety_is_positive(safety):
    with pytest.raises(ValueError, match="safety must be positive"):
        saturation_condition([2, 1, 0], bernoulli_survival(0.5), capacity=8, safety=safety)
