"""Tails of the tracking set: brute force over coins, the real scheduler, and the lemma's constants."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from casework import agree
from hypothesis import given as drawn
from hypothesis import strategies as st

from tests.oracles import theory

DELAYS = st.lists(st.integers(0, 12), min_size=1, max_size=30)


def pending(delays, t):
    """B_t by its definition, rounds from 1, delays cut to the horizon."""
    n = len(delays)
    return [s for s in range(1, t) if t <= s + min(delays[s - 1], n - s)]


def pareto(capacity, safety, s, age):
    return min(1.0, capacity / (safety * sum(1 / j for j in range(1, s + 1)) * (age + 1)))


@pytest.mark.cases("backlog")
def test_backlogs(given, expected):
    assert theory.backlogs(given["delays"]).tolist() == expected["sigma"]


@drawn(DELAYS)
def test_backlogs_and_peaks_by_definition(delays):
    n = len(delays)
    sigma = [len(pending(delays, t)) for t in range(1, n + 1)]
    cut = [min(d, n - 1 - i) for i, d in enumerate(delays)]
    peaks = [max(sigma[i : i + cut[i] + 1]) for i in range(n)]
    assert theory.backlogs(delays).tolist() == sigma
    assert theory.life_peaks(delays).tolist() == peaks
    assert sum(sigma) == sum(cut)
    assert max(sigma) <= min(math.sqrt(2 * sum(cut)), max(cut))
    assert sum(peaks) <= 2 * sum(cut)


@pytest.mark.cases("tails")
def test_survival_worked_cases(given, expected):
    if given["scheduler"] != "pareto":
        return  # one number, no shape
    survival = theory.pareto_survival(given["C"])
    for s, row in zip(given["rounds"], expected["tail"], strict=True):
        agree(survival(np.full(len(given["d"]), float(s)), np.array(given["d"], dtype=float)), row)


@drawn(DELAYS, st.integers(1, 5), st.floats(0.5, 20))
def test_sums_and_tails_by_definition(delays, capacity, safety):
    """Each pending round counts with its own H_s, and round t itself only in the lemma's sum."""
    survival = theory.pareto_survival(capacity, safety=safety)
    sums = theory.saturation_sums(delays, survival)
    tails = theory.saturation_tails(delays, survival, capacity)
    for t in range(1, len(delays) + 1):
        chances = [pareto(capacity, safety, s, t - s) for s in pending(delays, t)]
        agree(sums[t - 1], sum(chances) + pareto(capacity, safety, t, 0))
        agree(tails[t - 1], theory.poisson_binomial_tail(chances, capacity))


@pytest.mark.parametrize("capacity", [1, 2, 3, 5, 6])
def test_poisson_binomial_by_enumeration(capacity):
    chances = [0.1, 0.9, 0.5, 0.3, 1.0]
    total = 0.0
    for coins in itertools.product((0, 1), repeat=5):
        if sum(coins) >= capacity:
            total += math.prod(q if c else 1 - q for q, c in zip(chances, coins, strict=True))
    agree(theory.poisson_binomial_tail(chances, capacity), total)
    equal = sum(math.comb(9, j) * 0.3**j * 0.7 ** (9 - j) for j in range(capacity, 10))
    agree(theory.binomial_tail(9, 0.3, capacity), equal)
    agree(theory.poisson_binomial_tail([0.3] * 9, capacity), equal)
    assert theory.binomial_tail(capacity - 1, 0.3, capacity) == 0.0


def really_full(delays, chance, capacity):
    """P(|S_t| = C) of the coin scheduler, refusals and all, by enumerating the coins."""
    n = len(delays)
    full = np.zeros(n)
    for coins in itertools.product((False, True), repeat=n):
        weight = math.prod(chance if c else 1 - chance for c in coins)
        tracked: set[int] = set()
        for t in range(n):
            full[t] += weight * (len(tracked) == capacity)
            if coins[t] and len(tracked) < capacity:
                tracked.add(t)
            tracked -= {s for s in tracked if s + delays[s] <= t}
    return full


@pytest.mark.parametrize("delays", [[7, 6, 5, 4, 3, 2, 1, 0], [3, 1, 4, 1, 3, 2, 0, 0], [2] * 8])
def test_tails_are_above_the_real_scheduler(delays):
    for capacity, chance in ((1, 0.3), (2, 0.4), (3, 0.5)):
        real = really_full(delays, chance, capacity)
        bound = theory.saturation_tails(delays, theory.bernoulli_survival(chance), capacity)
        assert np.all(real <= bound + 1e-12)
        if delays[0] == 7:  # nothing leaves: full is full, refusals change nothing
            agree(bound, real)


@drawn(st.lists(st.integers(0, 60), min_size=1, max_size=80), st.integers(1, 20))
def test_the_papers_schedulers_meet_the_lemma(delays, capacity):
    top = int(theory.backlogs(delays).max())
    coin = theory.bernoulli_survival(min(1.0, capacity / (8 * (top + 1))))
    for survival in (theory.pareto_survival(capacity), coin):
        assert np.all(theory.saturation_condition(delays, survival, capacity))
        tails = theory.saturation_tails(delays, survival, capacity)
        chernoff = theory.chernoff_tail(theory.saturation_sums(delays, survival), capacity)
        assert np.all(tails <= chernoff * (1 + 1e-9) + 1e-300)
        assert np.all(chernoff <= math.exp(-capacity) * (1 + 1e-9))


def test_the_condition_is_about_an_eighth_of_the_capacity():
    survival = theory.bernoulli_survival(1 / 8)
    delays = np.arange(20)[::-1]
    held = theory.saturation_condition(delays, survival, capacity=10)
    assert held.tolist() == [t <= 10 for t in range(1, 21)]


@pytest.mark.parametrize("capacity", [1, 5, 40])
def test_chernoff_constants(capacity):
    """At C/8 the bound is below e^(−C) with room; C/6.306 would do, C/6.305 would not."""
    agree(theory.chernoff_tail(capacity / 8, capacity), math.exp(capacity * (7 / 8 - math.log(8))))
    assert theory.chernoff_tail(capacity / 6.306, capacity) < math.exp(-capacity)
    assert theory.chernoff_tail(capacity / 6.305, capacity) > math.exp(-capacity)
    assert theory.chernoff_tail([0.0, capacity, 2 * capacity], capacity).tolist() == [0.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("horizon", "capacity", "mean"),
    [(10**4, 11, 2.6), (10**4, 50, 27.9), (10**4, 100, 67.0), (10**6, 15, 3.1), (10**6, 100, 59.4)],
)
def test_poisson_means_of_the_specification(horizon, capacity, mean):
    ours = theory.poisson_mean(capacity, 1 / horizon)
    assert ours == pytest.approx(mean, abs=0.051)
    assert theory.poisson_tail(ours, capacity) == pytest.approx(1 / horizon)


def test_poisson_is_above_coins_of_the_same_mean():
    rng = np.random.default_rng(3)
    for _ in range(50):
        chances = rng.random(rng.integers(5, 60)) ** 3
        capacity = math.ceil(chances.sum()) + 1
        assert theory.poisson_binomial_tail(chances, capacity) <= theory.poisson_tail(chances.sum(), capacity)
