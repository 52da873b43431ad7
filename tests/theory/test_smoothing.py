"""Smoothing and its estimate from one value, against integrals and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import dblquad, quad

from tarry.theory import one_point_estimate, smoothed

POINT = np.array([0.3, -0.2])


def rough(x):
    """Convex with a kink, so that no rule for polynomials integrates it exactly."""
    return float(abs(x[0] + 0.5 * x[-1]) + np.exp(x[0]) + x[-1] ** 4)


def mean_over_circle(loss, point, radius):
    """The mean of the estimate over all directions of the plane."""

    def part(angle, i):
        return one_point_estimate(loss, point, radius, [np.cos(angle), np.sin(angle)])[i] / (2 * np.pi)

    return np.array([quad(part, 0, 2 * np.pi, args=(i,), limit=400, epsabs=1e-12)[0] for i in (0, 1)])


def mean_over_disc(loss, point, radius):
    """f^δ in the plane, by its definition."""

    def part(length, angle):
        return loss(point + radius * length * np.array([np.cos(angle), np.sin(angle)])) * length / np.pi

    return dblquad(part, 0, 2 * np.pi, 0, 1, epsabs=1e-11)[0]


def slopes(function, step):
    """The gradient at POINT by central differences."""
    return np.array([(function(POINT + e) - function(POINT - e)) / (2 * step) for e in step * np.eye(2)])


def test_the_estimate_is_unbiased_for_the_smoothed_loss_on_a_line():
    """In one dimension the sphere is {−1, 1}, and the derivative of the mean over an interval is known."""
    x, radius = np.array([0.1]), 0.4
    ends = [one_point_estimate(rough, x, radius, [sign]) for sign in (-1.0, 1.0)]
    step = 1e-3

    def mean(centre):
        return quad(lambda v: rough(np.array([centre + radius * v])) / 2, -1, 1, points=[-centre / radius])[0]

    np.testing.assert_allclose(np.mean(ends, axis=0), (mean(0.1 + step) - mean(0.1 - step)) / (2 * step), rtol=1e-6)


def test_the_estimate_is_unbiased_for_the_smoothed_loss_in_the_plane():
    def smooth(x):
        return float(np.exp(x[0] - 0.5 * x[1]) + x[1] ** 4)

    radius = 0.5
    gradient = slopes(lambda x: mean_over_disc(smooth, x, radius), 1e-3)
    estimate = mean_over_circle(smooth, POINT, radius)
    np.testing.assert_allclose(estimate, gradient, rtol=1e-5)
    # The gradient of the loss itself is another one, and so is a mean that forgets the dimension.
    plain = np.array([np.exp(0.4), -0.5 * np.exp(0.4) + 4 * POINT[1] ** 3])
    assert np.abs(estimate / plain - 1).max() > 0.01
    assert np.abs(estimate / 2 / gradient - 1).max() > 0.4


@pytest.mark.parametrize("k", [1, 2, 3, 7])
def test_the_estimate_is_unbiased_for_a_quadratic(k):
    """x'Ax/2 − b'x: smoothing adds a constant, and the directions ±e_i integrate what is cubic in u exactly."""
    rng = np.random.default_rng(k)
    root, b, x, radius = rng.normal(size=(k, k)), rng.normal(size=k), rng.normal(size=k), 0.7
    matrix = root @ root.T

    def loss(z):
        return float(0.5 * z @ matrix @ z - b @ z)

    frame = np.linalg.qr(rng.normal(size=(k, k)))[0]
    mean = np.mean([one_point_estimate(loss, x, radius, u) for u in (*frame, *-frame)], axis=0)
    np.testing.assert_allclose(mean, matrix @ x - b, rtol=1e-12, atol=1e-12)
    added = radius**2 * np.trace(matrix) / (2 * (k + 2))
    assert smoothed(loss, x, radius) - loss(x) == pytest.approx(added, rel=0.05)


def test_smoothing_by_an_integral():
    exact = mean_over_disc(rough, POINT, 0.8)
    assert smoothed(rough, POINT, 0.8, draws=40_000) == pytest.approx(exact, abs=0.02)
    assert abs(exact - rough(POINT)) > 0.1


def test_a_direction_has_length_one():
    with pytest.raises(ValueError, match="direction must have length 1"):
        one_point_estimate(rough, POINT, 0.5, [1.0, 1.0])


@pytest.mark.parametrize("direction", [1.0, [1.0], [0.6, 0.8, 0.0], [[1.0, 0.0]]])
def test_a_direction_has_as_many_numbers_as_the_point(direction):
    with pytest.raises(ValueError, match="direction must have 2 numbers, as many as point, got"):
        one_point_estimate(rough, POINT, 0.5, direction)
