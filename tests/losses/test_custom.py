"""A user's own losses."""

from __future__ import annotations

import numpy as np
import pytest

from tarry.losses import Callables, Custom, drifting


def value(row, x):
    return row[0] * x[0]


def gradient(row, x, out):
    out[0] = row[0]


def test_custom_takes_rows_or_a_generator():
    listed = Custom([[2.0], [3.0]], value, gradient, dimension=1)
    assert (listed.horizon, listed.value([2.0], 2)) == (2, 6.0)
    assert Custom(drifting(4, rng=1), value, gradient, dimension=1).horizon is None


def test_unknown_bounds_are_infinite():
    loss = Custom([[2.0]], value, gradient, dimension=1)
    assert loss.gradient_bound(None) == loss.value_bound(None) == np.inf
    assert loss.strong_convexity == 0.0


def test_callables_hand_over_a_copy():
    seen = []
    loss = Callables(lambda x, t: seen.append(x) or 0.0, lambda x, t: x, dimension=1, horizon=None)
    x = np.ones(1)
    loss.value(x, 10)
    x[0] = 2.0
    assert seen[0][0] == 1.0
    assert loss.horizon is None


@pytest.mark.parametrize(
    ("build", "error", "sentence"),
    [
        (lambda: Custom([[1.0]], 3, gradient, dimension=1), TypeError, "value must be a function, got int"),
        (
            lambda: Custom([[1.0]], value, gradient, dimension=0),
            ValueError,
            "dimension must be a whole number",
        ),
        (
            lambda: Custom([[1.0]], value, gradient, dimension=1, gradient_bound=np.nan),
            ValueError,
            "gradient_bound must not be negative, got nan",
        ),
        (
            lambda: Custom([[np.nan]], value, gradient, dimension=1),
            ValueError,
            "rows must be finite, got nan",
        ),
        (
            lambda: Callables(value, gradient, dimension=1, horizon=0),
            ValueError,
            "horizon must be a whole number of at least 1, or None, got 0",
        ),
        (
            lambda: Callables(value, lambda x, t: [1, 2], dimension=1, horizon=2).gradient([1.0], 1),
            ValueError,
            r"gradient\(x, t\) must return 1 entries, got shape \(2,\)",
        ),
        (
            lambda: Callables(value, lambda x, t: [np.nan], dimension=1, horizon=2).gradient([1.0], 1),
            ValueError,
            r"gradient\(x, t\) must be finite",
        ),
        (
            lambda: Callables(lambda x, t: np.inf, gradient, dimension=1, horizon=2).value([1.0], 2),
            ValueError,
            r"value\(x, t\) must be finite, got inf in round 2",
        ),
    ],
)
def test_errors_are_sentences(build, error, sentence):
    with pytest.raises(error, match=sentence):
        build()
