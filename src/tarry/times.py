"""Moments and lengths of time as whole microseconds, from what callers have.

A number counts seconds. Moments are counted from the beginning of 1970 in UTC, and a date without a zone is UTC.

>>> as_length("36h", "window") // 1_000_000, as_moment("1970-01-02", "at") // 1_000_000
(129600, 86400)
"""

from __future__ import annotations

import re
import time
from datetime import UTC, date, datetime, timedelta
from numbers import Real
from typing import Any

import numpy as np

from tarry.errors import ArgumentError

AT_ARRIVAL, AT_END_OF_WINDOW = RELEASES = ("arrival", "window")  # when the row of a decision with a window comes out
SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
PER_SECOND = 1_000_000
LATEST = 1 << 62  # microseconds: so that a moment and a length add up within 64 bits
_MOST = LATEST / PER_SECOND
_FAR = 253_402_300_800  # seconds to the year 10000: a moment beyond was counted in another unit
END = _FAR * PER_SECOND  # in microseconds
_START = datetime(1970, 1, 1, tzinfo=UTC)
_ONE = timedelta(microseconds=1)
_LENGTH = re.compile(rf"\s*([-+0-9.eE]+)\s*({'|'.join(SECONDS)})?\s*")


class Micros(int):
    """A moment that is in whole microseconds already: a float of seconds tells them apart until the year 2112."""


def read_length(text: str) -> tuple[float, str] | None:
    """Return the number and the unit of a text such as ``36h``, the unit empty where there is none; None otherwise."""
    found = _LENGTH.fullmatch(text)
    try:
        return (float(found[1]), found[2] or "") if found else None
    except ValueError:
        return None


def without_unit(value: Any) -> float | None:
    """Return a length that is a number, or a text of one; None where it has a unit."""
    if isinstance(value, str):
        read = read_length(value)
        return read[0] if read and not read[1] else None
    return float(value) if isinstance(value, Real) and not isinstance(value, bool) else None


def check_unit(window: Any) -> None:
    """Refuse a window without a unit, where a log has dates: one may mean days, and another seconds."""
    number = without_unit(window)
    if number is not None:
        raise ArgumentError("window", "needs a unit where the log has dates", window, f"write {number:g}d for days")


def as_length(value: Any, name: str) -> int:
    """Return a positive length of time in microseconds: of seconds, a timedelta, or a text such as ``30d``."""
    length: Any = None
    if isinstance(value, np.timedelta64):
        value = value.astype("timedelta64[us]").item()
    if isinstance(value, timedelta):
        length = value // _ONE
    elif isinstance(value, str):
        read = read_length(value)
        length = None if read is None else _whole(read[0] * SECONDS[read[1] or "s"])
    elif isinstance(value, Real) and not isinstance(value, bool):
        length = _whole(value)
    if length is None or not 0 < length < LATEST:
        problem = "must be a positive length of time: seconds, a timedelta, or a number and a unit as in '30d'"
        raise ArgumentError(name, f"{problem} ({', '.join([*SECONDS][::-1])})", value)
    return int(length)


def as_moment(value: Any, name: str) -> int:
    """Return a moment in microseconds: of seconds, a date or a datetime (Python's, NumPy's), or a text in ISO 8601."""
    moment: Any = None
    if type(value) is float and -_FAR < value < _FAR:  # at once: a call in memory takes some microseconds
        return round(value * PER_SECOND)
    if type(value) is Micros:
        return int(value)
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            read = read_length(value)
            value = read[0] if read and not read[1] else value
    if isinstance(value, date):
        if not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day)
        moment = (value if value.tzinfo else value.replace(tzinfo=UTC)) - _START
        moment = None if moment != moment else moment // _ONE  # a missing date of pandas differs from itself
    elif isinstance(value, Real) and not isinstance(value, bool):
        moment = _whole(value, _FAR)
    if moment is None:
        problem = "must be a moment: seconds before the year 10000, a datetime, or a text such as '2026-01-31 12:00'"
        raise ArgumentError(name, problem, value)
    return int(moment)


def as_release(release: str | None) -> str:
    """Return when the row of a decision with a window comes out: as the window ends, unless it is said otherwise."""
    if release not in (None, *RELEASES):
        raise ArgumentError("release", f"must be one of {', '.join(map(repr, RELEASES))}", release)
    return AT_END_OF_WINDOW if release is None else release


def now() -> int:
    """Return the present moment in microseconds."""
    return time.time_ns() // 1000


def _whole(seconds: Any, most: float = _MOST) -> int | None:
    """Return seconds as microseconds, None where there are too many; a large int is compared before it is converted."""
    return round(float(seconds) * PER_SECOND) if -most < seconds < most else None
