"""A log of decisions and labels in the order of time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from tarry.live.batches import column, is_missing
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
    times, come, labels = (column(frame, name) for name in (decided_at, labelled_at, label))
    log = Log(times, come, labels, (decided_at, labelled_at))
    untimed = next((i for i, time in enumerate(log.times) if is_missing(time)), None)
    if untimed is not None:
        raise ValueError(f"row {untimed} has no time in {decided_at!r}: every decision needs one")
    endless = next((i for i, y in enumerate(log.labels) if not is_missing(log.come[i]) and is_endless(y)), None)
    if endless is not None:
        raise ValueError(
            f"row {endless} has the label {log.labels[endless]}, which is not finite: leave {labelled_at!r} empty "
            "where no label came"
        )
    return log


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
