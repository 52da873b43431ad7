"""The main theorems' constants: worked cases, and each sharpened form against a literal sum."""

from __future__ import annotations

import math

import numpy as np
import pytest
from casework import agree

from tests.oracles import theory

FIRST = {"diameter": 2.0, "gradient_bound": 1.5}
CURVED = {"gradient_bound": 1.5, "strong_convexity": 0.7}


@pytest.mark.cases("bounds")
def test_worked_cases(given, expected):
    if given["kind"] != "main":
        return  # the other kind is in test_weighted_bounds.py
    flat = {"diameter": given["D"], "gradient_bound": given["G"]}
    curved = {"gradient_bound": given["G"], "strong_convexity": given["lam"]}
    game = {"horizon": given["T"], "capacity": given["C"]}
    scale = {"value_bound": given["M"], "gradient_bound": given["G"], "inner_radius": given["r"]}
    bandit = {"spread": theory.spread_of(**scale, dimension=given["k"]), "max_backlog": given["sigma_max"], **game}
    agree(theory.pareto_bound(**flat, **game, total_delay=given["d_tot"]), expected["oco_convex"])
    agree(theory.bernoulli_bound(**curved, **game, max_backlog=given["sigma_max"]), expected["oco_sc"])
    agree(theory.bernoulli_bandit_bound(**flat, **bandit, line=True), expected["bco_convex_c"])
    agree(theory.bernoulli_bandit_bound(**flat, **bandit), expected["bco_convex_final"])
    agree(theory.bernoulli_bandit_bound(**curved, **bandit), expected["bco_sc_final"])


GRID = [(30, 9, 8), (1000, 40, 8), (1000, 3, 64), (200, 0, 7), (20000, 150, 11)]


@pytest.mark.parametrize(("horizon", "backlog", "capacity"), GRID)
@pytest.mark.parametrize("spread", [0.05, 1.0, 4.0])
def test_sharpened_is_below_printed(horizon, backlog, capacity, spread):
    game = {"horizon": horizon, "capacity": capacity}
    for total in (0, horizon * backlog):
        both = [theory.pareto_bound(**FIRST, **game, total_delay=total, sharpened=s) for s in (True, False)]
        assert both[0] < both[1]
    both = [theory.bernoulli_bound(**CURVED, **game, max_backlog=backlog, sharpened=s) for s in (True, False)]
    assert both[0] < both[1]
    bandit = {"spread": spread, "max_backlog": backlog, **game}
    line = theory.bernoulli_bandit_bound(**FIRST, **bandit, line=True)
    both = [theory.bernoulli_bandit_bound(**FIRST, **bandit, sharpened=s) for s in (True, False)]
    assert both[0] < line
    if spread**2 * (1 + backlog / capacity) < horizon:
        assert line <= both[1]
    both = [theory.bernoulli_bandit_bound(**CURVED, **bandit, sharpened=s) for s in (True, False)]
    assert both[0] < both[1]


@pytest.mark.parametrize(("horizon", "backlog", "capacity"), [(1, 0, 1), (30, 9, 8), (30, 2, 40), (50, 20, 3)])
def test_sharpened_literally(horizon, backlog, capacity):
    """Sum each proof's second line round by round with the scheduler's own moments."""
    width, steep, lam, spread = 2.0, 1.5, 0.7, 0.8
    inverse, full = max(1.0, 8 * (backlog + 1) / capacity), horizon * math.exp(-capacity)
    flat = curved = 0.0
    noisy = noisy_curved = drift = drift_curved = 0.0
    eta_before = None
    for t in range(1, horizon + 1):
        ratio = min(1.0, spread**0.5 * t**-0.25 * (1 + backlog / capacity) ** 0.25)
        ratio_curved = min(1.0, (spread**2 * math.log(t + 1) / t * (1 + backlog / capacity)) ** (1 / 3))
        eta = width / steep / (t**0.5 * (backlog + (spread / ratio) ** 2 * (1 + backlog / capacity)) ** 0.5)
        eta_before = eta if eta_before is None else eta_before
        step = 1 / (lam * max(1, t - 1))
        curved += step * (inverse / 2 + backlog)
        for_a = lambda a: a * a * inverse / 2 + a * (backlog * inverse) ** 0.5 + backlog  # noqa: E731
        noisy += eta_before * for_a(spread / ratio)
        noisy_curved += step * for_a(spread / ratio_curved)
        drift, drift_curved, eta_before = drift + ratio, drift_curved + ratio_curved, eta
    saturated = 4 * steep**2 / lam * full
    bandit = {"spread": spread, "max_backlog": backlog, "horizon": horizon, "capacity": capacity, "sharpened": True}
    agree(
        theory.bernoulli_bound(**CURVED, horizon=horizon, max_backlog=backlog, capacity=capacity, sharpened=True),
        steep**2 * curved + saturated,
    )
    agree(
        theory.bernoulli_bandit_bound(**FIRST, **bandit),
        width**2 / (2 * eta) + steep**2 * noisy + 3 * steep * width * drift + steep * width * full,
    )
    agree(
        theory.bernoulli_bandit_bound(**CURVED, **bandit),
        steep**2 * noisy_curved + 10 * steep**2 / lam * drift_curved + saturated,
    )
    total = horizon * backlog
    rate = width / steep / (total + horizon) ** 0.5
    top = max(1.0, 16 * sum(1 / t for t in range(1, horizon + 1)) / capacity)
    flat = width**2 / (2 * rate) + steep**2 * rate * (0.5 * top * (horizon + total) + total) + steep * width * full
    ours = theory.pareto_bound(**FIRST, horizon=horizon, total_delay=total, capacity=capacity, sharpened=True)
    agree(ours, flat)


def test_sharpened_without_delays_is_the_pathwise_bound():
    """All weights one, no backlog, no saturation: the wrapper adds nothing."""
    n, ones, none = 40, np.ones(40), np.zeros(40, dtype=int)
    rate = theory.convex_rate(**FIRST, horizon=n, total_delay=0)
    own, pairs = theory.backlog_sums(ones, none, np.full(n, rate))
    agree(
        theory.pareto_bound(**FIRST, horizon=n, total_delay=0, capacity=500, sharpened=True),
        theory.bound_from_sums(**FIRST, last_rate=rate, own=own, pairs=pairs),
    )
    t, game = theory.rounds(n), {"spread": 1.0, "max_backlog": 0, "capacity": 500}
    tuned = theory.bernoulli_bandit_tuning(t, **FIRST, **game, inner_radius=2.0)
    agree(
        theory.bernoulli_bandit_bound(**FIRST, **game, horizon=n, sharpened=True),
        theory.bandit_weighted_regret_bound(
            weights=ones,
            delays=none,
            rates=tuned.rate,
            smoothing=tuned.smoothing,
            **FIRST,
            value_bound=1.0,
            inner_radius=2.0,
            dimension=3,
            sharpened=True,
        ),
    )


def test_the_papers_bounds_are_vacuous_where_the_errata_say():
    """18 GD√(d_tot+T) + GD falls below GDT near T = 6.5·10⁴ at a mean delay of 200."""
    below = [
        theory.pareto_bound(diameter=1.0, gradient_bound=1.0, horizon=n, total_delay=200 * n, capacity=20) < n
        for n in (60_000, 70_000)
    ]
    assert below == [False, True]


def test_the_strongly_convex_bound_is_vacuous_where_the_errata_say():
    """18(σ+1)H_T + 4 falls below 2T, the most that is possible with D = 2G/λ, near T = 1.9·10⁴ at a backlog of 200."""
    unit = {"gradient_bound": 1.0, "strong_convexity": 1.0, "max_backlog": 200, "capacity": 20}
    assert [theory.bernoulli_bound(**unit, horizon=n) < 2 * n for n in (18_000, 20_000)] == [False, True]


def test_small_capacity_is_refused_as_printed_only():
    with pytest.raises(ValueError, match=r"at least ln T \+ 1 = 7.91, got 7"):
        theory.pareto_bound(**FIRST, horizon=1000, total_delay=0, capacity=7)
    assert theory.pareto_bound(**FIRST, horizon=1000, total_delay=0, capacity=7, sharpened=True) > 0


def test_wrapper_bound():
    assert theory.wrapper_bound(5.0, np.full(10, 0.1), diameter=3.0, gradient_bound=2.0) == pytest.approx(11.0)


@pytest.mark.cases("doubling")
def test_doubling_labels(given, expected):
    name = {"sigma": "backlog_labels", "two_dim": "pair_labels", "one_dim_labels": "total_labels"}[given["kind"]]
    assert getattr(theory, name)(given["delays"]).tolist() == expected["epoch"]


@pytest.mark.parametrize("backlog", [0, 1, 3, 4, 100])
def test_doubling_bound_counts_epochs(backlog):
    """Every epoch up to the last pays φ_0, and guesses 2^j − 1 pay (guess + 1)^b."""
    guesses = [0]
    while guesses[-1] < backlog:
        guesses.append(2 * guesses[-1] + 1)
    whole = sum(7.0 + 2.0 * (g + 1) ** 0.5 + 3.0 * (g + 1) for g in guesses)
    assert theory.doubling_bound(7.0, [(2.0, 0.5), (3.0, 1.0)], max_backlog=backlog) == pytest.approx(whole)
    assert len(guesses) <= 2 + math.log2(backlog + 1)


def test_doubling_refuses_a_constant_among_the_growing_terms():
    with pytest.raises(ValueError, match="move constant terms to free"):
        theory.doubling_bound(1.0, [(1.0, 0.0)], max_backlog=1)
