"""Intervals for a mean by one look: against SciPy, against the equation they solve, and by exact enumeration."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import isnan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from paths import varopt_paths
from scipy import stats
from scipy.optimize import brentq

from tarry.theory.intervals import Sample, mean_interval, student_interval


def sample(masses, values):
    """The sums of rows, from their definition."""
    m, z = np.asarray(masses, float), np.asarray(values, float)
    squares = np.sum(m * m)
    centre = np.sum(m * m * z) / squares if squares else 0.0
    return Sample(*map(float, (m.sum(), np.sum(m * z), squares, centre, np.sum((m * (z - centre)) ** 2))))


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_of_yes_and_no_it_is_scipys_wilson_with_continuity(level):
    for n in (1, 2, 7, 31, 200):
        for k in {0, 1, n // 3, n // 2, n - 1, n}:
            expected = stats.binomtest(k, n).proportion_ci(level, method="wilsoncc")
            found = mean_interval(sample(np.ones(n), [1] * k + [0] * (n - k)), 0.0, 1.0, level, 0.0, 1.0)
            assert found == pytest.approx((expected.low, expected.high), abs=1e-12)


def lower_end(masses, values, level):
    """Solve the equation in the module's docstring, for values between 0 and 1."""
    m, z = np.asarray(masses, float), np.asarray(values, float)
    n, f, c = m.sum() ** 2 / np.sum(m * m), np.sum(m * z) / m.sum(), stats.norm.ppf((1 + level) / 2)
    kappa = (f * (1 - f) - np.sum((m * (z - f)) ** 2) / np.sum(m * m)) * n / (n + c * c)
    start = f - 0.5 / n
    return brentq(lambda p: start - p - c * sqrt(max(0.0, p * (1 - p) - kappa) / n), -1.0, start, xtol=1e-14)


def test_labels_of_all_kinds_against_the_equation():
    rng = np.random.default_rng(1)
    for _ in range(50):
        m, y = rng.uniform(1, 3, 30), rng.uniform(0, 1, 30)
        found = mean_interval(sample(m, y), 0.0, 1.0, 0.9, 0.0, 1.0)
        assert found == pytest.approx((lower_end(m, y, 0.9), 1 - lower_end(m, 1 - y, 0.9)), abs=1e-9)


def test_what_is_not_heard_is_put_at_either_end():
    """As if the unheard rows, of the heaviest mass each, were there with all they could be."""
    rng, low, high = np.random.default_rng(2), -2.0, 3.0
    m, y = rng.uniform(1, 4, 25), rng.uniform(low, high, 25)
    whole = np.concatenate([m, [4.0] * 10])
    ends = [sample(whole, np.concatenate([y, [end] * 10])) for end in (low, high)]
    expected = [mean_interval(one, 0.0, 0.0, 0.95, low, high)[i] for i, one in enumerate(ends)]
    assert mean_interval(sample(m, y), 40.0, 4.0, 0.95, low, high) == pytest.approx(expected, abs=1e-12)


rows = st.lists(st.tuples(st.floats(0.5, 50), st.floats(0, 1)), min_size=1, max_size=30)


@given(rows, st.floats(0, 500), st.floats(0, 60), st.sampled_from([0.5, 0.95]), st.floats(-5, 5), st.floats(0.1, 9))
def test_it_has_width_lies_in_the_range_and_moves_with_it(drawn, unheard, heaviest, level, low, length):
    m, z = zip(*drawn, strict=True)
    found, high = sample(m, z), low + length
    lower, upper = mean_interval(found, unheard, heaviest, level, 0.0, 1.0)
    assert 0 <= lower <= found.mean + 1e-12
    assert found.mean - 1e-12 <= upper <= 1
    assert upper - lower > unheard / (found.mass + unheard)  # the share allows no less
    moved = mean_interval(sample(m, low + length * np.array(z)), unheard, heaviest, level, low, high)
    assert moved == pytest.approx((low + length * lower, low + length * upper), abs=1e-6)
    wider = mean_interval(found, unheard + 10.0, heaviest, level, 0.0, 1.0)
    assert wider[0] <= lower + 1e-12
    assert wider[1] >= upper - 1e-12


def test_before_the_first_label_it_is_the_range():
    assert mean_interval(sample([], []), 7.0, 2.0, 0.95, -1.0, 3.0) == (-1.0, 3.0)


def test_equal_labels_have_a_width_and_more_labels_a_smaller_one():
    widths = []
    for n in (1, 2, 30, 31, 1000):
        lower, upper = mean_interval(sample(np.ones(n), [0.3] * n), 0.0, 1.0, 0.95, 0.0, 1.0)
        assert lower < 0.3 < upper
        widths.append(upper - lower)
    assert widths == sorted(widths, reverse=True)
    assert all(isnan(end) for end in student_interval(sample(np.ones(1000), [0.3] * 1000), 1000, 0.95))


def test_students_against_scipy():
    y = [3.0, 1.0, 2.0, 7.0]
    expected = stats.t.interval(0.9, 3, np.mean(y), stats.sem(y))
    assert student_interval(sample(np.ones(4), y), 4, 0.9) == pytest.approx(expected, rel=1e-12)
    assert all(isnan(end) for end in student_interval(sample([1.0], [2.0]), 1, 0.9))


@pytest.mark.parametrize("capacity", [1, 2])
@pytest.mark.parametrize("sizes", [None, (1, 5, 2, 2, 9, 1)])
@pytest.mark.parametrize("window", [2, 3])
def test_sums_over_ended_windows_are_unbiased(capacity, sizes, window):
    """Whatever the labels are: each weight has the mean 1, in fractions."""
    horizon = 6
    ended = horizon - window  # the rows of these have come out
    means, chances = [Fraction(0)] * horizon, [Fraction(0)] * horizon
    for path in varopt_paths((window,) * horizon, capacity, sizes):
        for s, w in enumerate(path.weights):
            means[s] += path.probability * w
            chances[s] += path.probability * (w > 0)
    assert means == [1] * ended + [0] * window
    assert len(set(chances[:ended])) > 1, "the control: rows without weights stand for some decisions more than others"


def by_age(path, delays, labels):
    """Σwy less Σy over the decisions that are older than the oldest one tracked after the last round."""
    last = len(delays)
    tracked = [s for s in range(1, last + 1) if s not in path.lost and s + delays[s - 1] > last]
    older = range(min(tracked, default=last + 1) - 1)
    return sum((path.weights[s] - 1) * labels[s] for s in older)


def test_older_than_all_that_is_tracked_is_no_such_set():
    """Who is oldest depends on the draws: a slow decision is in the set if it was lost, out of it if kept."""
    slow = [(9, 9), (9, 0, 9, 9), (9, 9, 0, 0, 9)]
    for delays, capacity in product(slow, [1, 2]):
        if len(delays) > capacity:
            labels = [int(delay > 0) for delay in delays]
            lean = sum(path.probability * by_age(path, delays, labels) for path in varopt_paths(delays, capacity))
            assert lean < 0
    (one, two) = varopt_paths((9, 9), 1)
    assert {by_age(one, (9, 9), (1, 1)), by_age(two, (9, 9), (1, 1))} == {0, -1}  # each with chance 1/2
