"""Rows: what a join hands out, and by which numbers an outbox knows them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import partial
from typing import Any, NamedTuple, cast

from tarry.checks import as_int


class Row(NamedTuple):
    """One training row: weigh it by ``weight`` and every sum is unbiased; ``id`` is the decision's.

    A model fitted to all rows takes their weights over the mean of these weights, so that a penalty keeps its meaning;
    :meth:`LabelJoin.steps` is for models that take steps. ``relative`` is the weight over the mean weight of the rows
    given out so far, this one included. ``number`` counts the rows given out.
    """

    features: Any
    label: Any
    weight: float
    id: Hashable = None
    relative: float = 1.0
    number: int = 0


new_row = partial(tuple.__new__, Row)


def row_numbers(given: int | Iterable[int] | None, name: str) -> list[int]:
    """Return the numbers of rows, from one or several."""
    listed = given if hasattr(given, "__iter__") else [] if given is None else [given]
    return [as_int(one, name) for one in cast(Iterable[Any], listed)]
