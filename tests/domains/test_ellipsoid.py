"""The ellipsoid's projection against scipy and against the conditions that define it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from tarry.domains import Ball, Ellipsoid, nearest


def random_ellipsoid(k, condition, seed, radius=1.3):
    rng = np.random.default_rng(seed)
    axes, _ = np.linalg.qr(rng.standard_normal((k, k)))
    matrix = (axes * np.geomspace(1.0, condition, k)) @ axes.T
    return Ellipsoid((matrix + matrix.T) / 2, radius, rng.standard_normal(k)), rng


@pytest.mark.parametrize("seed", range(4))
def test_projection_equals_scipy(seed):
    ellipsoid, rng = random_ellipsoid(4, 20.0, seed)
    x = ellipsoid.center + 3.0 * rng.standard_normal(4)

    def room(y):
        return ellipsoid.radius**2 - (y - ellipsoid.center) @ ellipsoid.matrix @ (y - ellipsoid.center)

    solved = minimize(
        lambda y: 0.5 * (y - x) @ (y - x),
        ellipsoid.center,
        jac=lambda y: y - x,
        method="SLSQP",
        constraints={"type": "ineq", "fun": room},
        options={"ftol": 1e-15, "maxiter": 500},
    )
    assert nearest(ellipsoid, x) == pytest.approx(solved.x, abs=1e-6)


@given(
    k=st.integers(1, 8),
    condition=st.sampled_from([1.0, 10.0, 1e4, 1e10]),
    far=st.sampled_from([1.0, 1.0 + 1e-9, 2.0, 1e3, 1e8]),
    seed=st.integers(0, 10**6),
)
def test_projection_satisfies_its_conditions(k, condition, far, seed):
    # x − p = λ A (p − c) with λ ≥ 0 and p on the boundary: p is nearest, and nothing else is.
    ellipsoid, rng = random_ellipsoid(k, condition, seed)
    direction = rng.standard_normal(k)
    size = np.sqrt(direction @ ellipsoid.matrix @ direction)
    x = ellipsoid.center + far * (1 + 1e-12) * ellipsoid.radius / size * direction
    p = nearest(ellipsoid, x)
    away = ellipsoid.axes @ (p - ellipsoid.center)
    rounding = 1e-13 * np.linalg.norm(ellipsoid.center) * np.sqrt(condition)
    assert np.sqrt(np.sum(ellipsoid.eigenvalues * away**2)) == pytest.approx(ellipsoid.radius, rel=1e-11, abs=rounding)
    gradient = ellipsoid.axes.T @ (ellipsoid.eigenvalues * away)
    shift = (x - p) @ gradient / (gradient @ gradient)
    assert shift >= -1e-12
    blurred = 1e-14 * condition * (np.linalg.norm(ellipsoid.center) + 1)  # rounding of p − c, times A
    assert np.linalg.norm(x - p - shift * gradient) <= 1e-12 * np.linalg.norm(x) + shift * blurred


@pytest.mark.parametrize("far", [1.0, 1e2, 1e6])
def test_a_needle_equals_bisection(far):
    # Axes parallel to the coordinates and centre 0: no rounding but the root finder's own.
    eigenvalues = np.geomspace(1e-6, 1e6, 7)
    x = far * np.array([3e3, -2.0, 5.0, 1e-3, 1.0, 1e-5, -4.0])
    low, high = 0.0, 1e30
    for _ in range(4000):
        middle = np.sqrt(low * high) if low > 0 else high * 1e-3
        outside = np.sum(eigenvalues * (x / (1 + middle * eigenvalues)) ** 2) > 1.0
        low, high = (middle, high) if outside else (low, middle)
    found = nearest(Ellipsoid(np.diag(eigenvalues)), x)
    assert found == pytest.approx(x / (1 + high * eigenvalues), rel=1e-12)


def test_inside_is_left_alone_to_the_bit():
    ellipsoid, rng = random_ellipsoid(5, 100.0, 3)
    x = ellipsoid.center + 0.9 * ellipsoid.inner_radius * rng.standard_normal(5) / 5
    assert np.array_equal(nearest(ellipsoid, x), x)


def test_a_round_ellipsoid_is_a_ball():
    ball, ellipsoid = Ball(3, 2.0, center=[1.0, 0.0, -1.0]), Ellipsoid(4.0 * np.eye(3), 4.0, [1.0, 0.0, -1.0])
    for x in np.random.default_rng(1).standard_normal((20, 3)) * 4:
        assert nearest(ellipsoid, x) == pytest.approx(nearest(ball, x), rel=1e-14)
    assert (ellipsoid.diameter, ellipsoid.inner_radius) == (ball.diameter, ball.inner_radius)


def test_a_cut_through_an_axis():
    # From (0, 3) the nearest point of x²/16 + y² ≤ 1 is (0, 1); from (5, 0) it is (4, 0).
    ellipsoid = Ellipsoid(np.diag([1 / 16, 1.0]))
    assert nearest(ellipsoid, [0.0, 3.0]) == pytest.approx([0.0, 1.0], abs=1e-15)
    assert nearest(ellipsoid, [5.0, 0.0]) == pytest.approx([4.0, 0.0], abs=1e-14)


def test_the_callers_matrix_may_change_afterwards():
    matrix = np.eye(2)
    ellipsoid = Ellipsoid(matrix)
    matrix[0, 0] = 100.0
    assert ellipsoid.matrix[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        ellipsoid.matrix[0, 0] = 2.0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([[1.0, 0.0]],), r"matrix must be square, got shape \(1, 2\)"),
        (([1.0, 2.0],), r"matrix must be square, got shape \(2,\)"),
        (([[1.0, 0.5], [0.0, 1.0]],), r"must be symmetric, got 0.5 at \(0, 1\) and 0.0 at \(1, 0\)"),
        (([[1.0, 2.0], [2.0, 1.0]],), "must be positive definite, but its eigenvalues reach from -1 to 3"),
        ((np.ones((3, 3)),), "must be positive definite"),
        (([[np.nan, 0.0], [0.0, 1.0]],), r"must be finite, got nan at entry \(0, 0\)"),
        ((np.eye(2), -1.0), "radius must be positive and finite, got -1.0"),
        ((np.eye(2), 1.0, [0.0, 0.0, 0.0]), "center has 3 entries, the domain has 2"),
    ],
)
def test_bad_arguments(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        Ellipsoid(*arguments)
