"""Ids, and features and labels packed as text: what a durable store keeps of a round."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from tarry.errors import StoreError
from tarry.live.values import brief, check_length, decoded, has_marks, text_of, to_json
from tarry.outcomes import Answer

_LARGEST = 1 << 1024
_FAR = 1e300  # of a number that needs no closer look


class Unreadable(StoreError):
    """A value that this process cannot read, though it is as it was written; other rounds are not harmed."""


def damaged(where: str, place: str) -> StoreError:
    """Return what to raise about a place in a store."""
    return StoreError(f"{where} is damaged ({place}) and was left as it is: restore a copy")


def as_id(id: Any) -> Hashable:
    """Return an id that can be stored and compared anywhere: a string, a whole number or bytes."""
    if type(id) is str or (type(id) is int and -_LARGEST < id < _LARGEST):
        return id
    if isinstance(id, np.integer):
        return int(id)
    if isinstance(id, str):
        return str.__str__(id)
    if isinstance(id, bytes):
        return bytes(id)
    if isinstance(id, int) and not isinstance(id, bool):
        if -_LARGEST < id < _LARGEST:
            return int(id)
        raise ValueError(f"an id that is a number must lie below 2¹⁰²⁴, got one of {id.bit_length()} bits")
    way = "leave out rows without one" if id is None else "use str(…) of it"
    if isinstance(id, float):
        cause = "pandas makes such numbers of a column of whole ones that has a gap"
        way = f"{cause}, so drop the rows without an id and give whole numbers or texts"
    elif hasattr(id, "_fields") and hasattr(id, "id"):  # a ticket, or a round
        way = f"give {type(id).__name__.lower()}.id, here {id.id!r}"
    raise TypeError(f"an id must be a string, a whole number or bytes, got {id!r}: {way}")


def plain_id(id: Hashable) -> Any:
    """Return an id as a JSON value."""
    return {"bytes": b64encode(id).decode()} if isinstance(id, bytes) else id


def id_of(plain: Any) -> Hashable:
    """Return the id of a JSON value."""
    return b64decode(plain["bytes"]) if isinstance(plain, dict) else plain


class Item(NamedTuple):
    """What is kept of a tracked or recent round: how it was opened, and while tracked, what the caller left with it.

    ``payload`` is the caller's own object, or packed. ``gathered`` are the labels that have come so far, where a
    decision may have several, and ``keys`` the names that some of them came under.
    """

    id: Hashable
    tracked: bool
    released: tuple[Hashable, ...]
    answer: Answer
    play: np.ndarray | None
    payload: Any = None
    gathered: tuple[Any, ...] = ()
    keys: tuple[Hashable, ...] = ()


class Packed(str):
    """Features or a label as JSON text: read when they are asked for, so that nobody else needs to be able to."""

    __slots__ = ()


def pack(value: Any, what: str = "features") -> Packed | None:
    """Return a value as text; raise ValueError naming the part that no store can keep."""
    if value is None or type(value) is Packed:
        return value
    if type(value) is bytes:
        check_length(value, what)
    elif type(value) is dict and _is_flat(value):  # most features are: this costs half
        text = to_json(value)
        check_length(text, what)
        return Packed(text)
    return Packed(text_of(value, what))


def _is_flat(value: dict[Any, Any]) -> bool:
    """Return whether a dictionary has texts, small numbers and nothing else under texts, as JSON has them."""
    for key, part in value.items():
        kind = type(part)
        if type(key) is not str or key == "$":
            return False
        if kind is float:
            if not -_FAR < part < _FAR:
                return False
        elif not (kind is str or kind is bool or part is None or (kind is int and -_FAR < part < _FAR)):
            return False
    return True


def pack_label(label: Any, what: str = "a label") -> Any:
    """Return a label as text, but for numbers, which are counted."""
    return label if type(label) in (int, float, bool) and abs(label) < 1 << 1024 else pack(label, what)


def resolved(label: Any) -> Any:
    """Return a label as a replay has it: packed, or a Python number that counts; None for any other."""
    if type(label) in (float, Packed):
        return label
    if isinstance(label, (np.generic, np.ndarray)) and not label.ndim and label.dtype.kind in "biuf":
        label = float(label) if label.dtype.kind == "f" else label.item()
    return label if isinstance(label, float) or (isinstance(label, int) and abs(label) < _LARGEST) else None


def unpack(value: Any) -> Any:
    """Return what was packed, and any other value as it is; raise Unreadable if this process cannot read it."""
    if type(value) is not Packed:
        return value
    try:
        plain = json.loads(value)
        return decoded(plain) if has_marks(value) else plain
    except (RecursionError, ValueError, KeyError, TypeError) as error:  # a zone of another machine is a key
        said = brief(str(error))
        raise Unreadable(f"the features stored here cannot be read ({said}): expire their round") from error
