"""Parameters: validated named tuples that Python reads and compiled code sees.

A member writes ``class Ball(Parameters, _BallFields)`` with a validating ``__new__`` that ends in
``cls.make(...)``. Named tuples' own ``_replace`` would skip the validation, so it is refused.
"""

from __future__ import annotations

from typing import Any, NoReturn, Self

import numpy as np


def _frozen(value: Any) -> Any:
    """A read-only view of an array (the caller's own array stays writable); else the value."""
    if not isinstance(value, np.ndarray):
        return value
    view = value.view()
    view.setflags(write=False)
    return view


def _rebuild(cls: type, values: tuple[Any, ...]) -> Any:
    return tuple.__new__(cls, tuple(_frozen(value) for value in values))


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return bool(np.array_equal(a, b, equal_nan=True))
    if isinstance(a, float) and isinstance(b, float) and a != a and b != b:
        return True
    return bool(a == b)


class Parameters:
    """Frozen, printable, comparable, picklable; the mixin of every parameter type."""

    __slots__ = ()

    @classmethod
    def make(cls, *values: Any) -> Self:
        """Build from validated field values."""
        fields: tuple[str, ...] = cls._fields  # type: ignore[attr-defined]
        if len(values) != len(fields):
            raise TypeError(f"{cls.__name__} has {len(fields)} fields, got {len(values)} values")
        return _rebuild(cls, values)  # type: ignore[no-any-return]

    def _replace(self, **_changes: Any) -> NoReturn:
        raise TypeError(f"build a new {type(self).__name__} instead: _replace would skip validation")

    def __reduce__(self) -> Any:
        return _rebuild, (type(self), tuple(self))  # type: ignore[arg-type]

    def __bool__(self) -> bool:
        return True  # also where there is no field: a scheduler is never nothing

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        return all(_equal(a, b) for a, b in zip(self, other, strict=True))  # type: ignore[call-overload]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        parts = (v.tobytes() if isinstance(v, np.ndarray) else v for v in self)  # type: ignore[attr-defined]
        return hash((type(self).__name__, *parts))

    def __repr__(self) -> str:
        shown = (f"{n}={_show(v)}" for n, v in zip(self._fields, self, strict=True))  # type: ignore[attr-defined,call-overload]
        return f"{type(self).__name__}({', '.join(shown)})"


def _show(value: Any) -> str:
    if isinstance(value, np.ndarray):
        if value.size <= 4:
            return np.array2string(value, precision=4, separator=", ")
        return f"array{value.shape}"
    if isinstance(value, (float, np.floating)):
        return f"{value:g}"
    if callable(value) and not isinstance(value, tuple):
        return str(getattr(value, "__name__", repr(value)))
    return repr(value)
