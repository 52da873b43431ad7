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

Contents = list[dict[str, Any]]
READY = {"ready": "player"}
"""Where a cell's content has another word for a column."""
DIGEST = "digest"
"""What only files have."""


class Labels:
    """Gives each thing its label, with a number where others have had it; nothing is called by two names.

    >>> call = Labels()
    >>> call("a", 1), call("a", 2), call("b", 1), call("a", 1)
    ('a', 'a #2', 'b', 'a')
    """

    def __init__(self) -> None:
        self._given: dict[tuple[str, Hashable], str] = {}
        self._last: dict[str, int] = {}

    def __call__(self, label: str, thing: Hashable) -> str:
        """The label of a thing; the same whenever it is asked for."""
        if (found := self._given.get((label, thing))) is not None:
            return found
        name, number = label, self._last.get(label, 1)
        while name in self._last:
            number += 1
            name = f"{label} #{number}"
        self._last[label] = number
        self._last.setdefault(name, 1)
        self._given[label, thing] = name
        return name


def told_apart(labels: Iterable[str | None], things: Iterable[Hashable]) -> list[str | None]:
    """The labels, with a number from the second of the things on that share one; None stays."""
    call = Labels()
    return [None if label is None else call(label, thing) for label, thing in zip(labels, things, strict=True)]


def labelled(cells: pl.DataFrame, games: Contents, players: Contents) -> pl.DataFrame:
    """Cells with the lines of their members told apart by what is in them."""
    import polars as pl

    rooms = {**dict.fromkeys(GAME_PARTS, games), **dict.fromkeys(PLAYER_KEYS, players)}
    return cells.with_columns(
        pl.Series(name, told_apart(cells[name], [repr(one.get(READY.get(name, name))) for one in room]), pl.String)
        for name, room in rooms.items()
    )


def contents_of(cells: pl.DataFrame) -> tuple[Contents, Contents]:
    """The game and the player of each cell, as its content has them; of files what is in them, without their names."""
    plain = [json.loads(one, object_hook=_nameless if DIGEST in one else None) for one in cells["content"]]
    return [one["game"] for one in plain], [one["player"] for one in plain]


def _nameless(table: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in table.items() if name != "file"} if DIGEST in table else table
