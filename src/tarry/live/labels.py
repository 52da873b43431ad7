"""Labels: what may be one, what several come to by the end of a window, and logs in which they come with time."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from decimal import Decimal
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tarry.live.batches import column, is_frame, is_missing, names_of
from tarry.live.core import LARGEST
from tarry.live.encoding import as_id, brief

FIRST, SUM = "first", "sum"
# What the labels that have gathered come to; with "first" none gather.
RULES: dict[str, Callable[[tuple[Any, ...]], Any]] = {"last": lambda y: y[-1], SUM: sum, "all": list}
_NONE: dict[str, Callable[[], Any]] = {SUM: int, "all": list}  # what none of them come to; of "last" there is none
UNSAID: Any = object()
DROP, DELIVER = AT_END = ("drop", "deliver")  # labels after the last decision of a log
_DEEP = 20  # levels that are looked into: a list may contain itself


def is_endless(label: Any, deep: int = 0) -> bool:
    """Return whether this is a number that is not finite, or holds one."""
    if isinstance(label, (float, np.floating)):
        return not isfinite(label)
    if isinstance(label, (complex, np.complexfloating)):
        return not (isfinite(label.real) and isfinite(label.imag))
    if isinstance(label, Decimal):
        return not label.is_finite()
    if isinstance(label, np.ndarray) and label.dtype.kind in "fc":
        return not np.isfinite(label).all()
    parts = label.values() if isinstance(label, dict) else label.ravel() if isinstance(label, np.ndarray) else label
    if isinstance(label, (list, tuple, dict, np.ndarray)):
        return deep < _DEEP and any(is_endless(part, deep + 1) for part in parts)
    return label is not None and is_missing(label)


def check_label(id: Hashable, label: Any) -> None:
    """Refuse a number that is not finite: it is a mistake somewhere, and would be used up as a label."""
    if is_endless(label):
        shown = float(label) if isinstance(label, (float, np.floating)) else brief(label)
        where = "and something in it" if isinstance(label, (list, tuple, dict, np.ndarray)) else "which"
        raise ValueError(
            f"the label of {id!r} is {shown}, {where} is not finite: give a finite number, or, where "
            "there is none yet, make no call; nothing was changed"
        )


def as_gathered(id: Hashable, label: Any, rule: str, pack: Callable[[Any, str], Any]) -> Any:
    """Return a label that can be kept with the others, packed: of NumPy's numbers the same as Python's."""
    what = f"the label of {id!r}"
    if isinstance(label, (list, tuple, dict)):
        label = pack(label, what)  # which says where in it something is wrong
    check_label(id, label)
    plain = _plain(label)
    if rule == SUM and not (isinstance(plain, (int, float)) and abs(plain) < LARGEST):
        raise ValueError(
            f"this join adds labels up, so each must be a finite number below 1e100 in size, and that of {id!r} "
            f"is {brief(label)}: nothing was changed"
        )
    return plain if isinstance(plain, (list, tuple, dict)) else pack(plain, what)


def as_missing(id: Hashable, missing: Any, rule: str) -> Any:
    """Return what stands for a decision without labels: None, what could have been one, or what none come to."""
    if missing is UNSAID:
        return _NONE.get(rule, lambda: None)()
    return None if missing is None else as_gathered(id, missing, rule, lambda label, _: label)


def _plain(label: Any) -> Any:
    if isinstance(label, np.ndarray) and not label.ndim:
        label = label[()]
    if isinstance(label, np.floating):
        return float(label)  # also of the long ones, whose item() is their own kind
    return label.item() if isinstance(label, np.generic) else label


class Log(NamedTuple):
    """When each row was decided and labelled, its label, and the names of the first two columns."""

    times: list[Any]
    come: list[Any]
    labels: list[Any]
    names: tuple[str, str]


def log_of(frame: Any, decided_at: str, labelled_at: str, label: str) -> Log:
    """Return the columns of a frame that tell when; raise ValueError if any row makes no sense."""
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
    first: dict[Any, int] = {}
    for i, id in enumerate(column(frame, "id") if "id" in names_of(frame) else ()):
        j = first.setdefault(as_id(id), i)
        if j != i:  # the second decision would be taken for the first, repeated
            raise ValueError(f"rows {j} and {i} have the same id {id!r}: each decision needs its own")
    return log


def check_features(features: list[Any], pack: Callable[[Any], Any]) -> None:
    """Refuse features that cannot be packed for their store, naming the row."""
    for i, given in enumerate(features):
        try:
            pack(given)
        except ValueError as error:
            raise ValueError(f"row {i}: {error}") from error


def in_order(log: Log, at_end: str) -> Iterator[tuple[int, bool]]:
    """Return rows in the order of time, and whether each comes for its label (else for its decision)."""
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
