"""Parameters: named tuples built from annotated fields, validated, and visible to compiled code.

    class Ball(Parameters):
        dimension: Count
        radius: Positive = 1.0

A field is an annotation. ``Annotated[type, check]`` names its check, a function of the value and the field's
name that returns the value to keep; the common ones are in :mod:`tarry.checks`. Fields after ``_: KW_ONLY``
are given by keyword. ``complete``, a class method over the dictionary of checked fields, settles what depends
on several of them. A class whose arguments are not its fields writes its own ``__new__``, ends it in
``cls.make(...)`` and says ``init=False``, as with dataclasses.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import KW_ONLY
from operator import itemgetter
from typing import Annotated, Any, ClassVar, NamedTuple, NoReturn, Self, dataclass_transform, get_args, get_origin

import numpy as np


class Unmoved(NamedTuple):
    """Hold nothing: the state of a member that never changes."""


def trait(value: Any, doc: str) -> Any:
    """Return a property with this value, which a descendant's field, attribute or property of that name replaces."""

    def constant(member: Parameters) -> Any:
        return value

    return property(constant, doc=doc)


@dataclass_transform(frozen_default=True)
class _Declared(type):
    """Turn annotations of a class body into the fields of a tuple."""

    def __new__(mcs, name: str, bases: tuple[type, ...], body: dict[str, Any], *, init: bool = True) -> Any:
        body.setdefault("__slots__", ())
        cls: Any = super().__new__(mcs, name, bases, body)
        # Asked of the class, not of its body: where annotations lie in a body depends on the version of Python.
        named = inspect.get_annotations(cls)
        defaults = {key: vars(cls)[key] for key in named if key in vars(cls)}
        if "__new__" in body:  # its arguments are what one may give, not the fields
            arguments = inspect.signature(body["__new__"]).parameters.values()
            cls.__signature__ = inspect.Signature(list(arguments)[1:])
        own_fields = _fields_of(cls, defaults) if named else {}
        if not own_fields and hasattr(cls, "_fields"):
            return cls  # what it inherits stands
        fields: dict[str, inspect.Parameter] = {**getattr(cls, "_parameters", {}), **own_fields}
        cls._fields, cls._parameters = tuple(fields), fields
        hints = {key: field.annotation for key, field in fields.items()}
        # Looked up once: sweeps build members by the thousand.
        cls._checks = {key: get_args(hint)[1] for key, hint in hints.items() if get_origin(hint) is Annotated}
        for index, key in enumerate(fields):
            setattr(cls, key, property(itemgetter(index)))
        if init:
            # For readers: a type alone, without its check.
            typed = (field.replace(annotation=_type_of(field.annotation)) for field in fields.values())
            cls.__signature__ = inspect.Signature(sorted(typed, key=lambda arguments: arguments.kind))
        return cls

    def __init__(cls, *arguments: Any, init: bool = True) -> None:
        super().__init__(*arguments)


def _type_of(hint: Any) -> Any:
    """Return the type of a field, without the check that it is annotated with."""
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _fields_of(cls: type, defaults: dict[str, Any]) -> dict[str, inspect.Parameter]:
    """Return the fields a class itself declares, as parameters of its constructor."""
    hints: dict[str, Any] = inspect.get_annotations(cls, eval_str=True)
    parameters = {}
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    for key, hint in hints.items():
        if hint is KW_ONLY:
            kind = inspect.Parameter.KEYWORD_ONLY
        elif get_origin(hint) is not ClassVar:
            default = defaults.get(key, inspect.Parameter.empty)
            parameters[key] = inspect.Parameter(key, kind, default=default, annotation=hint)
    return parameters


def _rebuild(cls: type, values: tuple[Any, ...]) -> Any:
    """Return the tuple of validated values, arrays as read-only views: the caller's own stay writable."""
    views = [value.view() if isinstance(value, np.ndarray) else value for value in values]
    for value in views:
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
    return tuple.__new__(cls, views)


def equal(a: Any, b: Any) -> bool:
    """Return whether two values are equal, arrays by their entries; NaN equals NaN."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return bool(np.array_equal(a, b, equal_nan=True))
    both_nan = isinstance(a, float) and isinstance(b, float) and a != a and b != b
    return both_nan or bool(a == b)


class Parameters(tuple[Any, ...], metaclass=_Declared):
    """Base of every parameter type: frozen, printable, comparable, picklable.

    >>> from tarry.domains import Ball
    >>> Ball(2, radius=3.0)
    Ball(center=[0., 0.], radius=3)
    """

    _fields: ClassVar[tuple[str, ...]]
    _parameters: ClassVar[dict[str, inspect.Parameter]]
    _checks: ClassVar[dict[str, Callable[[Any, str], Any]]]
    __signature__: ClassVar[inspect.Signature]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Check the fields given and build the tuple."""
        try:
            bound = cls.__signature__.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{cls.__name__}{cls.__signature__}: {error}") from None
        bound.apply_defaults()
        fields = bound.arguments
        for name, check in cls._checks.items():
            fields[name] = check(fields[name], name)
        cls.complete(fields)
        return cls.make(*(fields[name] for name in cls._fields))

    @classmethod
    def complete(cls, fields: dict[str, Any]) -> None:
        """Settle, in place, fields that depend on each other; each has passed its own check."""

    @classmethod
    def make(cls, *values: Any) -> Self:
        """Build from validated field values."""
        if len(values) != len(cls._fields):
            raise TypeError(f"{cls.__name__} has {len(cls._fields)} fields, got {len(values)} values")
        return _rebuild(cls, values)  # type: ignore[no-any-return]

    def _asdict(self) -> dict[str, Any]:
        """Return the fields by name; Numba takes a tuple that has this method for a named one."""
        return dict(zip(self._fields, self, strict=True))

    def _replace(self, **_changes: Any) -> NoReturn:
        raise TypeError(f"build a new {type(self).__name__} instead: _replace would skip validation")

    def __reduce__(self) -> Any:
        return _rebuild, (type(self), tuple(self))

    def __bool__(self) -> bool:
        return True  # also where there is no field: a scheduler is never nothing

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(map(equal, self, other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        parts = (v.tobytes() if isinstance(v, np.ndarray) else v for v in self)
        return hash((type(self).__name__, *parts))

    def __repr__(self) -> str:
        fields = (f"{n}={_show(v)}" for n, v in zip(self._fields, self, strict=True))
        return f"{type(self).__name__}({', '.join(fields)})"


def _show(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return np.array2string(value, precision=4, separator=", ") if value.size <= 4 else f"array{value.shape}"
    if isinstance(value, (float, np.floating)):
        return f"{value:g}"
    if callable(value) and not isinstance(value, tuple):
        return str(getattr(value, "__name__", repr(value)))
    return repr(value)
