"""Delays read off two columns of timestamps: when it was decided, when feedback came."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarry.delays.base import Stored
from tarry.errors import ArgumentError
from tarry.times import DATES, LENGTHS, NUMBERS, ZONED, as_stamps

_KINDS = {"i": NUMBERS, "u": NUMBERS, "f": NUMBERS, "M": DATES, "m": LENGTHS}


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
        row = int(np.argmin(feedback.missing))
        came, made = (
            f"{column.values[i]}{'Z' * (column.kind == ZONED)}" for column, i in ((feedback, row), (decided, 0))
        )
        problem = f"row {row} has {came} in feedback_at, row 0 has {made} in decided_at"
        problem += f", and {feedback.kind} cannot be compared with {decided.kind}"
        zones = (
            ", each with its zone (2026-01-31T12:00+01:00) or none" if ZONED in (decided.kind, feedback.kind) else ""
        )
        raise ValueError(f"{problem}: give all times of a log in one kind{zones}")
    early = ~feedback.missing & (feedback.values < decided.values)
    if early.any():
        row = int(np.argmax(early))
        came, decided_at = feedback.values[row], decided.values[row]
        raise ValueError(
            f"feedback in row {row} ({came}) comes before its decision ({decided_at}): check the two columns"
        )


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
    stamps = column.to_numpy() if hasattr(column, "to_numpy") else column
    values = stamps if isinstance(stamps, np.ndarray) else np.array(list(stamps), dtype=object)
    if values.ndim != 1:
        raise ValueError(f"{name} must be one column, got shape {values.shape}")
    if values.dtype.kind in "OUT":
        return _from_objects(list(values), name)
    kind = _KINDS.get(values.dtype.kind)
    if kind is None:
        raise ValueError(f"{name} must hold numbers, dates or ISO strings, got {values.dtype}")
    if kind != NUMBERS:
        return Times(values, np.isnat(values), ZONED if zoned else kind)
    return Times(values, np.isnan(values) | (values == np.inf), kind)


def _from_objects(items: list[Any], name: str) -> Times:
    # NaN and NaT are what differs from itself.
    missing = np.array([item is None or bool(item != item) or bool(item == np.inf) for item in items], np.bool_)
    (stamps,), kind = as_stamps({name: [None if gone else item for item, gone in zip(items, missing, strict=True)]})
    if kind == NUMBERS and not missing.any():
        return Times(np.array(stamps), missing, kind)  # integers stay exact
    values = np.zeros(len(items), {DATES: "M8[us]", ZONED: "M8[us]", LENGTHS: "m8[us]"}.get(kind, np.float64))
    values[~missing] = [stamp.replace(tzinfo=None) if kind == ZONED else stamp for stamp in stamps if stamp is not None]
    return Times(values, missing, kind or "nothing")
