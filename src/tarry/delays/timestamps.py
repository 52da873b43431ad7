"""Columns of timestamps in their many forms, as one sortable array each."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_KINDS = {"i": "numbers", "u": "numbers", "f": "numbers", "M": "dates", "m": "durations"}


class Times(NamedTuple):
    """Timestamps, which of them are missing, and what they are (numbers, dates, …)."""

    values: NDArray[Any]
    missing: NDArray[np.bool_]
    kind: str


def as_times(column: Any, name: str) -> Times:
    """Timestamps from an array, a polars or pandas series, or a list of numbers, dates or ISO strings.

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
    missing = np.array([_is_missing(item) for item in items], np.bool_)
    present = [_plain(item, name) for item, gone in zip(items, missing, strict=True) if not gone]
    kinds = sorted({kind for _, kind in present})
    if len(kinds) > 1:
        raise ValueError(f"{name} mixes {' and '.join(kinds)}: give one kind")
    kind = kinds[0] if kinds else "nothing"
    values = np.zeros(len(items), np.float64 if kind in ("numbers", "nothing") else "datetime64[us]")
    if kind == "numbers" and not missing.any():
        return Times(np.array([value for value, _ in present]), missing, kind)
    values[~missing] = [value for value, _ in present]
    return Times(values, missing, kind)


def _is_missing(item: Any) -> bool:
    return item is None or bool(item != item) or bool(item == np.inf)


def _plain(item: Any, name: str) -> tuple[Any, str]:
    """One timestamp as a number or a datetime64, and its kind."""
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
