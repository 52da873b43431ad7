"""Values as JSON text: what a durable store keeps of features and labels, checked before anything is stored.

What JSON does not have (dates, decimals, NumPy's and pandas' values, tuples, NaN) is written as ``{"$": [kind, …]}``.
The limits are the same for every process, whatever its own recursion limit is: what one may write, all can read.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from math import isfinite, log2
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np

DEEPEST = 100  # levels of nesting: Python reads about ten times as many, unless it is deep in calls already
LARGEST_TEXT = 1 << 26  # bytes of one payload or label: far below what SQLite and PostgreSQL take for one value
_MOST_DIGITS = 4000  # of a whole number: Python refuses to read more than 4300
_MOST_BITS = int(_MOST_DIGITS * log2(10))
_LONG_PATH = 60  # letters of a path that are shown
_MARK = "$"  # the only key of an object that stands for something else
_OURS = f'{{"{_MARK}"'
_TAKES = "JSON values, bytes, dates, decimals, and values of NumPy and pandas"
_NUMPY = frozenset("biufcmMSU")  # kinds of arrays that are plain bytes
to_json = json.JSONEncoder(allow_nan=False).encode  # json.dumps would make an encoder for each call


def text_of(value: Any, what: str) -> str:
    """Return a value as JSON text; raise ValueError naming the part that cannot be kept or that is too much."""
    text = to_json(encoded(value, what))
    check_length(text, what)
    return text


def has_marks(text: str) -> bool:
    """Return whether a JSON text may have values to be decoded; of most it is known at once that it has none."""
    return _OURS in text


def check_length(data: str | bytes, what: str) -> None:
    """Refuse a text or bytes that are too long to be stored."""
    if len(data) > LARGEST_TEXT:
        problem = f"a durable store takes at most {LARGEST_TEXT} bytes at once, got {len(data)} as {what}"
        raise ValueError(f"{problem}: keep them elsewhere and store where they are")


def encoded(value: Any, what: str, path: tuple[Any, ...] = ()) -> Any:
    """Return a value as JSON has it; raise ValueError naming the part of it that cannot be kept."""
    kind = type(value)
    if value is None or kind is str or kind is bool or (kind is float and isfinite(value)):
        return value
    if isinstance(value, int):
        if value.bit_length() > _MOST_BITS:
            most = f"whole numbers of at most {_MOST_DIGITS} digits"
            raise ValueError(f"a durable store takes {most}, got more in {what}: write a text")
        return value
    if isinstance(value, (list, tuple, dict)):
        return _encoded_parts(value, what, path)
    parts = _scalar(value)
    if parts is None:
        place = "".join(f"[{key!r}]" for key in path)
        place = f" at {place if len(place) < _LONG_PATH else f'{place[:_LONG_PATH]}…'}" if place else ""
        raise ValueError(f"a durable store takes {_TAKES}, got {brief(value)} as {what}{place}: {_way_out(value)}")
    return parts if isinstance(parts, (str, float)) else {_MARK: parts}


def _encoded_parts(value: Any, what: str, path: tuple[Any, ...]) -> Any:
    if len(path) == DEEPEST:
        problem = f"a durable store takes at most {DEEPEST} levels of nesting, got more in {what}"
        raise ValueError(f"{problem}: flatten it; nothing may contain itself")
    if not isinstance(value, dict):
        parts = [encoded(part, what, (*path, i)) for i, part in enumerate(value)]
        return {_MARK: ["tuple", *parts]} if isinstance(value, tuple) else parts
    # Names that are numbers or dates stay what they are, and one that is ours is told apart.
    if all(type(key) is str for key in value) and [*value] != [_MARK]:
        return {key: encoded(part, what, (*path, key)) for key, part in value.items()}
    pairs = [[encoded(key, f"a key of {what}", path), encoded(part, what, (*path, key))] for key, part in value.items()]
    return {_MARK: ["dict", *(one for pair in pairs for one in pair)]}


def _scalar(value: Any) -> Any:
    """Return what stands for a value that JSON does not have: a kind and its parts, or None if there is none.

    Of a class that extends a text or a number, that text or number.
    """
    module, name = type(value).__module__.partition(".")[0], type(value).__name__
    if module == "pandas":  # before dates: a timestamp is one
        return _of_pandas(value, name)
    if isinstance(value, np.generic) or type(value) is np.ndarray:  # before numbers: a float64 is one; no masked arrays
        shape = None if isinstance(value, np.generic) else list(value.shape)
        is_plain = value.dtype.kind in _NUMPY
        return ["numpy", value.dtype.str, shape, b64encode(value.tobytes()).decode()] if is_plain else None
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float):
        return float(value) if isfinite(value) else ["float", repr(float(value))]
    if isinstance(value, bytes):
        return ["bytes", b64encode(value).decode()]
    if isinstance(value, (datetime, time)):
        zone = _zone(value.tzinfo)
        is_known = zone is not None or value.tzinfo is None
        kind = "datetime" if isinstance(value, datetime) else "time"
        return [kind, value.replace(tzinfo=None).isoformat(), value.fold, zone] if is_known else None
    if isinstance(value, date):
        return ["date", value.isoformat()]
    if isinstance(value, timedelta):
        return ["timedelta", value.days, value.seconds, value.microseconds]
    if isinstance(value, (Decimal, UUID)):
        return [type(value).__name__.lower(), str(value)] if type(value) in (Decimal, UUID) else None
    return None


def _of_pandas(value: Any, name: str) -> Any:
    if name in ("NaTType", "NAType"):
        return ["pandas", name.removesuffix("Type")]
    if name not in ("Timestamp", "Timedelta"):
        return None
    zone = _zone(getattr(value, "tzinfo", None))
    is_known = zone is not None or getattr(value, "tzinfo", None) is None
    moment = value.asm8  # NumPy's, in UTC, with the unit that it was kept in
    return ["pandas", name, np.datetime_data(moment.dtype)[0], int(moment.astype(np.int64)), zone] if is_known else None


def _zone(zone: tzinfo | None) -> Any:
    """Return what stands for a time zone: seconds from UTC, or its name; None for none and for those of others."""
    if isinstance(zone, timezone):
        return zone.utcoffset(None).total_seconds()
    return zone.key if isinstance(zone, ZoneInfo) else None


def decoded(plain: Any) -> Any:
    """Return the value that JSON values stand for."""
    if isinstance(plain, list):
        return [decoded(part) for part in plain]
    if not isinstance(plain, dict):
        return plain
    if [*plain] == [_MARK]:
        kind, *parts = plain[_MARK]
        return _READ[kind](*map(decoded, parts))
    return {key: decoded(part) for key, part in plain.items()}


def _in_zone(zone: Any) -> tzinfo | None:
    if isinstance(zone, str):
        return ZoneInfo(zone)
    return None if zone is None else timezone(timedelta(seconds=zone))


def _read_numpy(kind: str, shape: list[int] | None, data: str) -> Any:
    array = np.frombuffer(b64decode(data), np.dtype(kind))
    return array[0] if shape is None else array.reshape(shape).copy()  # which its owner may write to


def _read_pandas(name: str, unit: str = "", count: int = 0, zone: Any = None) -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ValueError("they have values of pandas, which is not installed here") from error
    if name in ("NaT", "NA"):
        return getattr(pandas, name)
    if name == "Timedelta":
        return pandas.Timedelta(np.array(count, f"m8[{unit}]")[()])
    moment = pandas.Timestamp(np.array(count, f"M8[{unit}]")[()])
    return moment if zone is None else moment.tz_localize("UTC").tz_convert(_in_zone(zone))


_READ: dict[str, Callable[..., Any]] = {
    "tuple": lambda *parts: parts,
    "dict": lambda *parts: dict(zip(parts[::2], parts[1::2], strict=True)),
    "float": float,
    "bytes": b64decode,
    "datetime": lambda text, fold, zone: datetime.fromisoformat(text).replace(fold=fold, tzinfo=_in_zone(zone)),
    "time": lambda text, fold, zone: time.fromisoformat(text).replace(fold=fold, tzinfo=_in_zone(zone)),
    "date": date.fromisoformat,
    "timedelta": timedelta,
    "decimal": Decimal,
    "uuid": UUID,
    "numpy": _read_numpy,
    "pandas": _read_pandas,
}


def brief(value: Any) -> str:
    """Return a value as a few words."""
    kind = f"a {type(value).__name__}"
    try:
        text = kind if isinstance(value, (list, tuple, dict)) else " ".join(repr(value).split())
    except ValueError:  # a whole number of too many digits
        text = kind
    return text if len(text) <= 80 else f"{text[:77]}…"


def _way_out(part: Any) -> str:
    if getattr(part, "tzinfo", None) is not None:
        return "its time zone must be of datetime or zoneinfo, as in .astimezone(datetime.UTC)"
    if hasattr(part, "tolist"):
        return "convert it, for example with .tolist()"
    return "convert it to texts, numbers, and lists or dictionaries of them"
