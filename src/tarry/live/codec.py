"""Values from JSON and to it, by the annotations of named tuples: for requests and answers on every surface.

A named tuple is an object, an id of bytes ``{"bytes": base64}``, an answer its word, and a number that JSON does not
have is null. Text in an annotation documents its field. A :class:`Form` there reads and writes what no annotation says.

>>> from tarry.live.label_join import Ticket
>>> load(Ticket, {"id": "a", "tracked": True, "released": [7]})
Ticket(id='a', tracked=True, released=(7,))
>>> dump(Ticket(b"a", True, ()))
{'id': {'bytes': 'YQ=='}, 'tracked': True, 'released': []}
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import cache
from math import isfinite, nan
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import numpy as np

from tarry.errors import ArgumentError
from tarry.live.batches import is_missing
from tarry.live.encoding import plain_id
from tarry.live.values import brief, decoded
from tarry.outcomes import Answer, Weights

LONGEST_ID = 1024  # letters or bytes
_LARGEST_INTEGER = 1 << 1024
_DEEPEST = 100  # levels of a JSON value: what stores take
Read = Callable[[Any], Any]
Schema = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Form:
    """How a value is read from JSON, how a caller's is written, and what a schema says of it."""

    load: Read
    dump: Read
    schema: Schema


class Unfit(Exception):
    """Say what is wrong with a JSON value, and in which of its parts."""

    def __init__(self, problem: str, value: Any = ..., remedy: str = "") -> None:
        super().__init__(problem)
        self.problem, self.value, self.remedy = problem, value, remedy
        self.path: list[Any] = []


class _Brief(str):
    """Words that stand for a value in a sentence."""

    __slots__ = ()
    __repr__ = str.__str__


def load(kind: Any, plain: Any, *, place: str = "", is_strict: bool = True) -> Any:
    """Return the value of JSON; raise ArgumentError that names the part which is wrong, from its ``place`` on.

    Strictly, an object may have known fields only. Otherwise others are left out, as later versions may add some.
    """
    try:
        return _reader(kind, is_strict)(plain)
    except Unfit as error:
        path = [*([place] if place else []), *map(str, reversed(error.path))]
        place = ".".join(path) or "the body"
        value = error.value if error.value is ... else _Brief(brief(error.value))
        raise ArgumentError(place, error.problem, value, error.remedy) from None


def dump(value: Any) -> Any:
    """Return an answer as JSON has it: names for answers, objects for named tuples, null for numbers not finite.

    Features may be dates, decimals and the like, which become texts: a row is given out and must not be lost.
    """
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is float:
        return value if isfinite(value) else None
    if isinstance(value, Answer):  # before numbers, for to JSON it would be one
        return value.name.lower()
    if isinstance(value, bytes):
        return plain_id(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: dump(part) for name, part in zip(value._fields, value, strict=True)}
    if isinstance(value, dict):
        return {str(key): dump(part) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return [dump(part) for part in value] if value.ndim else dump(value[()])
    if isinstance(value, (list, tuple)):
        return [dump(part) for part in value]
    if isinstance(value, (np.integer, np.bool_)):
        return value.item()
    if isinstance(value, (str, int)):
        return value
    if isinstance(value, (float, np.floating)):
        return float(value) if isfinite(value) else None
    if is_missing(value):
        return None
    return value.isoformat() if isinstance(value, date) else str(value)


def written(asked: Any) -> dict[str, Any]:
    """Return a caller's named tuple as JSON for :func:`load`, without the fields that say what they do unsaid."""
    plain = {}
    kind: Any = type(asked)
    for field, value in zip(fields_of(kind).values(), asked, strict=True):
        try:
            if value is not field.default:
                plain[field.name] = field.form.dump(value)
        except Unfit as error:
            raise ArgumentError(field.name, error.problem, error.value, error.remedy) from None
    return plain


class Field(NamedTuple):
    """A field of a named tuple: how it is read and written, what it says, and what it is where it is not given."""

    name: str
    kind: Any
    form: Form
    about: str
    default: Any  # ... where it must be given


@cache
def fields_of(kind: Any) -> dict[str, Field]:
    """Return the fields of a named tuple by their names."""
    hints, unsaid = _hints_of(kind), kind._field_defaults
    return {name: _field(name, hints[name], unsaid.get(name, ...)) for name in kind._fields}


def _hints_of(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    return dict.fromkeys(hints, float) if kind is Weights else hints  # elsewhere these are arrays, too


def _field(name: str, hint: Any, default: Any) -> Field:
    about = next((part for part in _marks(hint) if isinstance(part, str)), "")
    return Field(name, hint, form_of(hint), about, default)


def _marks(hint: Any) -> tuple[Any, ...]:
    return get_args(hint)[1:] if get_origin(hint) is Annotated else ()


def form_of(hint: Any) -> Form:
    """Return how values of an annotation are read and written: by the form in it, if it has one."""
    inner = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    parts = [hint, *(get_args(inner) if _is_union(inner) else ())]
    said = next((mark for part in parts for mark in _marks(part) if isinstance(mark, Form)), None)
    write = dump if said is None else lambda value: None if value is None else said.dump(value)
    return Form(_reader(hint, True), write, schema_of(hint))


def _is_union(hint: Any) -> bool:
    return get_origin(hint) in (Union, UnionType)


# Reading.


@cache
def _reader(hint: Any, is_strict: bool) -> Read:
    """Return a function that reads values of an annotation."""
    for mark in _marks(hint):
        if isinstance(mark, Form):
            return mark.load
    if get_origin(hint) is Annotated:
        return _reader(get_args(hint)[0], is_strict)
    origin, parts = get_origin(hint), get_args(hint)
    if _is_union(hint):
        return _union(hint, tuple(_reader(part, is_strict) for part in parts if part is not NoneType))
    if origin in (list, tuple):
        return _several(_reader(parts[0], is_strict), origin)
    if origin is dict:
        return _mapping(_reader(parts[1], is_strict))
    if hasattr(hint, "_fields"):
        return _object(hint, is_strict)
    return _LEAVES[hint]


def _object(kind: Any, is_strict: bool) -> Read:
    hints, unsaid = _hints_of(kind), kind._field_defaults
    places = {name: (i, _reader(hints[name], is_strict)) for i, name in enumerate(kind._fields)}
    start = [unsaid.get(name, ...) for name in kind._fields]
    make, needs = kind._make, [name for name in kind._fields if name not in unsaid]

    def read(plain: Any) -> Any:
        if type(plain) is not dict:
            raise Unfit("must be an object", plain, f"give fields of {', '.join(places) or 'none'}")
        values = start.copy()
        for name, part in plain.items():
            place = places.get(name)
            if place is None:
                if is_strict:
                    raise _at(name, Unfit("is not known here", remedy=f"leave it out, only {', '.join(places)} are"))
                continue
            try:
                values[place[0]] = place[1](part)
            except Unfit as error:
                error.path.append(name)
                raise
        for name in needs:
            if values[places[name][0]] is ...:
                raise _at(name, Unfit("is missing", remedy="give it"))
        return make(values)

    return read


def _at(name: str, error: Unfit) -> Unfit:
    error.path.append(brief(name)[1:-1])
    return error


def _union(hint: Any, readers: tuple[Read, ...]) -> Read:
    may_be_none, only = NoneType in get_args(hint), readers[0]

    def read(plain: Any) -> Any:
        if plain is None and may_be_none:
            return None
        if len(readers) == 1:
            return only(plain)
        first: Unfit | None = None
        for reader in readers:
            try:
                return reader(plain)
            except Unfit as error:
                # What is wrong deep within says more than that it is of another kind.
                first = error if first is None or len(error.path) > len(first.path) else first
        assert first is not None
        raise first

    return read


def _several(read: Read, make: Callable[[list[Any]], Any]) -> Read:
    def read_all(plain: Any) -> Any:
        if type(plain) is not list:
            raise Unfit("must be a list", plain)
        values = []
        for place, part in enumerate(plain):
            try:
                values.append(read(part))
            except Unfit as error:
                error.path.append(place)
                raise
        return values if make is list else make(values)

    return read_all


def _mapping(read: Read) -> Read:
    def read_all(plain: Any) -> Any:
        if type(plain) is not dict:
            raise Unfit("must be an object", plain)
        return {key: read(part) for key, part in plain.items()}

    return read_all


def _of_type(kind: type, words: str) -> Read:
    def read(plain: Any) -> Any:
        if type(plain) is not kind:
            raise Unfit(f"must be {words}", plain)
        return plain

    return read


def read_id(plain: Any) -> Hashable:
    """Return the id or key of a JSON value."""
    if type(plain) is str and len(plain) <= LONGEST_ID:
        return plain
    if type(plain) is int:
        if -_LARGEST_INTEGER < plain < _LARGEST_INTEGER:
            return plain
        raise Unfit("must lie below 2¹⁰²⁴", plain)
    if type(plain) is str:
        raise Unfit(f"has {len(plain)} letters", remedy=f"an id has at most {LONGEST_ID}")
    if type(plain) is dict and [*plain] == ["bytes"]:
        return _bytes(plain["bytes"])
    raise Unfit("must be a text, a whole number, or bytes in base64", plain, 'write bytes as {"bytes": "AAE="}')


def _bytes(text: Any) -> bytes:
    try:
        data = b64decode(text, validate=True)
    except (TypeError, ValueError):
        raise Unfit("must be bytes in base64", text) from None
    if len(data) > LONGEST_ID:
        raise Unfit(f"has {len(data)} bytes", remedy=f"an id has at most {LONGEST_ID}")
    return data


def read_number(plain: Any) -> Any:
    """Return a finite number, as it is written: a whole one or one with a point."""
    if type(plain) is int and -_LARGEST_INTEGER < plain < _LARGEST_INTEGER:
        return plain
    if type(plain) is float and isfinite(plain):
        return plain
    raise Unfit("must be a finite number", plain)


def _read_float(plain: Any) -> float:
    return nan if plain is None else float(read_number(plain))


def read_json(plain: Any, deep: int = 0) -> Any:
    """Return a JSON value as it is; raise Unfit about a number that is not finite, and about one within too much."""
    kind = type(plain)
    if kind is float and not isfinite(plain):
        raise Unfit("has a number that is not finite", plain, "write a finite one, a text, or null")
    if kind is list or kind is dict:
        if deep == _DEEPEST:
            raise Unfit(f"is nested more than {_DEEPEST} levels deep")
        for part in plain if kind is list else plain.values():
            if type(part) is not str:
                read_json(part, deep + 1)
    return plain


def _read_answer(plain: Any) -> Answer:
    try:
        return Answer[plain.upper()]
    except (KeyError, AttributeError):
        raise Unfit("is no answer that is known here", plain) from None


def _read_array(plain: Any) -> np.ndarray:
    try:
        array = np.array(plain, float)
    except (TypeError, ValueError):
        raise Unfit("must be numbers", plain) from None
    array.flags.writeable = False
    return array


_LEAVES: dict[Any, Read] = {
    Hashable: read_id,
    Any: decoded,
    Answer: _read_answer,
    np.ndarray: _read_array,
    float: _read_float,
    int: _of_type(int, "a whole number"),
    str: _of_type(str, "a text"),
    bool: _of_type(bool, "true or false"),
}


# Schemas.

ID: Schema = {
    "anyOf": [
        {"type": "string", "maxLength": LONGEST_ID},
        {"type": "integer"},
        {
            "type": "object",
            "properties": {"bytes": {"type": "string", "contentEncoding": "base64", "maxLength": 1368}},
            "required": ["bytes"],
            "additionalProperties": False,
        },
    ]
}
_SCHEMAS: dict[Any, Schema] = {
    Hashable: {"$ref": "#/components/schemas/Id"},
    Any: {},
    Answer: {"enum": [answer.name.lower() for answer in Answer]},
    np.ndarray: {"type": "array", "items": {}},
    float: {"type": ["number", "null"]},
    int: {"type": "integer"},
    str: {"type": "string"},
    bool: {"type": "boolean"},
    NoneType: {"type": "null"},
}


def schema_of(hint: Any) -> Schema:
    """Return the schema of an annotation; of a named tuple, where among the components of OpenAPI it is."""
    for mark in _marks(hint):
        if isinstance(mark, Form):
            return mark.schema
    if get_origin(hint) is Annotated:
        return schema_of(get_args(hint)[0])
    origin, parts = get_origin(hint), get_args(hint)
    if _is_union(hint):
        return {"anyOf": [schema_of(part) for part in parts]}
    if origin in (list, tuple):
        return {"type": "array", "items": schema_of(parts[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": schema_of(parts[1])}
    if hasattr(hint, "_fields"):
        return {"$ref": f"#/components/schemas/{hint.__name__}"}
    return _SCHEMAS[hint]


def object_schema(kind: Any, *, is_strict: bool) -> Schema:
    """Return the schema of a named tuple itself; strictly, without other fields."""
    properties = {}
    for name, field in fields_of(kind).items():
        properties[name] = field.form.schema | ({"description": field.about} if field.about else {})
        if is_strict and isinstance(field.default, (str, int, float)):
            properties[name] |= {"default": field.default}
    needed = [name for name, field in fields_of(kind).items() if field.default is ...]
    schema = {"type": "object", "properties": properties, "description": (kind.__doc__ or "").partition("\n")[0]}
    return schema | ({"required": needed} if needed else {}) | ({"additionalProperties": False} if is_strict else {})


def objects_in(hint: Any) -> Iterator[Any]:
    """Yield the named tuples within an annotation, itself among them, parts first."""
    for part in get_args(hint):
        yield from objects_in(part)
    if hasattr(hint, "_fields"):
        for field in fields_of(hint).values():
            yield from objects_in(field.kind)
        yield hint
