"""Second moments: the quoted constants, and our schedulers played plainly against their bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from casework import agree
from hypothesis import given as drawn
from hypothesis import strategies as st
from marking import slow_but

from tests.oracles import theory


def test_kappa_of_the_specification():
    quoted = {2: 8.49, 3: 3.71, 4: 2.41, 8: 1.04, 16: 0.50, 32: 0.25}
    for capacity, value in quoted.items():
        assert 3 * theory.kappa(capacity) == pytest.approx(value, abs=0.0051)
    for capacity in range(2, 60):
        literal = (capacity / (capacity - 1)) ** 2 / math.factorial(capacity) ** (1 / capacity)
        agree(theory.kappa(capacity), literal)
        assert literal <= math.e * capacity / (capacity - 1) ** 2
    with pytest.raises(ValueError, match="at least 2, got 1"):
        theory.kappa(1)


@pytest.mark.parametrize(("capacity", "peak", "delay"), [(2, 2, 0), (4, 30, 5), (8, 200, 200), (8, 9, 4000)])
def test_factor_literally(capacity, peak, delay):
    short = math.e * (delay + 1) ** (1 / capacity) * peak / (capacity - 1)
    long = theory.kappa(capacity) * (1 + (capacity - 1) * delay / peak) ** (1 / capacity) * peak
    agree(theory.moment_factor(capacity, peak, delay), min(short, long))
    assert theory.moment_factor(capacity, capacity - 1, delay) == 1.0
    assert theory.moment_factor(1, [0, 1], delay).tolist() == [1.0, np.inf]


@drawn(st.lists(st.integers(0, 60), min_size=1, max_size=120), st.integers(2, 12))
def test_sums_and_order(delays, capacity):
    """Theorem 3 (v), a limit below both, and a bound that falls with the capacity where it is above one."""
    moments = theory.priority_moments(delays, capacity)
    sigma = theory.backlogs(delays)
    game = {"horizon": len(delays), "total_delay": int(sigma.sum()), "capacity": capacity}
    assert moments.sum() <= theory.moment_total(**game) * (1 + 1e-12)
    assert np.all(moments >= 1.0)
    assert theory.moment_limit(delays, capacity) <= moments.mean() * (1 + 1e-12)
    assert theory.moment_limit(delays, capacity) <= theory.moment_reference(delays, capacity) * (1 + 1e-12)
    varopt = theory.varopt_moments(delays, capacity + 1)
    assert np.all(varopt <= moments)


@drawn(st.lists(st.integers(0, 200), min_size=1, max_size=150), st.integers(0, 20))
def test_level_is_above_every_moment(delays, extra):
    capacity = math.ceil(max(3.0, 1.0 + math.log(len(delays)))) + extra
    peak = int(theory.backlogs(delays).max())
    level = theory.moment_level(max_backlog=peak, capacity=capacity, horizon=len(delays))
    for below in (0, 1):
        factor = theory.moment_factor(capacity - below, theory.life_peaks(delays), np.minimum(delays, len(delays) - 1))
        assert factor.max() <= level * (1 + 1e-12)
    agree(level, max(1.0, math.e**2 * peak / (capacity - 2)))


def test_level_refuses_small_capacities():
    with pytest.raises(ValueError, match="give a level of your own"):
        theory.moment_level(max_backlog=5, capacity=7, horizon=2000)


@pytest.mark.parametrize(
    ("capacity", "name", "reference", "limit"),
    [(8, "fixed", 23.9, 23.5), (16, "fixed", 11.9, 11.7), (8, "bursts", 24.6, 14.7), (16, "bursts", 12.3, 7.4)],
)
def test_reference_and_limit_of_the_specification(capacity, name, reference, limit):
    t = np.arange(1, 2001)
    delays = np.full(2000, 200) if name == "fixed" else np.where((t - 1) // 250 % 2 == 0, 400, 3)
    assert theory.moment_reference(delays, capacity) == pytest.approx(reference, abs=0.051)
    assert theory.moment_limit(delays, capacity) == pytest.approx(limit, abs=0.051)


def priority(delays, capacity, rng):
    """The weights of one run of Priority, from its definition."""
    n, weights = len(delays), np.zeros(len(delays))
    rank, threshold, tracked = rng.random(n), np.ones(n), []
    for t in range(n):
        tracked.append(t)
        if len(tracked) > capacity:
            lost = max(tracked, key=lambda s: rank[s])
            tracked.remove(lost)
            for s in tracked:
                threshold[s] = min(threshold[s], rank[lost])
        for s in [s for s in tracked if s + delays[s] <= t]:
            weights[s] = 1 / threshold[s]
            tracked.remove(s)
    return weights


def varopt(delays, capacity, rng):
    """The weights of one run of VarOpt, θ by bisection."""
    n, weights = len(delays), np.zeros(len(delays))
    carried: dict[int, float] = {}
    for t in range(n):
        carried[t] = 1.0
        if len(carried) > capacity:
            w = np.array(list(carried.values()))
            low, high = 0.0, w.sum()
            for _ in range(60):
                theta = (low + high) / 2
                low, high = (theta, high) if np.minimum(1, w / theta).sum() > capacity else (low, theta)
            losing = 1 - np.minimum(1, w / high)
            lost = list(carried)[int(rng.choice(len(w), p=losing / losing.sum()))]
            del carried[lost]
            carried = {s: max(v, high) for s, v in carried.items()}
        for s in [s for s in carried if s + delays[s] <= t]:
            weights[s] = carried.pop(s)
    return weights


@pytest.mark.parametrize("play", [priority, varopt])
@pytest.mark.parametrize("shape", slow_but(["fixed", "ramp", "mixed"], {"mixed"}))
def test_bounds_hold_for_played_schedulers(play, shape):
    n, capacity, runs = 40, 6, 300
    rng = np.random.default_rng(11)
    delays = {"fixed": np.full(n, 15), "ramp": np.arange(n)[::-1], "mixed": np.where(np.arange(n) % 3, 4, 30)}[shape]
    delays = np.minimum(delays, np.arange(n)[::-1])
    played = np.array([play(delays, capacity, rng) for _ in range(runs)])
    assert np.abs(played.mean(axis=0) - 1).mean() < 0.25
    bound = (theory.priority_moments if play is priority else theory.varopt_moments)(delays, capacity)
    squares = (played**2).mean(axis=0)
    assert squares.mean() <= bound.mean()
    assert squares.mean() >= 0.9 * theory.moment_limit(delays, capacity)
    if shape == "ramp" and play is priority:  # nothing leaves: E[w²] = (T−1)/(C−1) exactly
        assert squares.mean() == pytest.approx((n - 1) / (capacity - 1), rel=0.1)


def test_varopt_needs_three_slots_for_a_bound():
    assert np.all(np.isinf(theory.varopt_moments([3, 2, 1, 0], 2)[:3]))
    assert theory.varopt_moments([0, 0], 1).tolist() == [1.0, 1.0]
