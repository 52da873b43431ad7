"""Exponents: the line itself, how often its interval holds the truth, and whether there is a line at all."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tarry.reports.exponents import fit_exponent

X = np.array([1.0, 2.0, 4.0, 8.0, 16.0])


def coverage(draw, slope, trials=1500):
    rng = np.random.default_rng(5)
    found = [fit_exponent(X, draw(rng)) for _ in range(trials)]
    return np.mean([one.low <= slope <= one.high for one in found])


def test_the_line_is_that_of_scipy():
    runs = np.random.default_rng(1).gamma(3.0, size=(5, 7)) * X[:, None] ** 0.7
    found = fit_exponent(X, runs)
    line = stats.linregress(np.log(X), np.log(runs.mean(axis=1)))
    assert found.slope == pytest.approx(line.slope)
    assert found.level == pytest.approx(line.intercept)
    assert found.at(X) == pytest.approx(np.exp(line.intercept + line.slope * np.log(X)))
    square, _, _ = np.polyfit(np.log(X), np.log(runs.mean(axis=1)), 2)
    assert found.bend == pytest.approx(2 * square * np.log(X[-1] / X[0]))


@pytest.mark.parametrize("seeds", [4, 12])
def test_the_interval_covers_where_seeds_err_apart(seeds):
    def draw(rng):
        return 3.0 * X[:, None] ** 0.5 * (1.0 + 0.2 * rng.standard_normal((5, seeds)))

    assert 0.925 < coverage(draw, 0.5) < 0.995


def test_the_interval_covers_where_a_seed_errs_everywhere_at_once():
    def draw(rng):
        shared, own = 0.4 * rng.standard_normal(8), 0.05 * rng.standard_normal((5, 8))
        return 3.0 * X[:, None] ** 0.5 * (1.0 + shared + own)

    assert 0.92 < coverage(draw, 0.5) < 0.98


def test_the_interval_covers_where_a_seed_tilts_the_law():
    def draw(rng):
        return X[:, None] ** 0.5 * (1.0 + 0.05 * rng.standard_normal(8) * np.log(X)[:, None])

    assert 0.92 < coverage(draw, 0.5) < 0.98


def law(bend, noise, seeds, rng):
    """Runs of x^0.6 whose slope changes by ``bend`` from the first x to the last."""
    u = np.log(X) - np.log(X).mean()
    means = 3.0 * np.exp(0.6 * u + bend * u**2 / (2 * np.log(X[-1] / X[0])))
    return means[:, None] * (1.0 + noise * rng.standard_normal((5, seeds)))


@pytest.mark.parametrize("bend", [0.0, 0.4])
def test_the_interval_of_the_bend_covers(bend):
    rng = np.random.default_rng(8)
    found = [fit_exponent(X, law(bend, 0.1, 8, rng)) for _ in range(1500)]
    assert 0.925 < np.mean([abs(one.bend - bend) <= one.bend_half for one in found]) < 0.98


def test_a_bent_curve_near_its_line_is_no_power_law():
    """A slope that goes from 0.4 to 0.8 over these x: every mean is within 15 % of the line, and there is no slope."""
    runs = law(0.4, 0.01, 8, np.random.default_rng(9))
    found, means = fit_exponent(X, runs), runs.mean(axis=1)
    assert np.abs(np.log(means / found.at(X))).max() < np.log(1.15)
    assert (found.is_straight, found.is_bent) == (False, True)
    straight = fit_exponent(X, law(0.0, 0.01, 8, np.random.default_rng(9)))
    assert (straight.is_straight, straight.is_bent) == (True, False)


def test_noise_settles_nothing():
    rng = np.random.default_rng(10)
    loud = [fit_exponent(X, law(0.0, 0.5, 4, rng)) for _ in range(200)]
    assert np.mean([one.is_straight for one in loud]) < 0.02
    assert np.mean([one.is_bent for one in loud]) < 0.12
    bent = [fit_exponent(X, law(0.25, 0.05, 8, rng)) for _ in range(500)]
    assert np.mean([one.is_straight for one in bent]) < 0.05, "what bends beyond the fence is seldom called straight"


def test_a_mean_off_the_line_is_found_where_the_parabola_is_flat():
    runs = X[:, None] ** 0.5 * np.array([1.0, 1.5, 1.0, 1 / 1.5, 1.0])[:, None] * np.array([0.99, 1.0, 1.01])
    found = fit_exponent(X, runs)
    assert abs(found.bend) < 1e-9
    assert found.is_bent


def test_errors_that_seeds_share_cancel():
    rng = np.random.default_rng(2)
    shared = np.exp(rng.standard_normal(10))
    together = fit_exponent(X, X[:, None] ** 0.5 * shared)
    apart = fit_exponent(X, X[:, None] ** 0.5 * rng.permuted(np.tile(shared, (5, 1)), axis=1))
    assert together.high - together.low < 1e-9
    assert apart.high - apart.low > 0.1


def test_seeds_that_were_not_run_everywhere():
    rng = np.random.default_rng(3)
    runs = X[:, None] ** 0.5 * (1.0 + 0.1 * rng.standard_normal((5, 6)))
    few = runs.copy()
    few[0, 3:] = np.nan
    kept = fit_exponent(X, few)
    assert kept.points == 5
    assert kept.high - kept.low > fit_exponent(X, runs).high - fit_exponent(X, runs).low
    disjoint = np.full((5, 30), np.nan)
    for i in range(5):
        disjoint[i, 6 * i : 6 * i + 6] = runs[i]
    errors = runs.std(axis=1, ddof=1) / np.sqrt(6) / runs.mean(axis=1)
    pulls = (np.log(X) - np.log(X).mean()) / np.sum((np.log(X) - np.log(X).mean()) ** 2)
    expected = stats.t.ppf(0.975, 5) * np.sqrt(np.sum((pulls * errors) ** 2))
    found = fit_exponent(X, disjoint)
    assert (found.high - found.low) / 2 == pytest.approx(expected)


def test_one_seed_leaves_the_interval_unknown():
    found = fit_exponent(X, X[:, None])
    assert found.slope == pytest.approx(1.0)
    assert np.isnan(found.low)
    assert np.isnan(found.high)
    assert (found.is_straight, found.is_bent) == (False, False)


def test_means_without_a_logarithm_are_left_out():
    runs = np.vstack((X[:, None] * np.ones(3), [[-1.0, -2.0, 1.0]]))
    found = fit_exponent([*X, 32.0], runs)
    assert (found.points, found.slope) == (5, pytest.approx(1.0))


def test_means_of_huge_values_are_finite():
    found = fit_exponent([1.0, 2.0], [[1e308, 1.2e308], [1e308, 1.2e308]])
    assert found.slope == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("x", "runs", "sentence"),
    [
        ([1.0, 2.0], [[-1.0], [3.0]], "two different x > 0"),
        ([2.0, 2.0], [[1.0], [3.0]], "two different x > 0"),
        ([1.0, 2.0], [[1.0, 3.0]], "a row for each of 2 x"),
        ([1.0, 2.0, 4.0], [[1.0], [np.inf], [3.0]], "1 infinite value"),
        ([1.0, 2.0, 4.0], [[1.0], [2.0], [-np.inf]], "1 infinite value"),
    ],
)
def test_refusals(x, runs, sentence):
    with pytest.raises(ValueError, match=sentence):
        fit_exponent(x, runs)
