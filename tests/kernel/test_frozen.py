"""The values that functions read are found through all that they call, and nothing else is."""

from __future__ import annotations

import functools
import math
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from tarry.errors import MemberError
from tarry.kernel.frozen import Values, hash_of

TABLE = np.arange(3.0)
PAIR = (1, (2.0, np.float32(3)))
NUMBER = 4
UNREAD = 5
x = 6  # not the attribute
ANYTHING = SimpleNamespace(x=7)
near = ModuleType("near_here")
near.DEEP, near.OTHER, near.near = 8, 9, near


def _calls(t):
    return _called(t) + near.near.DEEP + math.pi


def _called(t):
    return (lambda s: TABLE[s])(t) + PAIR[0] if t < 3 else _calls(t - 1)


def _reads_attributes(state):
    return state.x + state.UNREAD + ANYTHING.x


def _closing(inner):
    return lambda t: inner * NUMBER


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (_called, {"TABLE", "PAIR", "DEEP"}),
        (_calls, {"TABLE", "PAIR", "DEEP"}),
        (_reads_attributes, set()),
        (_closing(10), {"inner", "NUMBER"}),
    ],
)
def test_what_is_read(function, names):
    assert {one.name for one in Values([function])} == names


def test_hashes_are_of_values():
    same = [(1.0, 1.0), ((1, "a"), (1, "a")), (np.ones(2), np.ones(2)), (None, None)]
    assert all(hash_of(a) == hash_of(b) for a, b in same)
    other = [1, 1.0, True, "1", b"1", (1,), (1, 1), np.ones(1), np.ones((1, 1)), np.ones(1, np.float32), np.float32(1)]
    assert len({hash_of(one) for one in other}) == len(other)
    assert {hash_of(one) for one in ([1], {}, sys, hash_of, functools, np.array([{}]), (1, []))} == {""}


def test_a_changed_value_is_told(monkeypatch):
    values = list(Values([_calls]))
    [one.check() for one in values]
    monkeypatch.setitem(globals(), "TABLE", np.arange(3.0))
    [one.check() for one in values]
    monkeypatch.setitem(globals(), "TABLE", np.arange(4.0))
    with pytest.raises(MemberError, match=r"TABLE of .*test_frozen has changed, and code that was compiled before"):
        [one.check() for one in values]


def test_an_array_that_is_changed_in_place_is_told():
    values = list(Values([_called]))
    TABLE[1] = 7.0
    try:
        with pytest.raises(MemberError, match=r"TABLE of .* has changed, and code that was compiled before"):
            [one.check() for one in values]
    finally:
        TABLE[1] = 1.0
