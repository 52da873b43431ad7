"""Labels: which can be used, how several of one decision are taken together, and what none of them come to."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from decimal import Decimal
from math import isfinite
from typing import Any

import numpy as np

from tarry.live import batches
from tarry.live.core import LARGEST
from tarry.live.values import brief, has_marks, text_of

FIRST, SUM, ALL = "first", "sum", "all"
# What the labels that have gathered come to.
RULES: dict[str, Callable[[tuple[Any, ...]], Any]] = {
    FIRST: lambda y: y[0],
    "last": lambda y: y[-1],
    SUM: sum,
    ALL: list,
}
_NONE: dict[str, Callable[[], Any]] = {SUM: int, ALL: list}  # what none of them come to; of others there is none
UNSAID: Any = object()
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
    return label is not None and batches.is_missing(label)


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
    is_whole = not isinstance(label, (list, tuple, dict))
    packed = None if is_whole else pack(label, what)  # which says where in it something is wrong
    check_label(id, label)
    plain = plain_label(label)
    if rule == SUM and not (isinstance(plain, (int, float)) and abs(plain) < LARGEST):
        raise ValueError(
            f"this join adds labels up, so each must be a finite number below 1e100 in size, and that of {id!r} "
            f"is {brief(label)}: nothing was changed"
        )
    return pack(plain, what) if is_whole else packed


def as_missing(id: Hashable, missing: Any, rule: str, pack: Callable[[Any, str], Any]) -> Any:
    """Return what stands for a decision without labels: None, what could have been one, or what none come to."""
    if missing is UNSAID:
        return _NONE.get(rule, lambda: None)()
    return None if missing is None else as_gathered(id, missing, rule, pack)


def as_json(label: Any, what: str) -> Any:
    """Return a label that a configuration can hold; raise ValueError about any other."""
    text = text_of(label, what)
    if has_marks(text):
        raise ValueError(f"{what} must be a JSON value, got {brief(label)}: give a number, a text, or a list of them")
    return json.loads(text)


def plain_label(label: Any) -> Any:
    """Return a label with NumPy's numbers as Python's."""
    if isinstance(label, np.ndarray) and not label.ndim:
        label = label[()]
    if isinstance(label, np.floating):
        return float(label)  # also of the long ones, whose item() is their own kind
    # A time in nanoseconds would become a whole number.
    return label.item() if isinstance(label, np.generic) and label.dtype.kind not in "mM" else label
