"""Rows: what a join hands out, and an outbox that keeps them until whoever reads them has acknowledged them.

A row of the outbox is stored as an item under minus its number, which no round has: one table, one transaction.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import partial
from typing import Any, NamedTuple, cast

from tarry.checks import as_int
from tarry.errors import StoreError
from tarry.live.core import ACKED
from tarry.live.encoding import Item, Unreadable
from tarry.live.tracker import Tracker
from tarry.live.values import brief
from tarry.outcomes import Answer


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


def keep(tracker: Tracker, row: Row, item: Item) -> None:
    """Keep a row that is handed out; its features stay packed as they are in the item of its decision."""
    kept = (row.label, row.weight, row.relative)
    tracker.items[-row.number] = Item(item.id, True, (), Answer.USED, None, item.payload, kept)


def rows_after(tracker: Tracker, after: int | None, limit: int | None) -> list[Row]:
    """Return the rows kept after a number, or after those acknowledged, and at most so many."""
    acked, given = tracker.slots.marks[ACKED], tracker.slots.given
    first = acked if after is None else after
    if not acked <= first <= given:
        known = f"rows up to {acked} were acknowledged and are gone, and {given} were given out"
        raise ValueError(f"after is {first}, but {known}: give a number from {acked} to {given}")
    last = given if limit is None else min(given, first + limit)
    rows: list[Row] = []
    for number in range(first + 1, last + 1):
        try:
            rows.append(_kept(tracker, number))
        except Unreadable:
            if rows:  # those before it come first
                break
            raise
    return rows


def _kept(tracker: Tracker, number: int) -> Row:
    try:
        item = tracker.items.get(-number)
        if item is None:
            raise StoreError(f"the store has lost row {number} of its outbox: restore a copy of it")
        features = tracker.items.unpack(item.payload)
    except Unreadable as error:
        problem = f"row {number} of the outbox cannot be read by this process ({brief(str(error.__cause__))})"
        raise Unreadable(f"{problem}: read it where it was written, or give it up with ack({number})") from error
    label, weight, relative = item.gathered
    return new_row((features, label, weight, item.id, relative, number))


def acknowledge(tracker: Tracker, number: int, _: Any = None) -> int:
    """Forget the rows up to a number; return how many are left."""
    marks, given = tracker.slots.marks, tracker.slots.given
    if number > given:
        raise ValueError(f"row {number} was not given out yet, only {given} were: acknowledge those you have")
    for done in range(marks[ACKED] + 1, number + 1):
        tracker.items.pop(-done, None)
    marks[ACKED] = max(marks[ACKED], number)
    return left(tracker)


def left(tracker: Tracker) -> int:
    """Return how many rows are kept."""
    return int(tracker.slots.given - tracker.slots.marks[ACKED])
