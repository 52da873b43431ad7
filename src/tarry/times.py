"""Moments and lengths of time as whole microseconds, columns of times, and their usual names.

A number counts seconds. Moments are counted from the beginning of 1970 in UTC, and a date without a zone is UTC.

>>> as_length("36h", "window") // 1_000_000, as_moment("1970-01-02", "at") // 1_000_000
(129600, 86400)
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
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
# None is the name of what came (outcome, label), which is rather 0 or 1.
# In order of preference; compared in lower case, with anything but letters and digits as an underscore.
DECIDED = (
    *("decided_at", "decision_at", "decision_time", "decided", "decision", "created_at", "created", "requested_at"),
    *("request_time", "shown_at", "served_at", "sent_at", "started_at", "start_time", "start", "opened_at"),
    *("clicked_at", "click_time", "issued_at", "timestamp", "event_time", "time", "date"),
)
FEEDBACK = (
    *("feedback_at", "feedback_time", "feedback", "label_at", "label_time", "labelled_at", "labeled_at", "outcome_at"),
    *("outcome_time", "arrived_at", "arrival_time", "arrived", "converted_at", "conversion_time"),
    *("completed_at", "resolved_at", "closed_at", "finished_at", "finish_time", "ended_at", "end_time", "end"),
    *("paid_at", "purchased_at", "returned_at"),
    *("clicked_at", "click_time"),  # clicks are decisions where nothing before them is
)
ROLES = ("decided", "feedback")  # what messages call the two columns of a log
OF_LABELS = ("decided", "labelled")
NUMBERS, DATES, ZONED, LENGTHS = "numbers", "dates", "dates with a time zone", "lengths of time"  # kinds of time stamps
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
    stamp, kind = as_stamp(value)
    if kind in (DATES, ZONED):
        moment = (stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)) - _START
        moment = None if moment != moment else moment // _ONE  # a missing date of pandas differs from itself
    elif kind == NUMBERS:
        moment = _whole(stamp, _FAR)
    if moment is None:
        problem = "must be a moment: seconds before the year 10000, a datetime, or a text such as '2026-01-31 12:00'"
        raise ArgumentError(name, problem, value)
    return int(moment)


def as_stamp(value: Any) -> tuple[Any, str]:
    """Return a time stamp that can be compared with others of its kind, and the kind; "" of what is none."""
    if type(value) in (int, float):  # at once: a log has millions
        return value, NUMBERS
    if isinstance(value, (np.datetime64, np.timedelta64)):
        value = value.astype(f"{value.dtype.kind}8[us]").item()
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            number = without_unit(value)
            return (value, "") if number is None else (number, NUMBERS)
    if isinstance(value, date):
        if not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day)
        return value, DATES if value.tzinfo is None else ZONED
    if isinstance(value, (Real, Decimal)) and not isinstance(value, bool):
        return value, NUMBERS
    return value, LENGTHS if isinstance(value, timedelta) else ""


def as_stamps(columns: Mapping[str, Iterable[Any]]) -> tuple[list[list[Any]], str]:
    """Return columns of time stamps, in which None is an empty cell, as stamps of one kind, and this kind.

    Raise ValueError, naming the rows, where a cell is no time or of another kind than those before.

    >>> as_stamps({"made": ["2026-01-31T12:00Z", "2026-01-31T12:00"]})
    Traceback (most recent call last):
    ValueError: row 1 has '2026-01-31T12:00' in 'made', row 0 has '2026-01-31T12:00Z' in 'made', and dates cannot be \
compared with dates with a time zone: give all times of a log in one kind, each with its zone (2026-01-31T12:00+01:00) \
or none
    """
    first, kind, listed = "", "", []
    for name, column in columns.items():
        stamps: list[Any] = []
        listed.append(stamps)
        for row, value in enumerate(column):
            stamp: Any = None
            own = ""
            if value is not None:
                stamp, own = as_stamp(value)
            if own == ZONED:  # Python compares dates of one zone by clocks, which are set back
                stamp = stamp.astimezone(UTC)
            stamps.append(stamp)
            if value is None or own == kind != "":
                continue
            shown = f"row {row} has {repr(value) if isinstance(value, str) else value} in {name!r}"
            if not own:
                remedy = "give numbers, or dates such as 2026-01-31T12:00+01:00"
                raise ValueError(f"{shown}, which is no time: {remedy}, or leave the cell empty where there is none")
            if kind:
                remedy = ", each with its zone (2026-01-31T12:00+01:00) or none" if ZONED in (kind, own) else ""
                problem = f"{shown}, {first}, and {own} cannot be compared with {kind}"
                raise ValueError(f"{problem}: give all times of a log in one kind{remedy}")
            first, kind = shown, own
    return listed, kind


def find_times(
    names: list[str],
    decided: str | None,
    feedback: str | None,
    roles: tuple[str, str] = ROLES,
    label: str | None = None,
) -> tuple[str, str]:
    """Return the columns of decisions and of feedback, as they were named or by usual names; never that of labels."""
    start = _find(names, decided, DECIDED, roles[0], (label,))
    return start, _find(names, feedback, FEEDBACK, roles[1], (start, label))


def _find(names: list[str], given: str | None, usual: tuple[str, ...], role: str, taken: tuple[str | None, ...]) -> str:
    """Return the column that was named, or the first with a usual name; raise ValueError where there is none."""
    shown = ", ".join(map(repr, names)) or "none"
    if given is not None:
        if given in taken:
            raise ValueError(f"{given!r} cannot be both columns, that of {role} and another: name two")
        if given not in names:
            raise ValueError(f"there is no column {given!r} for {role}: the log has {shown}")
        return given
    plain = {re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_"): name for name in reversed(names) if name not in taken}
    for candidate in usual:
        if candidate in plain:
            return plain[candidate]
    option = role.removesuffix("_at")
    event = {"decided": "decision", "labelled": "label"}.get(option, role)
    raise ValueError(
        f"no column looks like the time of the {event}; the columns are {shown}: name it ({role}=, --{option})"
    )


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
