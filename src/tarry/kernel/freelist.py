"""A free list: rows of an array, handed out and taken back, for pools of late feedback."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tarry.kernel.compile import step

MADE, FREE, MARKS = range(3)


class FreeList(NamedTuple):
    """``marks`` = (rows ever handed out, one more than the first free one or 0), ``link`` the free ones after it."""

    link: np.ndarray
    marks: np.ndarray


def make_rows(rows: int) -> FreeList:
    """Return a free list in which all of this many rows are free."""
    return FreeList(np.zeros(rows, np.int64), np.zeros(MARKS, np.int64))


@step
def take_row(rows: FreeList) -> Any:
    """Take and return a free row; the caller knows that there is one."""
    if rows.marks[FREE] == 0:
        rows.marks[MADE] += 1
        return rows.marks[MADE] - 1
    row = rows.marks[FREE] - 1
    rows.marks[FREE] = rows.link[row]
    return row


@step
def give_row(rows: FreeList, row: int) -> None:
    """Free a row."""
    rows.link[row] = rows.marks[FREE]
    rows.marks[FREE] = row + 1


@step
def free_rows(rows: FreeList) -> None:
    """Free all rows."""
    rows.marks[MADE] = 0
    rows.marks[FREE] = 0
