"""Parameters that hold a plain Python function make their entries run uncompiled."""

from __future__ import annotations

from typing import Any

import pytest

from tarry.kernel import Parameters, entry


class Holder(Parameters, init=False):
    function: Any

    def __new__(cls, function):
        return cls.make(function)


@entry
def apply(holder, x):
    return holder.function(x)


def double(x):
    return 2 * x


def test_a_plain_function_runs_as_it_is():
    holder = Holder(double)
    for parameters in ((holder,), ((1.0, (holder,)),)):
        assert not hasattr(apply.dispatcher_for(*parameters), "py_func")
        assert apply.dispatcher_for(*parameters)(holder, 4) == 8


@pytest.mark.jit(only=True)
def test_a_compiled_function_keeps_its_entry_compiled():
    from numba import njit

    holder = Holder(njit(double))
    assert hasattr(apply.dispatcher_for(holder), "py_func")
    assert apply.dispatcher_for(holder)(holder, 4) == 8
