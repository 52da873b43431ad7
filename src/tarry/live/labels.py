"""Labels: what may be one, what several come to by the end of a window, and logs in which they come with time."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from decimal import Decimal
from math import isfinite
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tarry.live.batches import as_ids, column, is_frame, is_missing, names_of, records
from tarry.live.core import LARGEST
from tarry.live.encoding import brief

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
    """A log that makes sense: rows in the order of time, each for its decision or its label (True), and columns."""

    events: list[tuple[int, bool]]
    labels: list[Any]
    features: list[dict[str, Any]]
    ids: list[Hashable]


def read_log(frame: Any, decided_at: str, labelled_at: str, label: str, at_end: str) -> Log:
    """Return a log; raise ValueError if any row makes no sense."""
    if not is_frame(frame):
        way = ": read the file first, for example with polars.read_csv" if isinstance(frame, (str, Path)) else ""
        raise ValueError(f"a log must be a frame or a dict of columns, got {brief(frame)}{way}")
    times, come, labels = (column(frame, name) for name in (decided_at, labelled_at, label))
    features = records(frame, without=(decided_at, labelled_at, label, "id"))
    ids: list[Hashable] = as_ids(frame) if "id" in names_of(frame) else [None] * len(times)
    for i, (time, y) in enumerate(zip(times, labels, strict=True)):
        if is_missing(time):
            raise ValueError(f"row {i} has no time in {decided_at!r}: every decision needs one")
        if not is_missing(come[i]) and (is_missing(y) or is_endless(y)):
            said = "no label" if is_missing(y) else f"the label {brief(y)}, which is not finite"
            raise ValueError(f"row {i} has {said}: leave {labelled_at!r} empty where no label came")
    first: dict[Hashable, int] = {}
    for i, id in enumerate(ids):
        if id is not None and first.setdefault(id, i) != i:  # it would be taken for the first decision, repeated
            raise ValueError(f"rows {first[id]} and {i} have the same id {id!r}: each decision needs its own")
    try:
        order = sorted(range(len(times)), key=times.__getitem__)
        arrivals = [i for i in order if not is_missing(come[i])]
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
    while at_end == DROP and moments and moments[-1][1]:
        moments.pop()
    return Log([(i, is_label) for _, is_label, i in moments], labels, features, ids)


def check_features(features: list[Any], pack: Callable[[Any], Any]) -> None:
    """Refuse features that cannot be packed for their store, naming the row."""
    for i, given in enumerate(features):
        try:
            pack(given)
        except ValueError as error:
            raise ValueError(f"row {i}: {error}") from error
