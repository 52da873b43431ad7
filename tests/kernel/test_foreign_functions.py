"""Functions inside parameters: compiled ones are called by compiled code, plain ones switch it off."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from tarry.kernel import Parameters, as_step, entry, verb
from tarry.kernel.words import Handle


class Holder(Parameters, init=False):
    function: Any

    def __new__(cls, function):
        return cls.make(as_step(function))


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
    outer = Outer(Holder(doubled), 3.0)
    assert total.dispatcher_for(outer)(outer, 5) == 60.0
    (dispatcher,) = total.dispatchers
    (code,) = dispatcher.inspect_llvm().values()
    assert "NRT_Allocate" not in code
    assert len(dispatcher.nopython_signatures) == 1


@pytest.mark.jit(only=True)
def test_a_users_function_may_allocate():
    total = make_entry()
    outer = Outer(Holder(doubled_by_an_array), 3.0)
    assert total.dispatcher_for(outer)(outer, 5) == 60.0


def test_a_plain_function_makes_the_entry_plain():
    total = make_entry()
    outer = Outer(Holder(doubled_plainly), 3.0)
    assert total.dispatcher_for(outer)(outer, 5) == 60.0
    assert total.dispatcher_for((1, (outer,)), 2.0)(outer, 5) == 60.0
    assert total.dispatchers == []


def read_handle(held, x):
    return evaluate(held.body.inner, x) * held.body.size


def test_a_handle_of_a_plain_function_is_read_by_python():
    assert read_handle(Handle(Outer(Holder(doubled_plainly), 3.0)), 2.0) == 12.0


@pytest.mark.jit(only=True)
def test_a_handle_of_a_compiled_function_is_read_by_compiled_code():
    held = Handle(Outer(Holder(doubled), 3.0))
    assert numba.njit(read_handle)(held, 2.0) == 12.0


def test_plain_functions_stay_as_they_are():
    assert as_step(doubled_plainly) is doubled_plainly
    with pytest.raises(TypeError, match="a function is needed here, got 'rate'"):
        as_step("rate")


@pytest.mark.jit(only=True)
def test_a_users_compiled_function_is_not_changed():
    options = dict(doubled.targetoptions)
    ours = as_step(doubled)
    assert doubled.targetoptions == options
    assert ours is not doubled
    assert ours.py_func is doubled.py_func
    assert as_step(doubled) is ours is as_step(ours), "one function, one type for Numba"
    assert Holder(doubled) == Holder(doubled)
    assert repr(Holder(doubled)) == "Holder(function=doubled)"
