"""What one and two values say of a gradient: means by quadrature, exact on linear losses, as short as is said."""

from __future__ import annotations

import numpy as np
import pytest

from tarry.domains import Ball
from tarry.learners import OGD, OnePoint, TwoPoint
from tarry.learners.base import RecordedDirections
from tarry.learners.from_values import estimate

K = 3
RNG = np.random.default_rng(41)
SLOPE = RNG.normal(size=K)
SPHERE = RNG.normal(size=(10, K))
SPHERE /= np.linalg.norm(SPHERE, axis=1)[:, None]


def made_from(learner, values, u):
    out = np.zeros(learner.dimension)
    estimate(learner, RecordedDirections(np.array([u])), 1, np.array(values), out)
    return out


def convex(x):
    return np.exp(x[0] - 0.5 * x[1]) + abs(x[1])


def slope(x):
    part = np.exp(x[0] - 0.5 * x[1])
    return np.array([part, -0.5 * part + np.sign(x[1])])


def test_on_a_circle_the_mean_estimate_is_the_gradient_of_the_smoothed_loss():
    """All directions of a circle, all points of a disc: both means by quadrature, on a loss with a kink."""
    y, delta, n = np.array([0.3, 0.1]), 0.4, 4000
    angles = 2 * np.pi * (np.arange(n) + 0.5) / n
    circle = np.stack((np.cos(angles), np.sin(angles)), axis=1)
    radii = delta * np.sqrt((np.arange(400) + 0.5) / 400)
    smoothed = np.mean([slope(y + a * u) for a in radii for u in circle[::10]], axis=0)
    base = OGD(Ball(2), rate=0.1)
    once, twice = OnePoint(base, delta), TwoPoint(base, delta)
    from_one = np.mean([made_from(once, [convex(y + delta * u)], u) for u in circle], axis=0)
    pairs = [made_from(twice, [convex(y + delta * u), convex(y - delta * u)], u) for u in circle]
    np.testing.assert_allclose(from_one, smoothed, atol=2e-3)
    np.testing.assert_allclose(np.mean(pairs, axis=0), smoothed, atol=2e-3)


def test_in_one_dimension_both_directions_make_the_difference_quotient():
    learner, y, delta = OnePoint(OGD(Ball(1), rate=0.1), 0.3), 0.1, 0.3
    mean = np.mean([made_from(learner, [abs(y + delta * u)], [u]) for u in (-1.0, 1.0)])
    assert mean == pytest.approx((abs(y + delta) - abs(y - delta)) / (2 * delta), abs=1e-15)


def test_on_linear_losses_two_points_see_the_slope_along_the_direction():
    learner, g, y = TwoPoint(OGD(Ball(K), rate=0.1), 1e-3), SLOPE, np.array([0.1, 0.2, 0.3])
    for u in SPHERE:
        values = [g @ (y + 1e-3 * u), g @ (y - 1e-3 * u)]
        np.testing.assert_allclose(made_from(learner, values, u), K * (g @ u) * u, atol=1e-12)


def test_two_points_are_as_short_as_the_tuning_says():
    """E|ĝ|² ≤ vG², v = k²/(k − 1): near k for |x_1| away from its kink, less on it."""
    u = np.random.default_rng(3).normal(size=(4000, 5))
    u /= np.linalg.norm(u, axis=1)[:, None]
    learner = TwoPoint(OGD(Ball(5), rate=0.1), 0.1)
    squares = [np.sum(made_from(learner, [abs(0.05 + 0.1 * v[0]), abs(0.05 - 0.1 * v[0])], v) ** 2) for v in u]
    far = [np.sum(made_from(learner, [0.1 * v[0], -0.1 * v[0]], v) ** 2) for v in u]
    assert np.mean(squares) < np.mean(far)
    assert 4.5 < np.mean(far) < 25 / 4
