"""Rates and radii: the main theorems' worked cases, and the tunings against the bounds they minimise."""

from __future__ import annotations

import numpy as np
import pytest
from casework import agree
from hypothesis import given as drawn
from hypothesis import strategies as st

from tests.oracles import theory


@pytest.mark.cases("schedules")
def test_worked_cases(given, expected):
    t = theory.rounds(given["T"])
    if given["kind"] == "oco_convex":
        rate = theory.convex_rate(
            diameter=given["D"], gradient_bound=given["G"], horizon=given["T"], total_delay=given["d_tot"]
        )
        agree(np.full(given["T"], rate), expected["etas"])
        return
    scale = {"value_bound": given["M"], "gradient_bound": given["G"], "inner_radius": given["r"]}
    spread = theory.spread_of(**scale, dimension=given["k"])
    agree(spread, expected["nu"] * given["k"])
    game = {"spread": spread, "max_backlog": given["sigma_max"], "capacity": given["C"]}
    if given["kind"] == "bco_convex":
        bounds = {"diameter": given["D"], "gradient_bound": given["G"]}
    else:
        bounds = {"strong_convexity": given["lam"]}
        agree(theory.strongly_convex_rate(t, strong_convexity=given["lam"]), expected["etas"])
    tuned = theory.bernoulli_bandit_tuning(t, **game, **bounds, inner_radius=given["r"])
    agree(tuned.smoothing, expected["deltas"])
    agree(tuned.rate, expected["etas"])


@pytest.mark.parametrize(("backlog", "capacity", "radius"), [(0, 1, 1.0), (7, 3, 0.5), (200, 16, 2.0)])
def test_bandit_schedules_literally(backlog, capacity, radius):
    value, steep, width, k = 3.0, 2.0, 5.0, 4
    nu = value / (steep * radius)
    game = {"spread": nu * k, "max_backlog": backlog, "capacity": capacity}
    for t in (1, 2, 17, 10**6, 10**9):
        delta = radius * min(1.0, (nu * k) ** 0.5 / t**0.25 * (1 + backlog / capacity) ** 0.25)
        eta = (width / steep) / (
            t**0.5 * (backlog + (nu * k / (delta / radius)) ** 2 * (1 + backlog / capacity)) ** 0.5
        )
        curved = radius * min(1.0, (nu**2 * k**2 * np.log(t + 1) / t) ** (1 / 3) * (1 + backlog / capacity) ** (1 / 3))
        flat = theory.bernoulli_bandit_tuning(t, diameter=width, gradient_bound=steep, inner_radius=radius, **game)
        agree(flat.smoothing, delta)
        agree(flat.rate, eta)
        bent = theory.bernoulli_bandit_tuning(t, strong_convexity=0.5, inner_radius=radius, **game)
        agree(bent.smoothing, curved)
        agree(bent.rate, 2 / t)


@drawn(st.floats(0.1, 100), st.integers(0, 500), st.integers(1, 64))
def test_schedules_fall_by_no_more_than_half(spread, backlog, capacity):
    t, game = theory.rounds(300), {"spread": spread, "max_backlog": backlog, "capacity": capacity}
    flat = theory.bernoulli_bandit_tuning(t, diameter=1.0, gradient_bound=1.0, **game)
    for values in (*flat, *theory.bernoulli_bandit_tuning(t, **game, strong_convexity=1.0)):
        assert np.all(np.diff(values) <= 1e-12)
        assert np.all(values[:-1] <= 2 * values[1:] * (1 + 1e-12))  # as both bandit proofs use


def test_optimised_rate_is_the_least_of_its_bound():
    def bound(eta):
        return 3.0**2 / (2 * eta) + 2.0**2 * eta * 170.0

    best = theory.optimised_rate(diameter=3.0, gradient_bound=2.0, cost=170.0)
    agree(bound(best), 6.0 * np.sqrt(2 * 170.0))
    assert bound(best) < min(bound(0.99 * best), bound(1.01 * best))


def test_optimised_rate_of_the_papers_chain():
    """D²/(2η) + 17G²η(d_tot + T): 5.83 in place of 18."""
    rate = theory.optimised_rate(diameter=1.0, gradient_bound=1.0, cost=17 * 100.0)
    assert 1 / (2 * rate) + 17 * rate * 100.0 == pytest.approx(34**0.5 * 10)


def test_costs():
    game = {"horizon": 400, "total_delay": 3000}
    assert theory.morris_costs(**game, epsilon=0.5, capacity=8).cost == 0.5 * 400 + 1.25 * 3000
    agree(theory.priority_costs(**game, capacity=2).cost, 200 + (1 + 1.5 * 4 / 2**0.5) * 3000)
    heights = theory.harmonic(400)
    agree(theory.pareto_costs(**game, capacity=10).cost, 0.5 * 1.6 * heights * 3400 + 3000)
    assert theory.pareto_costs(**game, capacity=1000).cost == 0.5 * 3400 + 3000


@pytest.mark.parametrize("name", ["anytime_rates", "bandit_anytime_rates"])
def test_anytime_rates_know_one_round_ahead(name):
    """η_{t−1} = D/(cG√Σ_{s≤t} b_s): the rate after t rounds holds σ_{t+1}, and the last repeats."""
    backlogs = np.array([0, 1, 2, 1, 0])
    bandit = {"spread": 2.0, "level": 3.0} if name.startswith("bandit") else {}
    rates = getattr(theory, name)(backlogs, diameter=2.0, gradient_bound=0.5, **bandit)
    for t in range(1, 6):
        total = 0.0
        for s in range(1, min(t + 1, 5) + 1):
            ratio = min(1.0, 2.0**0.5 * (3.0 / s) ** 0.25)
            total += 1.5 * backlogs[s - 1] + (2.0 / ratio) ** 2 * 3.0 if bandit else 1 + 2 * backlogs[s - 1]
        agree(rates[t - 1], 2.0 / ((2 if bandit else 1) * 0.5 * total**0.5))


@pytest.mark.parametrize("call", [lambda: theory.rounds(0), lambda: theory.strongly_convex_rate(1, strong_convexity=0)])
def test_refusals(call):
    with pytest.raises(ValueError, match="must be"):
        call()
