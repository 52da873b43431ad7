"""Functions inside parameters: compiled ones are called by compiled code, plain ones switch it off."""

from __future__ import annotations

import pickle
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from tarry.kernel import Aside, Parameters, as_step, entry, handle, verb


class Holder(Parameters, init=False):
    function: Any
    aside: Any

    def __new__(cls, function, aside=None):
        return cls.make(as_step(function), Aside(aside))


class Outer(NamedTuple):
    inner: Any
    size: float


@verb
def evaluate(holder, x):
    """Call what the holder holds."""


@evaluate.on(Holder)
def _evaluate(holder, x):
    return holder.function(x)


@numba.njit
def doubled(x):
    return 2.0 * x


@numba.njit
def doubled_by_an_array(x):
    return np.full(2, x).sum()


def doubled_plainly(x):
    return 2.0 * x


def make_entry():
    @entry
    def total(outer, count):
        summed = 0.0
        for i in range(count):
            summed += evaluate(outer.inner, float(i)) * outer.size
        return summed

    return total


@pytest.mark.jit(only=True)
def test_a_compiled_function_is_called_without_the_interpreter():
    total = make_entry()
    outer = Outer(Holder(doubled, doubled_plainly), 3.0)
    assert total.of(outer)(outer, 5) == 60.0
    (dispatcher,) = total.dispatchers
    (code,) = dispatcher.inspect_llvm().values()
    assert "NRT_Allocate" not in code
    assert len(dispatcher.nopython_signatures) == 1


@pytest.mark.jit(only=True)
def test_a_users_function_may_allocate():
    total = make_entry()
    outer = Outer(Holder(doubled_by_an_array), 3.0)
    assert total.of(outer)(outer, 5) == 60.0


def test_a_plain_function_makes_the_entry_plain():
    total = make_entry()
    outer = Outer(Holder(doubled_plainly), 3.0)
    assert total.of(outer)(outer, 5) == 60.0
    assert total.of((1, (outer,)), 2.0)(outer, 5) == 60.0
    assert total.dispatchers == []


def read_handle(held, x):
    return evaluate(held.body.inner, x) * held.body.size


def test_a_handle_of_a_plain_function_is_read_by_python():
    assert read_handle(handle(Outer(Holder(doubled_plainly), 3.0)), 2.0) == 12.0


@pytest.mark.jit(only=True)
def test_a_handle_of_a_compiled_function_is_read_by_compiled_code():
    held = handle(Outer(Holder(doubled, doubled_plainly), 3.0))
    assert numba.njit(read_handle)(held, 2.0) == 12.0


def test_functions_stay_as_they_are():
    assert as_step(doubled_plainly) is doubled_plainly
    assert as_step(doubled) is doubled
    with pytest.raises(TypeError, match="a function is needed here, got 'rate'"):
        as_step("rate")


def test_asides_compare_pickle_and_print():
    assert Aside(doubled_plainly) == Aside(doubled_plainly) != Aside(doubled)
    assert Aside(3) != 3
    assert hash(Aside(3)) == hash(Aside(3))
    assert pickle.loads(pickle.dumps(Aside([1, 2]))).value == [1, 2]
    assert repr(Holder(doubled_plainly, doubled)) == "Holder(function=doubled_plainly, aside=doubled)"
