"""The columns of results: what runs are written down as, in Parquet.

Three tables, joined on ``cell``: CELLS says what was asked, RUNS what one seed gave, CURVES the way there.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any

import polars as pl

from tarry.experiments.files import without_file_names
from tarry.outcomes import FATES

# Columns may be added under the same number (what was stored before has nulls there), never renamed, removed or given
# another meaning.
SCHEMA = 1

# The keys of a game: members, rules and sizes. Axes of these names set them, and are columns already.
GAME_PARTS = ("domain", "losses", "delays")
GAME_RULES = ("feedback", "queries", "information", "preemption")
GAME_SIZES = ("capacity", "horizon", "dimension")
GAME_KEYS = (*GAME_PARTS, *GAME_RULES, *GAME_SIZES)
# The columns that tell a player, members all of them; and the key of a cell's content that one column renames.
PLAYER_KEYS = ("learner", "scheduler", "epochs", "ready")
READY = {"ready": "player"}
Contents = list[dict[str, Any]]

# Types by column; docs/experiments.md has the meaning of each. CELLS has one more column, ``axis_NAME``, for every axis
# that is not a key of the game.
CELLS: dict[str, Any] = {
    **dict.fromkeys(("cell", "combination", "sweep", "game", "player"), pl.String()),
    **dict.fromkeys(GAME_SIZES, pl.Int64()),
    **dict.fromkeys((*GAME_PARTS, "feedback"), pl.String()),
    "queries": pl.Int64(),
    "information": pl.String(),
    "preemption": pl.Boolean(),
    **dict.fromkeys(PLAYER_KEYS, pl.String()),
    **dict.fromkeys(("seeds", "first_seed"), pl.Int64()),
    "content": pl.String(),
    "seconds": pl.Float64(),
    **dict.fromkeys(("warnings", "versions"), pl.String()),
    "schema": pl.Int64(),
}
RUNS: dict[str, Any] = {
    "cell": pl.String(),
    **dict.fromkeys(("seed", "horizon", "dimension", "capacity"), pl.Int64()),
    **dict.fromkeys(("learner_played", "scheduler_played"), pl.String()),
    **dict.fromkeys(("total_delay", "max_delay", "max_backlog"), pl.Int64()),
    **dict.fromkeys(("regret", "loss", "comparator_gap", "bound"), pl.Float64()),
    **dict.fromkeys(("regularisation", "variance", "overlap", "smoothing", "omitted_curvature"), pl.Float64()),
    "holds": pl.String(),
    "bounds_regret": pl.Boolean(),
    **dict.fromkeys(FATES, pl.Int64()),
    **dict.fromkeys(("occupancy_mean", "occupancy_peak", "occupancy_full"), pl.Float64()),
    **dict.fromkeys(("weight_mean", "weight_second_moment", "weight_max", "effective_sample_size"), pl.Float64()),
}
CURVES: dict[str, Any] = {
    "cell": pl.String(),
    **dict.fromkeys(("seed", "t"), pl.Int64()),
    **dict.fromkeys(("regret", "loss", "bound"), pl.Float64()),
}
# A part file keeps a run and its curve in one row, so that both reach the disk together. Each row also has what is
# said of its cell and known only once the cell was played.
CURVE_LISTS = {name: f"curve_{name}" for name in CURVES if name not in ("cell", "seed")}
CELL_FIGURES = ("seconds", "warnings", "versions", "schema")
PART: dict[str, Any] = RUNS | {name: CELLS[name] for name in CELL_FIGURES}
PART |= {listed: pl.List(CURVES[name]) for name, listed in CURVE_LISTS.items()}


def conformed(frame: pl.DataFrame, schema: dict[str, Any], source: Path) -> pl.DataFrame:
    """Return a stored frame with every column of today's schema, null where it came later; other columns stay."""
    version: Any = frame["schema"].max() if "schema" in frame.columns else None
    if version is not None and version > SCHEMA:
        raise ValueError(
            f"{source} has version {version} of the columns, and this release knows versions up to {SCHEMA}: read it "
            "with the release that wrote it, or pip install --upgrade tarry"
        )
    later = [pl.lit(None, kind).alias(name) for name, kind in schema.items() if name not in frame.columns]
    return frame.with_columns(later).select(*schema, *(name for name in frame.columns if name not in schema))


class Labels:
    """Give each thing its label, with a number where another thing has had it; nothing is called by two names.

    >>> call = Labels()
    >>> call("a", 1), call("a", 2), call("b", 1), call("a", 1)
    ('a', 'a #2', 'b', 'a')
    """

    def __init__(self) -> None:
        self._given: dict[tuple[str, Hashable], str] = {}
        self._last: dict[str, int] = {}

    def __call__(self, label: str, thing: Hashable) -> str:
        """Return the label of a thing; the same whenever the thing comes again."""
        if (label_before := self._given.get((label, thing))) is not None:
            return label_before
        name, number = label, self._last.get(label, 1)
        while name in self._last:  # a label may itself end in a number that was given out
            number += 1
            name = f"{label} #{number}"
        self._last[label] = number
        self._last.setdefault(name, 1)
        self._given[label, thing] = name
        return name


def told_apart(labels: Iterable[str | None], things: Iterable[Hashable]) -> list[str | None]:
    """Return the labels, with a number from the second of the things on that share one; None stays."""
    call = Labels()
    return [None if label is None else call(label, thing) for label, thing in zip(labels, things, strict=True)]


def labelled(cells: pl.DataFrame, games: Contents, players: Contents) -> pl.DataFrame:
    """Return cells with the lines of their members told apart by what is in them.

    Lines are short (``[500 entries]``, ``log.csv``), and grouping by equal ones would pool different members.
    """
    rooms = {**dict.fromkeys(GAME_PARTS, games), **dict.fromkeys(PLAYER_KEYS, players)}
    return cells.with_columns(
        pl.Series(name, told_apart(cells[name], [repr(cell.get(READY.get(name, name))) for cell in room]), pl.String)
        for name, room in rooms.items()
    )


def contents_of(cells: pl.DataFrame) -> tuple[Contents, Contents]:
    """Return the game and the player of each cell, with the hashes of data files and without their names."""
    # Few sweeps name files, and a hundred thousand trees take a while to walk.
    contents = ((json.loads(text), '"digest"' in text) for text in cells["content"])
    plain = [without_file_names(content) if names_files else content for content, names_files in contents]
    return [content["game"] for content in plain], [content["player"] for content in plain]
