"""A log of decisions and labels in the order of time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tarry.live.batches import column, is_frame, is_missing, names_of
from tarry.live.encoding import as_id, brief
from tarry.live.labels import is_endless

DROP, DELIVER = AT_END = ("drop", "deliver")


class Log(NamedTuple):
    """When each row was decided and labelled, its label, and the names of the first two columns."""

    times: list[Any]
    come: list[Any]
    labels: list[Any]
    names: tuple[str, str]


def log_of(frame: Any, decided_at: str, labelled_at: str, label: str) -> Log:
    """The columns of a frame that tell when; refused as a whole if a row makes no sense."""
    if not is_frame(frame):
        way = ": read the file first, for example with polars.read_csv" if isinstance(frame, (str, Path)) else ""
        raise ValueError(f"a log must be a frame or a dict of columns, got {brief(frame)}{way}")
    columns = {name: column(frame, name) for name in (decided_at, labelled_at, label)}
    sizes = {name: len(values) for name, values in columns.items()}
    if len(set(sizes.values())) > 1:
        raise ValueError(f"the columns must be equally long, got {sizes}")
    log = Log(columns[decided_at], columns[labelled_at], columns[label], (decided_at, labelled_at))
    untimed = next((i for i, time in enumerate(log.times) if is_missing(time)), None)
    if untimed is not None:
        raise ValueError(f"row {untimed} has no time in {decided_at!r}: every decision needs one")
    for i, y in enumerate(log.labels):
        if not is_missing(log.come[i]) and (is_missing(y) or is_endless(y)):
            said = "no label" if is_missing(y) else f"the label {brief(y)}, which is not finite"
            raise ValueError(f"row {i} has {said}: leave {labelled_at!r} empty where no label came")
    if "id" in names_of(frame):
        _check_ids(column(frame, "id"))
    return log


def _check_ids(ids: list[Any]) -> None:
    """Refuse a log that decides twice under one id: the second decision would be taken for the first, repeated."""
    first: dict[Any, int] = {}
    for i, id in enumerate(ids):
        j = first.setdefault(as_id(id), i)
        if j != i:
            raise ValueError(f"rows {j} and {i} have the same id {id!r}: each decision needs its own")


def check_features(features: list[Any], pack: Callable[[Any], Any]) -> None:
    """Refuse features that cannot be packed for their store, naming the row."""
    for i, given in enumerate(features):
        try:
            pack(given)
        except ValueError as error:
            raise ValueError(f"row {i}: {error}") from error


def in_order(log: Log, at_end: str) -> Iterator[tuple[int, bool]]:
    """Rows in the order of time, and whether each comes for its label (else for its decision)."""
    try:
        order = sorted(range(len(log.times)), key=log.times.__getitem__)
        arrivals = sorted((i for i in order if not is_missing(log.come[i])), key=log.come.__getitem__)
        early = next((i for i in arrivals if log.come[i] < log.times[i]), None)
    except TypeError as error:
        raise ValueError(
            f"the times in {log.names[0]!r} and {log.names[1]!r} cannot be compared with each other ({error}): give "
            "all of them one type"
        ) from error
    if early is not None:
        raise ValueError(f"row {early} is labelled at {log.come[early]}, before it was decided at {log.times[early]}")
    return _merged(log, order, arrivals, at_end)


def _merged(log: Log, order: list[int], arrivals: list[int], at_end: str) -> Iterator[tuple[int, bool]]:
    due = 0
    for i in order:
        while due < len(arrivals) and log.come[arrivals[due]] < log.times[i]:
            yield arrivals[due], True
            due += 1
        yield i, False
    if at_end == DELIVER:
        yield from ((i, True) for i in arrivals[due:])
