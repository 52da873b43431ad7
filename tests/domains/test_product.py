"""Products and translates against their parts."""

from __future__ import annotations

import numpy as np
import pytest

from tarry.domains import Ball, Box, Product, Shift, Simplex, nearest, product


def test_projection_is_that_of_the_parts():
    parts = Ball(2, radius=0.5), Simplex(3), Box(-1.0, [1.0, 2.0])
    x = 3.0 * np.random.default_rng(0).standard_normal(7)
    expected = np.concatenate((nearest(parts[0], x[:2]), nearest(parts[1], x[2:5]), nearest(parts[2], x[5:])))
    assert np.array_equal(nearest(product(*parts), x), expected)
    assert np.array_equal(nearest(Product(Product(parts[0], parts[1]), parts[2]), x), expected)


def test_radii_combine():
    pair = Product(Box(-3.0, [3.0]), Ball(1, radius=4.0))
    assert (pair.diameter, pair.outer_radius, pair.inner_radius) == (10.0, 5.0, 3.0)
    assert pair.depth(np.array([2.0, 0.0])) == 1.0


def test_one_domain_is_its_own_product():
    ball = Ball(2)
    assert product(ball) is ball


def test_bad_parts():
    with pytest.raises(TypeError, match="second must be a domain such as Ball"):
        Product(Ball(2), 5)
    with pytest.raises(ValueError, match="product needs at least one domain"):
        product()


def test_shift_moves_everything():
    ball, moved = Ball(3, radius=2.0), Shift(Ball(3, radius=2.0), [1.0, 2.0, 3.0])
    same = Ball(3, radius=2.0, center=[1.0, 2.0, 3.0])
    for x in 4.0 * np.random.default_rng(1).standard_normal((10, 3)):
        assert nearest(moved, x) == pytest.approx(nearest(same, x), abs=1e-14)
        assert moved.depth(x) == pytest.approx(same.depth(x), abs=1e-14)
        assert moved.linear_minimiser(x) == pytest.approx(same.linear_minimiser(x), abs=1e-14)
    assert moved.diameter == ball.diameter


def test_bad_shifts():
    with pytest.raises(ValueError, match="offset has 2 entries, the domain has 3"):
        Shift(Ball(3), [0.0, 1.0])
    with pytest.raises(TypeError, match="domain must be a domain"):
        Shift("ball", [0.0])
