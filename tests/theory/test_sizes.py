"""VarOpt by size: its theorems by exact enumeration, and the library's weights and rates against the same paths."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
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


def test_the_bound_says_what_it_needs():
    known = {"diameter": 1.0, "gradient_bound": 1.0, "horizon": 2}
    for extra in ({}, {"delays": [0, 0], "total_delay": 0}, {"delays": [0, 0], "strong_convexity": 1.0}):
        with pytest.raises(ValueError, match=r"sizes need delays=… in place of total_delay"):
            tarry.theory.varopt_bound(**known, sizes=[1.0, 2.0], **extra)
    for sizes, words in (([1.0], "must have 2 entries"), ([1.0, 0.0], "must be positive")):
        with pytest.raises(ValueError, match=words):
            tarry.theory.varopt_bound(**known, sizes=sizes, delays=[0, 0])


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
        given = {"horizon": n, "sizes": [float(b) for b in sizes], "delays": delays}
        assert tarry.theory.varopt_bound(diameter=2.0, gradient_bound=1.0, **given) == pytest.approx(stated)
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


def variance_of(theta, size):
    """The most that an overflow adds, for numbers between 0 and 1 for each unit of size."""
    return theta * theta / 4 if theta < 2 * size else size * (theta - size)


@pytest.mark.parametrize("capacity", [1, 2])
def test_how_far_sums_stray(capacity):
    """E M² ≤ E Λ for every choice of numbers, by all paths; one slot attains it, and Λ without sizes is too small."""
    nearest, control = Fraction(0), Fraction(0)
    for delays, sizes in drawn(12, 5, seed=8):
        paths = list(varopt_paths(delays, capacity, sizes))
        mean = [
            sum(
                p.probability * sum(add(p.thresholds[t], b) for t, b in enumerate(sizes) if p.thresholds[t])
                for p in paths
            )
            for add in (variance_of, lambda theta, size: variance_of(theta, 1))
        ]
        for share in product((0, 1), repeat=len(sizes)):
            told = [b * y for b, y in zip(sizes, share, strict=True)]
            strayed = [sum((w - 1) * y for w, y in zip(p.weights, told, strict=True)) for p in paths]
            square = sum(p.probability * m * m for p, m in zip(paths, strayed, strict=True))
            assert square <= mean[0]
            if square:
                nearest, control = max(nearest, square / mean[0]), max(control, square / max(mean[1], Fraction(1, 9)))
    assert control > 1
    assert capacity > 1 or nearest > Fraction(4, 5)


def test_intervals_of_sums_by_size_cover():
    rng = np.random.default_rng(3)
    sizes = 1000 * rng.lognormal(0, 1, 300)
    paid = sizes * (rng.random(300) < 0.3)
    waits = tarry.delays.array(np.where(paid > 0, 60, 5))
    record = replay(tarry.schedulers.VarOpt(), waits, capacity=4, seeds=40, keep_rounds=True, sizes=sizes)
    found = np.array([record.sum_interval(paid, seed=seed) for seed in range(40)])
    assert np.all((found[:, 0] <= paid.sum()) & (paid.sum() <= found[:, 1]))
    assert np.all(found[:, 1] - found[:, 0] < sizes.sum())  # more is known than the range alone
    with pytest.raises(ValueError, match="for each unit of size"):
        record.sum_interval(paid, high=0.5)


def test_a_join_has_them_too():
    join = tarry.LabelJoin(capacity=2, rng=1)
    sizes = [20.0, 900.0, 35.0, 5.0, 60.0]
    for size in sizes:
        join.decide(size=size)
    for i, size in enumerate(sizes):
        join.label(i + 1, 0.5 * size)
    found = join.estimate()
    assert found.caveat == ""
    assert found.sum_low <= 0.5 * sum(sizes) <= found.sum_high <= sum(sizes)
    assert found.sum_low >= 450  # of the basket of 900, which was heard for sure
    assert join.estimate(high=0.4).caveat.startswith("a label was 0.5 for each unit of size")


@pytest.mark.parametrize("first", [1e-2, 5000.0])
def test_the_first_size_does_not_matter_to_the_width(first):
    join, wait = tarry.LabelJoin(capacity=8, rng=1), 20
    sizes = [first, *5000 * np.random.default_rng(2).lognormal(0, 1, 1000)]
    for t in range(1, len(sizes) + wait + 1):
        if t <= len(sizes):
            join.decide(size=sizes[t - 1])
        if t > wait:
            join.label(t - wait, 0.5 * sizes[t - wait - 1])
    found = join.estimate()
    assert found.sum_low < 0.5 * sum(sizes) < found.sum_high
    assert found.sum_high - found.sum_low < 0.5 * sum(sizes)


def test_labels_at_the_edge_of_the_range():
    """0.7 · b / b may be above 0.7 by rounding."""
    join = tarry.LabelJoin(capacity=None, rng=1)
    for i, size in enumerate(np.random.default_rng(3).lognormal(0, 1, 50), 1):
        join.decide(size=size)
        join.label(i, 0.7 * size)
    assert join.estimate(high=0.7).caveat == ""


def test_games_with_sizes_are_compared_and_hashed():
    def game(sizes):
        waits = tarry.delays.fixed(horizon=3, delay=1)
        return tarry.Game(BALL, tarry.losses.Linear(np.ones((3, 1))), waits, capacity=2, sizes=sizes)

    assert game([1, 2, 3]) == game([1, 2, 3])
    assert hash(game([1, 2, 3])) == hash(game([1, 2, 3]))
    assert game([1, 2, 3]) != game([1, 2, 4])
    assert game(None) != game([1, 2, 4])
    with pytest.raises(ValueError, match="read-only"):
        game([1, 2, 3]).sizes[0] = 9.0
