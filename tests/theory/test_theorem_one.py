"""Theorem 1, parts (c), (d) and (f), and row 22 for VarOpt: the library's plays on every path of small games."""

from __future__ import annotations

from itertools import product
from math import inf, sqrt

import numpy as np
import pytest
from paths import varopt_paths

import tarry
from tarry import theory
from tests.oracles.theory import backlogs

DELAYS = list(product(*(range(4 - t) for t in range(4))))
SLOTS = [1, pytest.param(2, marks=pytest.mark.slow)]
BALL = tarry.domains.Ball(1)
TARGETS = [(1, 1, 1, 1), (1, 1, -1, -1)]


def expected_regret(losses, learner, delays, capacity):
    """The exact mean over all paths of a non-clairvoyant game."""
    waits = tarry.delays.array(delays)
    game = tarry.Game(learner.domain, losses, waits, capacity=capacity, information="non-clairvoyant")
    return sum(
        float(path.probability) * tarry.simulate(game, learner, draws=tarry.Recorded(lost=path.lost)).regret[0]
        for path in varopt_paths(delays, capacity)
    )


def curved_bound(delays, steep, part):
    """(c) or (d), λ = 1 and D = 2."""
    sigma, t = backlogs(delays), np.arange(1, len(delays) + 1)
    if part == "c":
        return steep**2 * float(np.sum((0.5 + sigma) / t))
    late = min(steep**2 * float(np.sum(sigma[1:] / t[:-1])), 2 * steep * sqrt(2 * sigma.sum()))
    return 2 * late + 0.5 * steep**2 * float(np.sum(1 / t))


@pytest.mark.parametrize("part", ["c", "d"])
@pytest.mark.parametrize("capacity", SLOTS)
def test_strongly_convex(part, capacity):
    """f_t(x) = ½(x − a_t)², whose gradients on [−1, 1] are at most 2, with λ = 1."""
    rate = tarry.rates.inverse_time(1.0) if part == "c" else tarry.rates.BestOfBoth(1.0, 2.0, 2.0)
    learner, largest = tarry.learners.DWFTRL(BALL, rate=rate, start=[-1.0]), 0.0
    for delays in DELAYS:
        bound = curved_bound(delays, 2.0, part)
        for targets in TARGETS:
            rows = np.array(targets, dtype=float)[:, None]
            losses = tarry.losses.Quadratic(rows, strong_convexity=1.0)
            found = expected_regret(losses, learner, delays, capacity)
            assert found <= bound + 1e-12
            largest = max(largest, found / bound)
    assert largest > 0.6, "else anything would pass"
    # A control: without the price of delays, the bound of games in which nothing is late, it fails.
    late = expected_regret(
        tarry.losses.Quadratic(np.ones((4, 1)), strong_convexity=1.0), learner, (3, 2, 1, 0), capacity
    )
    assert late > 1.5 * curved_bound((0, 0, 0, 0), 2.0, part)


@pytest.mark.parametrize("capacity", SLOTS)
def test_experts(capacity):
    largest = 0.0
    for delays in DELAYS:
        tuned = theory.experts_tuning(actions=2, cost=theory.varopt_costs(delays, capacity).cost)
        learner = tarry.learners.EntropicFTRL(2, tuned.rate)
        for signs in TARGETS:
            rows = np.array([(sign, -sign) for sign in signs], dtype=float)
            found = expected_regret(tarry.losses.Linear(rows), learner, delays, capacity)
            assert found <= tuned.bound + 1e-12
            largest = max(largest, found / tuned.bound)
    assert largest > 0.6, "else anything would pass"


@pytest.mark.parametrize("capacity", [1, 2, 3])
def test_squares_and_pairs_of_row_22(capacity):
    """Σ E[w_t²] + Σ E[w_t w_s] ≤ T + (1 + min{1, (C+1)/C²})d_tot, which is what (B) asks for at a constant radius."""
    least = inf
    for delays in DELAYS:
        pairs = [(s, t) for t in range(len(delays)) for s in range(t) if s + delays[s] >= t]
        found = 0
        for path in varopt_paths(delays, capacity):
            w = path.weights
            found += path.probability * (sum(x * x for x in w) + sum(w[s] * w[t] for s, t in pairs))
        allowed = len(delays) + (1 + min(1, (capacity + 1) / capacity**2)) * sum(delays)
        assert found <= allowed + 1e-12
        least = min(least, allowed - float(found)) if sum(delays) else least
    assert least < 1e-9 or capacity > 1, "at one slot it is an equality"
