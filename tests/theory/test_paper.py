"""The paper's numbers as printed, transcribed anew from its statements; its page has a row for each of its items."""

from __future__ import annotations

import re
from fractions import Fraction
from math import log, sqrt
from pathlib import Path

import numpy as np
import pytest

from tarry import schedulers, theory

PAGE = Path(__file__).parents[2] / "docs" / "paper.md"
ITEMS = ["Table 1", "Figure 1", "Figure 2", "Figure 3", "Algorithm 1", "DW-FTRL (1)", "DW-FTBL (2)"]
ITEMS += [f"Assumption 2.{n}" for n in range(1, 6)] + [f"Appendix {letter}" for letter in "ABCDEFG"]
ITEMS += [f"Theorem {n}" for n in ("2.7", "3.1", "3.2", "4.1", "5.1", "5.2", "B.3", "F.1")]
ITEMS += [f"Lemma {n}" for n in ("2.6", "4.3", "B.4", "C.1")] + [f"Corollary {n}" for n in ("4.4", "4.5", "G.1")]
ITEMS += [f"Remark {n}" for n in ("1.1", "4.2", "F.2")] + ["Fact B.1", "Fact B.2"]
ITEMS += [f"Open problem {n}" for n in (1, 2, 3)]


def same(ours, printed):
    np.testing.assert_allclose(ours, printed, rtol=1e-12, atol=0)


@pytest.mark.skipif(not PAGE.exists(), reason="installed without its documentation")
@pytest.mark.parametrize("item", ITEMS)
def test_every_item_has_a_row(item):
    assert re.search(rf"^\| {re.escape(item)}(?![.\d])", PAGE.read_text(encoding="utf-8"), re.M)


@pytest.mark.parametrize("seed", range(20))
def test_probabilities(seed):
    """Corollaries 4.4, 4.5 and G.1, with harmonic sums in whole fractions."""
    rng = np.random.default_rng(seed)
    capacity, t, age, peak = (int(n) for n in rng.integers(1, 60, 4))
    heights = sum(Fraction(1, j) for j in range(1, t + 1))
    tail = float(min(Fraction(1), Fraction(capacity) / (16 * heights * (age + 1))))
    same(schedulers.Pareto().survival(t=t, age=age, capacity=capacity), tail)
    same(schedulers.Coin().survival(t=t, delay=age, capacity=capacity), tail)
    same(theory.pareto_survival(capacity)(np.array([float(t)]), np.array([float(age)])), tail)
    coin = float(min(Fraction(1), Fraction(capacity, 8 * (peak + 1))))
    same(schedulers.Bernoulli(max_backlog=peak).survival(t=t, age=age, capacity=capacity), coin)


def test_lemma_and_fact_in_fractions():
    """All rounds pending to the end, C = 16: the left side of Lemma 4.3 is the sum of Fact B.2 twice, at most 2."""
    n, heights = 40, [Fraction(0)]
    for j in range(1, n + 1):
        heights.append(heights[-1] + Fraction(1, j))
    sums = [sum(1 / (heights[s] * (t - s + 1)) for s in range(1, t + 1)) for t in range(1, n + 1)]
    assert all(total / 2 <= 1 for total in sums)
    same(theory.saturation_sums(np.arange(n)[::-1], theory.pareto_survival(16)), [float(total) for total in sums])


@pytest.mark.parametrize("seed", range(20))
def test_rates_and_bounds(seed):
    rng = np.random.default_rng(seed)
    D, G, lam, M, r = rng.uniform(0.3, 3.0, 5)
    k, T, late, peak = (int(rng.integers(1, most)) for most in (9, 5000, 90_000, 400))
    C = int(log(T) + 2) + int(rng.integers(0, 50))
    known = {"gradient_bound": G, "horizon": T, "capacity": C}
    same(theory.convex_rate(diameter=D, gradient_bound=G, horizon=T, total_delay=late), D / G / sqrt(late + T))
    printed = 18 * G * D * sqrt(late + T) + G * D
    same(theory.pareto_bound(diameter=D, total_delay=late, **known), printed)
    heights = sum(1 / n for n in range(1, T + 1))
    printed = 18 * G**2 / lam * (peak + 1) * heights + 4 * G**2 / lam
    same(theory.bernoulli_bound(max_backlog=peak, strong_convexity=lam, **known), printed)
    nu = M / (G * r)
    spread = theory.spread_of(value_bound=M, gradient_bound=G, inner_radius=r, dimension=k)
    same(spread, nu * k)
    crowd, t = 1 + peak / C, int(rng.integers(1, T + 1))
    game = {"spread": spread, "max_backlog": peak, "capacity": C, "inner_radius": r}
    delta = r * min(1, sqrt(nu * k) / t**0.25 * crowd**0.25)
    tuning = theory.bernoulli_bandit_tuning(t, **game, diameter=D, gradient_bound=G)
    same(tuning.smoothing, delta)
    same(tuning.rate, D / G / (sqrt(t) * sqrt(peak + (nu * k / (delta / r)) ** 2 * crowd)))
    tuning = theory.bernoulli_bandit_tuning(t, **game, strong_convexity=lam)
    same(tuning.smoothing, r * min(1, (nu**2 * k**2 * log(t + 1) / t) ** (1 / 3) * crowd ** (1 / 3)))
    same(tuning.rate, 1 / (t * lam))
    # Line (c) of the proof with δ_tot/r at most 4/3 of the term in T^(3/4): 1 + 4/3 = 7/3 of it.
    power = T**0.75 * crowd**0.25 * sqrt(nu * k)
    printed = 145 * G * D * (sqrt(T * peak) + power + 4 / 3 * power + 1)
    same(theory.bernoulli_bandit_bound(spread=spread, diameter=D, max_backlog=peak, **known), printed)
    full = np.exp(-float(C)) * np.ones(T)
    same(theory.wrapper_bound(3.0, full, diameter=D, gradient_bound=G), 3.0 + G * D * T * np.exp(-float(C)))
    epochs = 0
    while 2**epochs - 1 < peak:
        epochs += 1
    printed = (epochs + 1) * D + sum(G * (2**j) ** 0.5 + M * 2**j for j in range(epochs + 1))
    same(theory.doubling_bound(D, [(G, 0.5), (M, 1.0)], max_backlog=peak), printed)
