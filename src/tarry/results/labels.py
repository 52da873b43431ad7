"""Labels of what differs: short, and never the same for two things.

The columns of cells tell members in one line, long lists and files in short (``[500 entries]``, ``log.csv``), so two
members may read alike. Whoever groups by these columns would pool what has nothing in common; a number is added.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

from tarry.results.columns import GAME_PARTS, PLAYER_KEYS

if TYPE_CHECKING:
    import polars as pl

READY = {"ready": "player"}
"""Where a cell's content has another word for a column."""
DIGEST = "digest"
"""What only files have."""


def told_apart(labels: Iterable[str | None], things: Iterable[Hashable]) -> list[str | None]:
    """The labels, with a number from the second of the things on that share one; None stays.

    >>> told_apart(["a", "a", "b", "a"], [1, 2, 1, 1])
    ['a', 'a #2', 'b', 'a']
    """
    given: dict[tuple[str, Hashable], str] = {}
    counts: dict[str, int] = {}
    pairs = list(zip(labels, things, strict=True))
    taken = {label for label, _ in pairs if label is not None}
    for label, thing in pairs:
        if label is None or (label, thing) in given:
            continue
        number = counts.get(label, 0) + 1
        while number > 1 and f"{label} #{number}" in taken:  # somebody's own name
            number += 1
        counts[label] = number
        given[label, thing] = label if number == 1 else f"{label} #{number}"
    return [None if label is None else given[label, thing] for label, thing in pairs]


def labelled(cells: pl.DataFrame) -> pl.DataFrame:
    """Cells with the lines of their members told apart by what is in them."""
    import polars as pl

    games, players = contents_of(cells)
    rooms = {**dict.fromkeys(GAME_PARTS, games), **dict.fromkeys(PLAYER_KEYS, players)}
    return cells.with_columns(
        pl.Series(name, told_apart(cells[name], [repr(one.get(READY.get(name, name))) for one in room]), pl.String)
        for name, room in rooms.items()
    )


def contents_of(cells: pl.DataFrame) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The game and the player of each cell, as its content has them; of files what is in them, without their names."""
    plain = [json.loads(one, object_hook=_nameless if DIGEST in one else None) for one in cells["content"]]
    return [one["game"] for one in plain], [one["player"] for one in plain]


def _nameless(table: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in table.items() if name != "file"} if DIGEST in table else table
