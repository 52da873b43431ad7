"""Handles cross the border as one object, and a straight call is the same call."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from tarry.kernel import border, handle, is_compiled, straight


class Pair(NamedTuple):
    numbers: np.ndarray
    factor: float


@border
def add(box, i, amount):
    """Add to one number; return it times the factor."""
    box.body.numbers[i] += amount
    return box.body.factor * box.body.numbers[i]


def test_a_straight_call_is_the_same_call():
    numbers = np.zeros(3)
    box = handle(Pair(numbers, 2.0))
    usual = add.of()
    direct = straight(usual, box, 0, 1.0)
    assert np.all(numbers == 0.0), "finding the code runs nothing"
    assert usual(box, 1, 4.0) == direct(box, 1, 0.0) == 8.0
    assert direct(box, 2, 3.0) == 6.0
    assert numbers.tolist() == [0.0, 4.0, 3.0]
    assert straight(usual, handle(Pair(np.ones(7), 1.0)), 0, 1.0)(box, 2, 0.0) == 6.0, "one code for one set of types"


@pytest.mark.skipif(not is_compiled(), reason="nothing is compiled")
def test_straight_compiles_once_and_only_what_is_asked():
    usual = add.of()
    box = handle(Pair(np.zeros(3), 2.0))
    before = len(usual.overloads)
    straight(usual, box, 0, 1.0)
    straight(usual, box, 0, 1.0)
    usual(box, 0, 1.0)
    assert len(usual.overloads) == max(before, 1)


def test_what_is_not_compiled_is_called_as_it_is():
    def plain(box):
        return box

    assert straight(plain, 1) is plain
