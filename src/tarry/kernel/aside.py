"""Python objects that travel inside parameters while compiled code looks past them.

A parameter type may need something only Python uses, such as a user's plain function next to a
compiled one. Wrapped in :class:`Aside` it costs compiled code nothing and forbids it nothing.
"""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.extending import NativeValue, models, register_model, typeof_impl, unbox


class Aside:
    """One Python object, opaque to compiled code and compared by the object itself.

    >>> Aside(len).value("four")
    4
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Aside) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash((Aside, self.value))

    def __repr__(self) -> str:
        return str(getattr(self.value, "__name__", repr(self.value)))


class _AsideType(types.Opaque):  # type: ignore[misc]
    pass


_ASIDE = _AsideType("Aside")
register_model(_AsideType)(models.OpaqueModel)


@typeof_impl.register(Aside)  # type: ignore[untyped-decorator]
def _typeof(_value: Any, _context: Any) -> Any:
    return _ASIDE


@unbox(_AsideType)  # type: ignore[untyped-decorator]
def _unbox(_type: Any, _value: Any, c: Any) -> Any:
    return NativeValue(c.context.get_dummy_value())
