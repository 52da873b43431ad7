"""Logs of decisions and labels, read from frames and checked before the first decision."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from tarry.live import batches
from tarry.live.labels import is_endless
from tarry.live.values import brief
from tarry.times import as_moment

DROP, DELIVER = AT_END = ("drop", "deliver")  # labels after the last decision of a log


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
    decided_at: str,
    labelled_at: str,
    label: str,
    at_end: str,
    id: str | None = None,
    *,
    timed: bool = False,
) -> Log:
    """Return a log; raise ValueError if any row makes no sense."""
    if not batches.is_frame(frame):
        way = ": read the file first, for example with polars.read_csv" if isinstance(frame, (str, Path)) else ""
        raise ValueError(f"a log must be a frame or a dict of columns, got {brief(frame)}{way}")
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
        if not batches.is_missing(come[i]) and (batches.is_missing(y) or is_endless(y)):
            said = "no label" if batches.is_missing(y) else f"the label {brief(y)}, which is not finite"
            raise ValueError(f"row {i} has {said}: leave {labelled_at!r} empty where no label came")
    first: dict[Hashable, int] = {}
    for i, own in enumerate(ids):
        if own is not None and first.setdefault(own, i) != i:  # it would be taken for the first decision, repeated
            raise ValueError(f"rows {first[own]} and {i} have the same id {own!r}: each decision needs its own")
    try:
        order = sorted(range(len(times)), key=times.__getitem__)
        arrivals = [i for i in order if not batches.is_missing(come[i])]
        early = next((i for i in arrivals if come[i] < times[i]), None)
        # A label comes after all decisions up to its time.
        moments = [(times[i], False, i) for i in order] + [(come[i], True, i) for i in arrivals]
        moments.sort(key=itemgetter(0, 1))
    except TypeError as error:
        raise ValueError(
            f"the times in {decided_at!r} and {labelled_at!r} cannot be compared with each other ({error}): give "
            "all of them one type"
        ) from error
    if early is not None:
        raise ValueError(f"row {early} is labelled at {come[early]}, before it was decided at {times[early]}")
    last = times[order[-1]] if order else None
    # In the moment of the last decision windows end too, and their labels count to the last.
    while at_end == DROP and moments and moments[-1][1] and not (timed and moments[-1][0] == last):
        moments.pop()
    events = [
        (i, is_label, as_moment(time, f"row {i}: {labelled_at if is_label else decided_at}") if timed else 0)
        for time, is_label, i in moments
    ]
    return Log(events, labels, features, ids)


def check_features(features: list[Any], pack: Callable[[Any], Any]) -> None:
    """Refuse features that cannot be packed for their store, naming the row."""
    for i, given in enumerate(features):
        try:
            pack(given)
        except ValueError as error:
            raise ValueError(f"row {i}: {error}") from error
