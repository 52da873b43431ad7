"""Delays read off two columns of timestamps: when it was decided, when feedback came."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarry.delays.base import Stored
from tarry.errors import ArgumentError

_KINDS = {"i": "numbers", "u": "numbers", "f": "numbers", "M": "dates", "m": "durations"}


class Trace(Stored, init=False):
    """Recorded delays; see :func:`trace`."""

    order: np.ndarray  # order[t − 1] is the row (from 0) that became round t
    truncated: int  # rounds whose feedback never came


def trace(decided_at: Any, feedback_at: Any, *, sort: bool = False, never: str = "refuse") -> Trace:
    """Return delays of recorded decisions: round s is the s-th decision in time, at τ_s, its feedback at φ_s.

        d_s = #{t : τ_t ≤ φ_s} − s

    Each column is what :func:`as_times` takes. Rows must be in order of ``decided_at``; with ``sort=True`` they are put
    in order, ties as they stand, and ``.order`` says which row became which round. The last round has no end, so
    feedback after the last decision comes in it. A missing feedback time is refused unless ``never="end"``: such
    feedback comes after the end and counts as ``truncated``.

    >>> trace([0.0, 1.0, 2.0, 3.0], [2.5, 1.0, 2.9, 9.0]).values.tolist()
    [2, 0, 0, 0]
    """
    if never not in ("refuse", "end"):
        raise ArgumentError("never", 'must be "refuse" or "end"', never)
    decided, feedback = as_times(decided_at, "decided_at"), as_times(feedback_at, "feedback_at")
    _check_columns(decided, feedback)
    if not sort and np.any(decided.values[1:] < decided.values[:-1]):
        row = int(np.flatnonzero(decided.values[1:] < decided.values[:-1])[0])
        late, early = f"row {row} ({decided.values[row]})", f"row {row + 1} ({decided.values[row + 1]})"
        problem = f"decided_at must be in order, but {early} is earlier than {late}"
        raise ValueError(f"{problem}: sort the rows, or pass sort=True and read .order")
    if never == "refuse" and feedback.missing.any():
        count, first = int(feedback.missing.sum()), int(np.argmax(feedback.missing))
        remedy = 'drop them, or pass never="end" to let it come after the end'
        raise ValueError(f"feedback_at is missing in {count} rows, first in row {first}: {remedy}")
    order = np.argsort(decided.values, kind="stable")
    taus, phis, missing = decided.values[order], feedback.values[order], feedback.missing[order]
    # Where no feedback came its column has no kind of its own to compare in.
    kind = np.result_type(taus, phis) if not missing.all() else taus.dtype
    arrivals = np.full(taus.size, taus.size, np.int64)
    arrivals[~missing] = np.searchsorted(taus.astype(kind), phis[~missing].astype(kind), side="right")
    waits = np.ascontiguousarray(arrivals - np.arange(1, taus.size + 1))
    return Trace.make(waits, order.astype(np.int64), int(missing.sum()))


def _check_columns(decided: Times, feedback: Times) -> None:
    if decided.values.size == 0 or decided.values.size != feedback.values.size:
        sizes = f"got {decided.values.size} and {feedback.values.size}"
        raise ValueError(f"decided_at and feedback_at must have as many rows as each other and at least one, {sizes}")
    if decided.missing.any():
        raise ValueError(f"decided_at is missing in row {int(np.argmax(decided.missing))}")
    if feedback.missing.all():
        return
    if decided.kind != feedback.kind:
        raise ValueError(f"decided_at holds {decided.kind}, feedback_at {feedback.kind}: give one kind")
    early = ~feedback.missing & (feedback.values < decided.values)
    if early.any():
        row = int(np.argmax(early))
        came, made = feedback.values[row], decided.values[row]
        raise ValueError(f"feedback in row {row} ({came}) comes before its decision ({made}): check the two columns")


class Times(NamedTuple):
    """Timestamps, which of them are missing, and what they are (numbers, dates, …)."""

    values: NDArray[Any]
    missing: NDArray[np.bool_]
    kind: str


def as_times(column: Any, name: str) -> Times:
    """Return timestamps from an array, a polars or pandas series, or a list of numbers, dates or ISO strings.

    None, NaT, NaN and infinity are missing. Dates with a time zone are compared in UTC.
    """
    zoned = getattr(getattr(column, "dtype", None), "time_zone", None) is not None
    given = column.to_numpy() if hasattr(column, "to_numpy") else column
    values = given if isinstance(given, np.ndarray) else np.array(list(given), dtype=object)
    if values.ndim != 1:
        raise ValueError(f"{name} must be one column, got shape {values.shape}")
    if values.dtype.kind in "OUT":
        return _from_objects(list(values), name)
    kind = _KINDS.get(values.dtype.kind)
    if kind is None:
        raise ValueError(f"{name} must hold numbers, dates or ISO strings, got {values.dtype}")
    if kind != "numbers":
        return Times(values, np.isnat(values), "dates with a time zone" if zoned else kind)
    return Times(values, np.isnan(values) | (values == np.inf), kind)


def _from_objects(items: list[Any], name: str) -> Times:
    # NaN and NaT are what differs from itself.
    missing = np.array([item is None or bool(item != item) or bool(item == np.inf) for item in items], np.bool_)
    present = [_plain(item, name) for item, gone in zip(items, missing, strict=True) if not gone]
    kinds = sorted({kind for _, kind in present})
    if len(kinds) > 1:
        raise ValueError(f"{name} mixes {' and '.join(kinds)}: give one kind")
    kind = kinds[0] if kinds else "nothing"
    values = np.zeros(len(items), np.float64 if kind in ("numbers", "nothing") else "datetime64[us]")
    if kind == "numbers" and not missing.any():
        return Times(np.array([value for value, _ in present]), missing, kind)  # integers stay exact
    values[~missing] = [value for value, _ in present]
    return Times(values, missing, kind)


def _plain(item: Any, name: str) -> tuple[Any, str]:
    """Return one timestamp as a number or a datetime64, and its kind."""
    if isinstance(item, str):
        try:
            item = datetime.fromisoformat(item)
        except ValueError:
            raise ValueError(f"{name} must hold ISO dates like 2024-05-01T12:30:00, got {item!r}") from None
    if isinstance(item, datetime) and item.tzinfo is not None:
        return np.datetime64(item.astimezone(UTC).replace(tzinfo=None), "us"), "dates with a time zone"
    if isinstance(item, date):
        return np.datetime64(item, "us"), "dates"
    if isinstance(item, np.datetime64):
        return item.astype("datetime64[us]"), "dates"
    if isinstance(item, (int, float, np.integer, np.floating)) and not isinstance(item, bool):
        return item, "numbers"
    raise ValueError(f"{name} must hold numbers, dates or ISO strings, got {item!r}")
