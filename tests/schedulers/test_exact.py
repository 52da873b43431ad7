"""Exact expectations on tiny games: every delay sequence of four rounds, every outcome of the draws."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations, pairwise, product

import numpy as np
import pytest
from marking import slow_but
from paths import overflow, varopt_paths

from tarry.schedulers import Bernoulli, Coin, Morris, Pareto, Priority, Proxy, VarOpt
from tarry.schedulers.base import RecordedLosers, RecordedProxies, RecordedUniforms
from tarry.testing import follow

HORIZON = 4
SEQUENCES = list(product(range(4), range(3), range(2), range(1)))
PAIRS = list(combinations(range(HORIZON), 2))
CAPACITIES = [1, 2, 3]


def moments(paths):
    """E[w_t] and E[w_s w_t] from (probability, weights)."""
    mean = sum(p * w for p, w in paths)
    pairs = {(s, t): sum(p * w[s] * w[t] for p, w in paths) for s, t in PAIRS}
    return mean, pairs


@pytest.mark.parametrize("capacity", CAPACITIES)
def test_varopt(capacity):
    for delays in SEQUENCES:
        paths = []
        for probability, lost, exact, *_ in varopt_paths(delays, capacity):
            draws = RecordedLosers(np.array(lost))
            found = follow(VarOpt(), delays, capacity=capacity, draws=draws).weight
            assert np.allclose(found, [float(w) for w in exact], rtol=1e-13, atol=0)
            assert sum(exact) == HORIZON
            paths.append((float(probability), found))
        mean, pairs = moments(paths)
        assert np.allclose(mean, 1.0, rtol=1e-12)
        assert max(pairs.values()) <= 1 + 1e-12


GRID = 84  # every chance in these games is a multiple of 1/84


def lost_in(delays, capacity, uniforms, t):
    padded = np.array([*uniforms, *[0.5] * (HORIZON - len(uniforms))])
    trace = follow(VarOpt(), delays, capacity=capacity, draws=RecordedUniforms(padded))
    gone = np.flatnonzero(trace.preempted_at == t)
    return int(gone[0]) + 1 if gone.size else t


def check_draws(delays, capacity, uniforms, members):
    """At every overflow, the uniforms that lose a member are as many as its exact chance says."""
    t = len(uniforms) + 1
    if t > HORIZON:
        return 0
    members = {**members, t: Fraction(1)}
    branches = [(0.5, members)]
    if len(members) > capacity:
        theta, chances = overflow(members, capacity)
        tried = (np.arange(GRID) + 0.5) / GRID
        losers = [lost_in(delays, capacity, [*uniforms, u], t) for u in tried]
        assert Counter(losers) == {s: int(q * GRID) for s, q in chances.items() if q > 0}
        first = {out: tried[losers.index(out)] for out in set(losers)}
        branches = [(u, {s: max(w, theta) for s, w in members.items() if s != o}) for o, u in first.items()]
    seen = len(branches)
    for u, survivors in branches:
        waiting = {s: w for s, w in survivors.items() if s + delays[s - 1] > t}
        seen += check_draws(delays, capacity, [*uniforms, u], waiting)
    return seen


@pytest.mark.parametrize("capacity", slow_but([1, 2], {2}))
def test_varopt_draws(capacity):
    assert sum(check_draws(delays, capacity, [], {}) for delays in SEQUENCES) > len(SEQUENCES)


def tail(kind, t, age, delay, capacity):
    """P(d'_t ≥ age) of the members below, written out again."""
    own = capacity / (1.5 * sum(1 / j for j in range(1, t + 1)))
    return {
        "pareto": min(1.0, own / (age + 1)),
        "coin": min(1.0, own / (delay + 1)),
        "bernoulli": 0.6,
        "table": [0.8, 0.5, 0.5, 0.2][age],
    }[kind]


FAMILY = {
    "pareto": Pareto(1.5),
    "coin": Coin(1.5),
    "bernoulli": Bernoulli(probability=0.6),
    "table": Proxy([0.8, 0.5, 0.5, 0.2]),
}


def law(kind, t, delay, capacity):
    """The proxy delays of round t that matter, with their probabilities."""
    reach = [tail(kind, t, age, delay, capacity) for age in range(HORIZON - t + 1)]
    chances = {-1: 1 - reach[0], np.inf: reach[-1]}
    chances |= {age: here - there for age, (here, there) in enumerate(pairwise(reach))}
    return [(proxy, chance) for proxy, chance in chances.items() if chance > 0]


@pytest.mark.parametrize("capacity", slow_but(CAPACITIES, {2}))
@pytest.mark.parametrize("kind", FAMILY)
def test_proxy_family(kind, capacity):
    """E[w_t] = P(room) exactly, and E[w_s w_t] ≤ 1."""
    saturated = False
    for delays in SEQUENCES:
        laws = [law(kind, t, d, capacity) for t, d in enumerate(delays, start=1)]
        paths, room = [], np.zeros(HORIZON)
        for outcome in product(*laws):
            probability = np.prod([chance for _, chance in outcome])
            proxies = RecordedProxies(np.array([proxy for proxy, _ in outcome], dtype=float))
            trace = follow(FAMILY[kind], delays, capacity=capacity, information="clairvoyant", draws=proxies)
            paths.append((probability, trace.weight))
            room += probability * (trace.before < capacity)
        mean, pairs = moments(paths)
        assert np.allclose(mean, room, rtol=1e-12)
        assert max(pairs.values()) <= 1 + 1e-12
        saturated |= bool(room.min() < 1)
    assert saturated


def morris_paths(delays, capacity, epsilon, uniforms=(), probability=1.0):
    """Every sequence of coins, with the chance each coin has in the state it meets."""
    t = len(uniforms) + 1
    padded = np.array([*uniforms, *[1.0] * (HORIZON - t + 1)])
    trace = follow(Morris(epsilon), delays, capacity=capacity, draws=RecordedUniforms(padded))
    if t > HORIZON:
        yield probability, trace
        return
    size = trace.before[t - 1]
    chance = (1 + epsilon) ** -float(size)
    if size == capacity or size == 0:
        yield from morris_paths(delays, capacity, epsilon, (*uniforms, 0.5), probability)
        return
    for u, share in ((chance * (1 - 1e-12), chance), (chance * (1 + 1e-12), 1 - chance)):
        yield from morris_paths(delays, capacity, epsilon, (*uniforms, u), probability * share)


@pytest.mark.parametrize("capacity", CAPACITIES)
def test_morris(capacity):
    for delays in SEQUENCES:
        paths = list(morris_paths(delays, capacity, 0.5))
        mean, pairs = moments([(p, trace.weight) for p, trace in paths])
        room = sum(p * (trace.before < capacity) for p, trace in paths)
        assert np.allclose(mean, room, rtol=1e-12)
        assert max(pairs.values()) <= 1 + 1e-12
        second = sum(p * trace.weight**2 for p, trace in paths)
        ends = np.arange(1, HORIZON + 1) + np.array(delays)
        backlog = np.array([sum(ends[s] > t for s in range(t)) for t in range(HORIZON)])
        assert np.all(second <= 1 + 0.5 * backlog + 1e-12)


def priority_weights(delays, capacity, uniforms):
    scheduler = Priority(allow_single=True)
    return follow(scheduler, delays, capacity=capacity, draws=RecordedUniforms(uniforms)).weight


TINY = 1e-12


@pytest.mark.parametrize("capacity", CAPACITIES)
def test_priority_given_the_other_uniforms(capacity):
    """w_t = 1{U_t < τ}/τ with τ fixed by the others: its integral over U_t is 1, exactly."""
    rng = np.random.default_rng(capacity)
    for delays in SEQUENCES:
        uniforms = rng.random(HORIZON)
        for t in range(HORIZON):
            others = uniforms.copy()
            others[t] = TINY
            weight = priority_weights(delays, capacity, others)[t]
            for u in (np.arange(4) + 0.5) / 4:
                others[t] = u
                expected = weight if u * weight < 1 else 0.0
                assert priority_weights(delays, capacity, others)[t] == expected


@pytest.mark.parametrize("capacity", slow_but(CAPACITIES, {2}))
def test_priority_pairs(capacity):
    """E[w_s w_t] = 1; with one slot, 0 for rounds whose lives overlap."""
    rng = np.random.default_rng(capacity + 10)
    grid = (np.arange(3) + 0.5) / 3
    for delays in SEQUENCES:
        uniforms = rng.random(HORIZON)
        for s, t in PAIRS:
            both = uniforms.copy()
            both[s], both[t] = TINY, 2 * TINY
            first, second = priority_weights(delays, capacity, both)[[s, t]]
            overlap = capacity == 1 and s + delays[s] >= t
            assert (first * second > 0) != overlap
            for u, v in product(grid, grid):
                both[s], both[t] = u, v
                found = np.prod(priority_weights(delays, capacity, both)[[s, t]])
                kept = u * first < 1 and v * second < 1
                assert np.isclose(found, first * second if kept else 0.0, rtol=1e-13)
