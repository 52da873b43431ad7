"""Handles cross the border as one object, and an entry for given arguments is the same entry."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from tarry.kernel.compile import entry, handle


class Pair(NamedTuple):
    numbers: np.ndarray
    factor: float


@entry
def add(box, i, amount):
    """Add to one number; return it times the factor."""
    box.body.numbers[i] += amount
    return box.body.factor * box.body.numbers[i]


def test_a_direct_call_is_the_same_call():
    numbers = np.zeros(3)
    box = handle(Pair(numbers, 2.0))
    usual = add.dispatcher_for()
    direct = add.machine_code_for((box, 0, 1.0))
    assert np.all(numbers == 0.0), "finding the code runs nothing"
    assert usual(box, 1, 4.0) == direct(box, 1, 0.0) == 8.0
    assert direct(box, 2, 3.0) == 6.0
    assert numbers.tolist() == [0.0, 4.0, 3.0]
    assert add.machine_code_for((handle(Pair(np.ones(7), 1.0)), 0, 1.0))(box, 2, 0.0) == 6.0, (
        "one code for one set of types"
    )


@pytest.mark.jit(only=True)
def test_a_direct_call_compiles_once_and_only_what_is_asked():
    usual = add.dispatcher_for()
    box = handle(Pair(np.zeros(3), 2.0))
    before = len(usual.overloads)
    add.machine_code_for((box, 0, 1.0))
    add.machine_code_for((box, 0, 1.0))
    usual(box, 0, 1.0)
    assert len(usual.overloads) == max(before, 1)
