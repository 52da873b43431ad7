"""The simplex against exact rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.domains import Simplex, nearest


def exact_projection(x, scale):
    """Sort, find the threshold, clip: in fractions, so without any rounding."""
    values = [Fraction(float(v)) for v in x]
    total, threshold = Fraction(0), None
    for rank, value in enumerate(sorted(values, reverse=True), start=1):
        total += value
        candidate = (total - Fraction(float(scale))) / rank
        if value > candidate:
            threshold = candidate
    return np.array([float(max(Fraction(0), v - threshold)) for v in values])


entries = st.floats(-1e3, 1e3) | st.integers(-3, 3).map(float) | st.floats(1e9, 1e9 + 10)


@given(st.lists(entries, min_size=1, max_size=12), st.sampled_from([1e-3, 0.5, 1.0, 20.0]))
def test_projection_equals_exact_arithmetic(x, scale):
    found = nearest(Simplex(len(x), scale), x)
    assert np.max(np.abs(found - exact_projection(x, scale))) <= 1e-14 * scale * len(x)
    assert found.min() >= 0.0


@pytest.mark.parametrize("ratio", [0.5, 0.9, 0.999])
def test_entries_on_many_scales(ratio):
    x = 0.9 * ratio ** np.arange(300)
    assert nearest(Simplex(300), x) == pytest.approx(exact_projection(x, 1.0), abs=1e-13)


def test_sum_is_kept_to_rounding():
    x = np.random.default_rng(0).standard_normal(2000) + 1e6
    assert abs(nearest(Simplex(2000, 3.0), x).sum() - 3.0) <= 1e-12


def test_vertices_are_as_far_apart_as_the_diameter_says():
    simplex = Simplex(3, scale=2.0)
    first, second = (
        simplex.linear_minimiser(np.array([0.0, 1.0, 1.0])),
        simplex.linear_minimiser(np.array([1.0, 0.0, 1.0])),
    )
    assert np.linalg.norm(first - second) == pytest.approx(simplex.diameter, rel=1e-15)
    assert np.linalg.norm(first - simplex.center) == pytest.approx(simplex.outer_radius, rel=1e-15)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((0,), "dimension must be a whole number of at least 1, got 0"),
        ((2.5,), "dimension must be a whole number of at least 1, got 2.5"),
        ((float("nan"),), "dimension must be a whole number"),
        ((3, 0.0), "scale must be positive and finite, got 0.0"),
        ((3, float("inf")), "scale must be positive and finite, got inf"),
    ],
)
def test_bad_arguments(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        Simplex(*arguments)
