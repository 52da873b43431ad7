"""Linear and quadratic losses: formulas, offsets, attained bounds, errors."""

from __future__ import annotations

import numpy as np
import pytest

from tarry.domains import Ball
from tarry.losses import Distance, Linear, Quadratic, drifting
from tarry.losses.base import CHUNK

RNG = np.random.default_rng(5)
ROWS, OFFSETS, X = RNG.normal(size=(9, 4)), RNG.normal(size=9), RNG.normal(size=4)


def test_linear_formula():
    loss = Linear(ROWS, offsets=OFFSETS, ridge=0.4)
    for t in range(1, 10):
        assert loss.value(X, t) == pytest.approx(ROWS[t - 1] @ X + OFFSETS[t - 1] + 0.2 * X @ X, rel=1e-13)
        np.testing.assert_allclose(loss.gradient(X, t), ROWS[t - 1] + 0.4 * X, rtol=1e-13)
    assert loss.dimension == 4
    assert loss.rows.width == 5


def test_rows_are_copied_unless_they_cannot_change():
    table = np.array(ROWS)
    losses = Linear(table)
    table[:] = 7.0
    assert np.array_equal(losses.rows.values, ROWS)
    table.flags.writeable = False
    assert np.shares_memory(Linear(table).rows.values, table)
    assert Linear(table).rows.width == 4


def test_quadratic_formula():
    loss = Quadratic(ROWS, 0.6, offsets=OFFSETS, ridge=0.4)
    for t in range(1, 10):
        d = X - ROWS[t - 1]
        assert loss.value(X, t) == pytest.approx(0.3 * d @ d + OFFSETS[t - 1] + 0.2 * X @ X, rel=1e-13)
        np.testing.assert_allclose(loss.gradient(X, t), 0.6 * d + 0.4 * X, rtol=1e-12)
    assert loss.strong_convexity == 1.0


@pytest.mark.parametrize("make", [Linear, Quadratic])
def test_bounds_are_attained_on_a_ball(make):
    domain = Ball(2, radius=1.3, center=[0.5, -0.2])
    loss = make(ROWS[:, :2], offsets=OFFSETS)
    angle = np.linspace(0, 2 * np.pi, 800)
    rim = domain.center + 1.3 * np.column_stack((np.cos(angle), np.sin(angle)))
    rounds = range(1, 10)
    assert max(abs(loss.value(x, t)) for x in rim for t in rounds) == pytest.approx(loss.value_bound(domain), rel=1e-3)
    steepest = max(float(np.linalg.norm(loss.gradient(x, t))) for x in rim for t in rounds)
    assert steepest == pytest.approx(loss.gradient_bound(domain), rel=1e-3)


def test_bounds_see_every_chunk():
    rows = np.zeros((CHUNK + 5, 2))
    rows[-1] = [3.0, 4.0]
    domain = Ball(2)
    assert Linear(rows, offsets=np.zeros(CHUNK + 5)).gradient_bound(domain) == 5.0
    assert Quadratic(rows).gradient_bound(domain) == 6.0
    assert Linear(rows).value_bound(domain) == 5.0


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: Linear([[1.0, np.nan]]), "rows must be finite, got nan in round 1, entry 1"),
        (lambda: Linear(np.zeros((0, 3))), "rows must be an array with one row per round"),
        (lambda: Linear(ROWS, offsets=[1.0]), "offsets need one number for each of 9 rounds, got shape"),
        (lambda: Linear(drifting(3), offsets=[1.0]), "offsets go with rows given as an array, got Drawn"),
        (lambda: Quadratic(ROWS, 0.0), "strong_convexity must be positive and finite, got 0.0"),
        (lambda: Quadratic([[np.inf]]), "targets must be finite, got inf in round 1"),
        (lambda: Quadratic(ROWS, ridge=np.nan), "ridge must be finite and not negative, got nan"),
        (lambda: Linear(ROWS).row(0), "t must be a round from 1 of at most 9, got 0"),
    ],
)
def test_errors_are_sentences(build, sentence):
    with pytest.raises(ValueError, match=sentence):
        build()


@pytest.mark.parametrize(("smoothing", "ridge"), [(0.8, 0.3), (0.05, 0.0)])
def test_the_hessian_of_distances_is_the_slope_of_their_gradients(smoothing, ridge):
    rng = np.random.default_rng(0)
    loss = Distance(rng.normal(size=(50, 4)), 1.7, ridge=ridge, smoothing=smoothing)
    x, h = 0.3 * rng.normal(size=4), 1e-6

    def slope(x):
        return sum(loss.gradient(x, t) for t in range(1, 41))

    by_differences = [(slope(x + h * e) - slope(x - h * e)) / (2 * h) for e in np.eye(4)]
    np.testing.assert_allclose(loss.hessian(x, 40), by_differences, rtol=1e-6, atol=1e-6)
