from __future__ import annotations

import numpy as np
import pytest

from tarry.domains import Ball, Box, contains, nearest


def test_projection_clips():
    box = Box([0.0, -1.0], [1.0, 2.0])
    assert nearest(box, [5.0, -7.0]).tolist() == [1.0, -1.0]
    assert nearest(box, [0.5, 0.25]).tolist() == [0.5, 0.25]


def test_depth_is_the_distance_to_the_nearest_side():
    box = Box([0.0, 0.0], [10.0, 4.0])
    assert box.depth(np.array([9.5, 2.0])) == 0.5
    assert box.depth(np.array([11.0, 2.0])) == 0.0
    assert box.depth(box.center) == box.inner_radius == 2.0


def test_a_number_stands_for_every_entry():
    assert Box(0.0, [1.0, 2.0]) == Box([0.0, 0.0], [1.0, 2.0])
    assert Box([-1.0, -2.0], 3).upper.tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    ("lower", "upper", "sentence"),
    [
        ([0.0, 0.0], [1.0, 1.0, 1.0], "lower has 2 entries, upper has 3"),
        ([0.0, 2.0], [1.0, 1.0], "lower must not exceed upper, got 2.0 > 1.0 at entry 1"),
        ([0.0, -np.inf], [1.0, 1.0], "lower must be finite, got -inf at entry 1"),
        ([[0.0]], [1.0], r"lower must be a vector with at least one entry, got shape \(1, 1\)"),
        ([], [], "at least one entry"),
    ],
)
def test_bad_arguments(lower, upper, sentence):
    with pytest.raises(ValueError, match=sentence):
        Box(lower, upper)


def test_points_of_the_wrong_size_are_refused():
    with pytest.raises(ValueError, match="the point has 3 entries, the domain has 2"):
        nearest(Box(0.0, [1.0, 1.0]), [0.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="the point has 1 entries, the domain has 2"):
        contains(Ball(2), [0.0])


def test_parameters_keep_their_own_copy():
    center = np.zeros(2)
    ball = Ball(2, center=center)
    center[0] = 9.0
    assert ball.center[0] == 0.0
