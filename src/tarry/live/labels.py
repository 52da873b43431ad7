"""What may be a label, and what several of them come to."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from math import isfinite
from typing import Any

import numpy as np

from tarry.live.texts import brief, text_of

FIRST, SUM = "first", "sum"
# What the labels that have gathered come to; with "first" none gather.
RULES: dict[str, Callable[[tuple[Any, ...]], Any]] = {"last": lambda y: y[-1], SUM: sum, "all": list}
MOST = 1e100  # far from where sums and squares could overflow


def is_endless(label: Any) -> bool:
    """Whether this is a number that is not finite."""
    return isinstance(label, (float, np.floating)) and not isfinite(label)


def check_label(id: Hashable, label: Any) -> None:
    """Refuse a number that is not finite: it is a mistake somewhere, and would be used up as a label."""
    if is_endless(label):
        raise ValueError(
            f"the label of {id!r} is {float(label)}, which is not finite: give a finite number, or expire({id!r}); "
            "nothing was changed"
        )


def as_gathered(id: Hashable, label: Any, rule: str, *, is_durable: bool) -> Any:
    """A label that can be kept with the others: of NumPy's numbers the same as Python's."""
    check_label(id, label)
    plain = label.item() if isinstance(label, np.generic) else label
    if rule == SUM and not (isinstance(plain, (int, float)) and abs(plain) < MOST):
        raise ValueError(
            f"this join adds labels up, so each must be a finite number below 1e100 in size, and that of {id!r} "
            f"is {brief(label)}: nothing was changed"
        )
    if is_durable:
        text_of(plain, f"the label of {id!r}")
    return plain
