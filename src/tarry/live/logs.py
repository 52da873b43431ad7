"""Logs of decisions and labels, read from frames and checked before the first decision."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tarry.live import batches
from tarry.live.labels import is_endless, plain_label
from tarry.live.values import brief
from tarry.times import as_moment, as_stamps, find_times

DROP, DELIVER = AT_END = ("drop", "deliver")  # labels after the last decision of a log
_ROLES = ("decided_at", "labelled_at")


class Log(NamedTuple):
    """A log that makes sense, and its columns.

    Events are in the order of time: a row, whether it is for its label or its decision, and if asked for, its moment.
    """

    events: list[tuple[int, bool, int]]
    labels: list[Any]
    features: list[dict[str, Any]]
    ids: list[Hashable]


def read_log(
    frame: Any,
    decided_at: str | None,
    labelled_at: str | None,
    label: str,
    at_end: str,
    id: str | None = None,
    *,
    timed: bool = False,
    missing: Any = None,
) -> Log:
    """Return a log; raise ValueError if any row makes no sense.

    Columns of times are found by their usual names. ``missing`` is the label of decisions whose windows end without
    one, and stands in rows without a time where logs write it there.
    """
    if not batches.is_frame(frame):
        way = ": read the file first, for example with polars.read_csv" if isinstance(frame, (str, Path)) else ""
        raise ValueError(f"a log must be a frame or a dict of columns, got {brief(frame)}{way}")
    if decided_at is None or labelled_at is None:
        decided_at, labelled_at = find_times(batches.names_of(frame), decided_at, labelled_at, _ROLES, label)
    times, come, labels = (batches.column(frame, name) for name in (decided_at, labelled_at, label))
    if id not in (None, "id") and "id" in batches.names_of(frame):
        raise ValueError(f"the log has a column 'id' beside {id!r}: rename it, or leave it out")
    if id is None and "id" in batches.names_of(frame):
        id = "id"
    features = batches.records(frame, without=(decided_at, labelled_at, label, "id" if id is None else id))
    ids: list[Hashable] = [None] * len(times) if id is None else batches.as_ids(batches.column(frame, id))
    for i, (time, y) in enumerate(zip(times, labels, strict=True)):
        if batches.is_missing(time):
            raise ValueError(f"row {i} has no time in {decided_at!r}: every decision needs one")
        if batches.is_missing(come[i]):
            come[i] = None
            if not (batches.is_missing(y) or _is_same(y, missing)):
                raise without_time(i, brief(y), labelled_at, missing)
        elif batches.is_missing(y) or is_endless(y):
            said = "no label" if batches.is_missing(y) else f"the label {brief(y)}, which is not finite"
            raise ValueError(f"row {i} has {said}: leave {labelled_at!r} empty where no label came")
    first: dict[Hashable, int] = {}
    for i, own in enumerate(ids):
        if own is not None and first.setdefault(own, i) != i:  # it would be taken for the first decision, repeated
            raise ValueError(f"rows {first[own]} and {i} have the same id {own!r}: each decision needs its own")
    (starts, ends), _ = as_stamps({decided_at: times, labelled_at: come})
    order = sorted(range(len(starts)), key=starts.__getitem__)
    arrivals = [i for i in order if ends[i] is not None]
    early = next((i for i in arrivals if ends[i] < starts[i]), None)
    # A label comes after all decisions up to its time.
    moments = [(starts[i], False, i) for i in order] + [(ends[i], True, i) for i in arrivals]
    moments.sort(key=itemgetter(0, 1))
    if early is not None:
        raise ValueError(f"row {early} is labelled at {come[early]}, before it was decided at {times[early]}")
    last = starts[order[-1]] if order else None
    # In the moment of the last decision windows end too, and their labels count to the last.
    while at_end == DROP and moments and moments[-1][1] and not (timed and moments[-1][0] == last):
        moments.pop()
    events = [
        (i, is_label, as_moment(time, f"row {i}: {labelled_at if is_label else decided_at}") if timed else 0)
        for time, is_label, i in moments
    ]
    return Log(events, labels, features, ids)


def without_time(row: int, label: str, labelled_at: str, missing: Any = None) -> ValueError:
    """Return the error for a label without a time, which would silently count as the missing label, or not at all."""
    counts = "it would not count" if missing is None else f"it would count as {missing} when its window ends"
    remedy = "give the time, empty the label, or, where all such rows have this label, give a window and missing"
    return ValueError(f"row {row} has the label {label} and no time in {labelled_at!r}, so {counts}: {remedy}")


def _is_same(label: Any, missing: Any) -> bool:
    """Return whether a label is the one of decisions without any."""
    return not isinstance(label, np.ndarray) and bool(plain_label(label) == missing)


def check_features(features: list[Any], pack: Callable[[Any], Any]) -> list[Any]:
    """Return features packed for their store; refuse those that cannot be, naming the row."""
    packed = []
    for i, given in enumerate(features):
        try:
            packed.append(pack(given))
        except ValueError as error:
            raise ValueError(f"row {i}: {error}") from error
    return packed
