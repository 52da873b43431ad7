"""One object that carries parameters and state across the border at the price of one.

Unpacking a tuple of arrays costs about 0.2 µs a field at each call from Python. A handle is unpacked
as a single reference; the arrays behind it stay shared with the Python side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import typeof
from numba.core import types
from numba.experimental import structref

from tarry.kernel.compile import must_run_plain


@structref.register
class _HandleType(types.StructRef):  # type: ignore[misc]
    def preprocess_fields(self, fields: Any) -> Any:
        return tuple((name, types.unliteral(kind)) for name, kind in fields)


class _Handle(structref.StructRefProxy):  # type: ignore[misc]
    def __new__(cls, body: Any) -> Any:
        return structref.StructRefProxy.__new__(cls, body)


structref.define_proxy(_Handle, _HandleType, ["body"])


class _Plain:
    def __init__(self, body: Any) -> None:
        self.body = body


def handle(body: Any) -> Any:
    """Wrap a (nested) named tuple; compiled code reads it back as ``.body``."""
    return _Plain(body) if must_run_plain(body) else _Handle(body)


def straight(function: Callable[..., Any], *args: Any) -> Callable[..., Any]:
    """The code for arguments of these types (compiled now, if need be), which is called without another look at them.

    To find a handle's type costs 0.5 µs a call. Whoever calls must keep to the types: nothing checks them. Where
    nothing is compiled, the function itself.
    """
    if not hasattr(function, "overloads"):
        return function
    kinds = tuple(map(typeof, args))
    function.compile(kinds)  # type: ignore[attr-defined]
    code: Callable[..., Any] = function.overloads[kinds].entry_point
    return code
