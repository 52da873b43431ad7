"""VarOpt by size: its theorems by exact enumeration, and the library's weights and rates against the same paths."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from paths import varopt_paths

import tarry
from tarry.game import replay

CAPACITIES = [1, 2, 3]
BALL = tarry.domains.Ball(1)


def drawn(count, longest, seed=5):
    """Random delays, and sizes between 1/4 and 6 of which some are equal."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n = int(rng.integers(3, longest + 1))
        yield [int(rng.integers(0, n - t)) for t in range(n)], [Fraction(int(rng.integers(1, 25)), 4) for _ in range(n)]


def backlog(delays, t):
    """B_t: the rounds before t that have not arrived before t."""
    return [s for s in range(1, t) if s + delays[s - 1] >= t]


def bound_of(delays, sizes, capacity, peak=2):
    """Σb² + (2/C) Σ_{σ_t ≥ C} b_t (b_t + Σ_{B_t} b_s)."""
    total = sum(b * b for b in sizes)
    for t in range(1, len(sizes) + 1):
        waiting = backlog(delays, t)
        if len(waiting) >= capacity:
            total += Fraction(peak, capacity) * sizes[t - 1] * (sizes[t - 1] + sum(sizes[s - 1] for s in waiting))
    return total


@pytest.mark.parametrize("capacity", CAPACITIES)
def test_unbiased_conserved_and_bounded(capacity):
    largest = 0
    for delays, sizes in drawn(25, 6):
        means, squares = [Fraction(0)] * len(sizes), Fraction(0)
        for path in varopt_paths(delays, capacity, sizes):
            means = [m + path.probability * w for m, w in zip(means, path.weights, strict=True)]
            pairs = list(zip(path.weights, sizes, strict=True))
            assert sum(w * b for w, b in pairs) == sum(sizes)
            squares += path.probability * sum((w * b) ** 2 for w, b in pairs)
        assert means == [1] * len(sizes)
        assert squares <= bound_of(delays, sizes, capacity)
        largest = max(largest, float(squares / bound_of(delays, sizes, capacity, peak=1)))
    assert largest > 1, "the control, half of what is added: else anything would pass"


@pytest.mark.parametrize("capacity", CAPACITIES)
def test_the_game_weighs_as_every_path_says(capacity):
    for delays, sizes in drawn(8, 5, seed=6):
        game = tarry.Game(
            BALL,
            tarry.losses.Linear(np.ones((len(sizes), 1))),
            tarry.delays.array(delays),
            capacity=capacity,
            sizes=[float(b) for b in sizes],
        )
        for path in varopt_paths(delays, capacity, sizes):
            draws = tarry.Recorded(lost=path.lost)
            record = tarry.simulate(game, tarry.learners.DWFTRL(BALL, rate=0.1), draws=draws, keep_rounds=True)
            assert np.allclose(record.rounds()["weight"], [float(w) for w in path.weights], rtol=1e-12, atol=0)


def test_who_may_not_be_lost_is_told():
    """The newcomer is heavier than θ: no record may lose it."""
    waits = tarry.delays.fixed(horizon=3, delay=3)
    game = tarry.Game(BALL, tarry.losses.Linear(np.ones((3, 1))), waits, capacity=2, sizes=[1, 1, 9])
    with pytest.raises(ValueError, match="lost in round 3 cannot be lost there"):
        tarry.simulate(game, tarry.learners.DWFTRL(BALL, rate=0.1), draws=tarry.Recorded(lost=[0, 0, 3]))


@pytest.mark.parametrize("capacity", [1, 2])
@pytest.mark.parametrize("information", ["non-clairvoyant", "semi-clairvoyant"])
def test_expected_regret_is_below_the_bound(capacity, information):
    """E R ≤ 1.5·D√(Σb² + 2Σ b_t Σ_{B_t} b_s) where |g_t| ≤ b_t, with rates from sizes and what is held."""
    learner, largest = tarry.learners.DWFTRL(BALL, rate=tarry.rates.Anytime(2.0, 1.0)), 0.0
    rng = np.random.default_rng(2)
    for delays, sizes in drawn(6, 5, seed=8):
        n = len(sizes)
        gradients = np.array([float(b) for b in sizes]) * rng.choice([1.0, -1.0], n)
        game = tarry.Game(
            BALL,
            tarry.losses.Linear(gradients[:, None]),
            tarry.delays.array(delays),
            capacity=capacity,
            information=information,
            sizes=[float(b) for b in sizes],
        )
        regret = 0.0
        for path in varopt_paths(delays, capacity, sizes):
            record = tarry.simulate(game, learner, draws=tarry.Recorded(lost=path.lost), bound=True)
            h, b = [float(x) for x in path.held(delays)], [float(x) for x in sizes]
            q = sum(x * x + 2 * x * y for x, y in zip(b, h[:n], strict=True))
            assert np.isclose(record.certificates[0].regularisation, 4 / 2 * sqrt(q) / 2, rtol=1e-12)
            regret += float(path.probability) * record.regret[0]
        waits = sum(sizes[t - 1] * sum(sizes[s - 1] for s in backlog(delays, t)) for t in range(1, n + 1))
        stated = 1.5 * 2 * sqrt(sum(b * b for b in sizes) + 2 * waits)
        assert regret <= stated
        largest = max(largest, regret / stated)
    assert largest > 0.3


def spread(sizes, delay, capacity, *, given, seeds):
    """Mean Σ(w − 1)²b²: the variance of Σ w b r for independent r of mean 0 and variance 1."""
    waits = tarry.delays.fixed(horizon=sizes.size, delay=delay)
    rules = {"capacity": capacity, "sizes": sizes if given else None, "keep_rounds": True}
    run = replay(tarry.schedulers.VarOpt(), waits, seeds=seeds, threads=1, **rules)
    return np.mean([np.sum(((run.heard(seed) - 1) * sizes) ** 2) for seed in run.seeds])


def test_the_error_of_a_sum_falls_as_the_theory_says():
    """E b²/(E b)² of these sizes, e for log-normal ones of σ = 1; measured within 15 %."""
    sizes = np.exp(np.random.default_rng(1).normal(0.0, 1.0, 1500))
    plain, sized = (spread(sizes, 150, 10, given=given, seeds=6) for given in (False, True))
    assert plain / sized == pytest.approx(np.mean(sizes**2) / np.mean(sizes) ** 2, rel=0.15)
    equal = np.full(300, 7.0)  # the control: no gain where all are alike
    assert spread(equal, 30, 5, given=True, seeds=4) == pytest.approx(spread(equal, 30, 5, given=False, seeds=4))
