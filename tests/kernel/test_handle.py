"""Handles cross the border as one object, and an entry for given arguments is the same entry."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import weakref
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import pytest

from tarry.errors import MemberError
from tarry.kernel.compile import entry, in_python
from tarry.kernel.words import Handle, handle


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
    box = Handle(Pair(numbers, 2.0))
    usual = add.dispatcher_for()
    direct = add.machine_code_for((box, 0, 1.0))
    assert np.all(numbers == 0.0), "finding the code runs nothing"
    assert usual(box, 1, 4.0) == direct(box, 1, 0.0) == 8.0
    assert direct(box, 2, 3.0) == 6.0
    assert numbers.tolist() == [0.0, 4.0, 3.0]
    assert add.machine_code_for((Handle(Pair(np.ones(7), 1.0)), 0, 1.0))(box, 2, 0.0) == 6.0, (
        "one code for one set of types"
    )


@pytest.mark.jit(only=True)
def test_a_direct_call_compiles_once_and_only_what_is_asked():
    usual = add.dispatcher_for()
    box = Handle(Pair(np.zeros(3), 2.0))
    before = len(usual.overloads)
    add.machine_code_for((box, 0, 1.0))
    add.machine_code_for((box, 0, 1.0))
    usual(box, 0, 1.0)
    assert len(usual.overloads) == max(before, 1)


@pytest.mark.jit
def test_calls_keep_no_references():
    numbers = np.zeros(3)
    box = Handle(Pair(numbers, 2.0))
    direct = add.machine_code_for((box, 0, 1.0))
    direct(box, 0, 1.0)
    before = sys.getrefcount(numbers), sys.getrefcount(box)
    for _ in range(1000):
        direct(box, 0, 1.0)
    assert (sys.getrefcount(numbers), sys.getrefcount(box)) == before
    memory = weakref.ref(numbers)
    del box, numbers
    gc.collect()
    assert memory() is None


class Colour(IntEnum):
    RED = 1
    BLUE = 2


class Mixed(NamedTuple):
    flag: bool
    small: Any
    large: Any
    colour: Colour
    inner: tuple[Any, ...]


@entry
def weigh(box, i):
    """Return a number that every field of the body has a part in."""
    body = box.body
    first, second = body.inner
    total = first[i, 1] + 10.0 * second[0][i] + 100.0 * (body.colour == Colour.BLUE)
    return total + 1000.0 * body.small + (1e4 if body.flag else 0.0) + (1e5 if body.large > np.uint64(1 << 63) else 0.0)


@pytest.mark.jit
def test_a_handle_holds_numbers_views_and_nested_tuples():
    numbers = np.arange(12.0).reshape(4, 3)
    fixed = np.array([5, 6, 7], np.int32)
    fixed.setflags(write=False)
    body = Mixed(True, np.float32(0.5), np.uint64(2**64 - 1), Colour.BLUE, (numbers[::2].T, (fixed,)))
    box = Handle(body)
    assert weigh.machine_code_for((box, 0))(box, 1) == 7.0 + 60.0 + 100.0 + 500.0 + 1e4 + 1e5
    other = Handle(body._replace(flag=False, colour=Colour.RED, large=np.uint64(1)))
    assert weigh.machine_code_for((other, 0))(other, 0) == 6.0 + 50.0 + 500.0


@pytest.mark.jit(only=True)
def test_what_is_no_handle_is_an_error_and_no_address():
    box = Handle(Pair(np.zeros(3), 2.0))
    direct = add.machine_code_for((box, 0, 1.0))
    with pytest.raises(TypeError):
        direct(None, 0, 1.0)
    assert direct(box, 0, 1.0) == 2.0


class Odd(NamedTuple):
    single: Any
    turn: complex
    none: None
    empty: Any


@entry
def measure(box, i):
    """Read an array without dimensions, and a complex number."""
    body = box.body
    return body.single[()] + 10.0 * body.turn.imag + 100.0 * body.turn.real + body.empty.size + i


@pytest.mark.jit
@pytest.mark.parametrize("turn", [2 + 3j, np.complex64(2 + 3j)])
def test_a_handle_holds_arrays_without_dimensions_and_complex_numbers(turn):
    box = handle(Odd(np.array(0.5), turn, None, np.zeros((0, 3))))
    assert measure.machine_code_for((box, 0))(box, 1) == 231.5


@pytest.mark.jit(only=True)
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_copy_of_a_handle_has_words_of_its_own(copied):
    box = Handle(Pair(np.full(3, 4.0), 2.0))
    other = copied(box)
    direct = add.machine_code_for((box, 0, 1.0))
    del box
    gc.collect()
    assert direct(other, 0, 0.0) == 8.0


class Noted(NamedTuple):
    numbers: np.ndarray
    inner: Any


@pytest.mark.jit(only=True)
@pytest.mark.parametrize("leaf", ["two", np.datetime64("2026-01-01"), slice(1)])
def test_what_words_cannot_hold_is_refused_with_its_place(leaf):
    with pytest.raises(MemberError, match="factor of Pair is"):
        handle(Noted(np.zeros(1), Pair(np.zeros(1), leaf)))


def test_plain_python_takes_everything():
    with in_python():
        assert handle(Pair(np.zeros(1), 2**70)).body.factor == 2**70
