"""The columns of results: what runs are written down as, in Parquet.

Three tables, joined on ``cell``: CELLS says what was asked, RUNS what one seed gave, CURVES the way there.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from tarry.experiments.files import without_file_names

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


class Column(NamedTuple):
    """A column's type, by the name Polars has for it, and its meaning."""

    kind: str
    meaning: str


# One row for each cell of the plan; one more column, ``axis_NAME``, for every axis that is not a key of the game.
CELLS = {
    "cell": Column("String", "the cell's identity, a hash of its content; here and in runs and curves"),
    "combination": Column("String", "the same without the seeds: cells that differ in seeds only share it"),
    "sweep": Column("String", "the sweep's name"),
    "game": Column("String", "the game's name in the file"),
    "player": Column("String", "the player's name in the file"),
    "capacity": Column("Int64", "slots, C; null for no limit"),
    "horizon": Column("Int64", "rounds, T; null where the delays have a length of their own (runs always say it)"),
    "dimension": Column("Int64", "k; null where the domain has one of its own"),
    "domain": Column("String", "the domain in one line"),
    "losses": Column("String", "the losses in one line"),
    "delays": Column("String", "the delays in one line"),
    "feedback": Column("String", "gradient, value or example"),
    "queries": Column("Int64", "values a round that the game grants"),
    "information": Column("String", "what is learnt about delays"),
    "preemption": Column("Boolean", "whether tracked rounds may be dropped"),
    "learner": Column("String", "the learner in one line; null for a ready player"),
    "scheduler": Column("String", "the scheduler in one line; null for a ready player"),
    "epochs": Column("String", "the restarts in one line; null where there are none"),
    "ready": Column("String", "the ready player in one line; null for a learner with a scheduler"),
    "seeds": Column("Int64", "how many seeds the cell has"),
    "first_seed": Column("Int64", "its first seed"),
    "content": Column("String", "everything that makes the cell what it is, as canonical JSON"),
    "seconds": Column("Float64", "how long its seeds took together, compiling included; null until it is finished"),
    "warnings": Column("String", "what a reader should know before trusting the numbers, a line each"),
    "versions": Column("String", "JSON: the versions it was computed with"),
    "schema": Column("Int64", "the version of this list of columns"),
}
# One row for each seed of each finished cell.
RUNS = {
    "cell": Column("String", "the cell's identity"),
    "seed": Column("Int64", "the seed, of the game and of the player"),
    "horizon": Column("Int64", "rounds, T"),
    "dimension": Column("Int64", "k"),
    "capacity": Column("Int64", "slots, C; null for no limit"),
    "learner_played": Column("String", "the learner's type"),
    "scheduler_played": Column("String", "the scheduler's type"),
    "total_delay": Column("Int64", "the sum of all delays, cut to the horizon"),
    "max_delay": Column("Int64", "the largest delay"),
    "max_backlog": Column("Int64", "σ_max: the most rounds waiting at once"),
    "regret": Column("Float64", "final regret against the best fixed action of the horizon"),
    "loss": Column("Float64", "total loss of the plays"),
    "comparator_gap": Column("Float64", "regret is known to this much: the comparator's certified gap"),
    "bound": Column("Float64", "the certificate's bound on the weighted regret; NaN where there is none"),
    "regularisation": Column("Float64", "its part D²/(2η)"),
    "own": Column("Float64", "its part from squared weights"),
    "pairs": Column("Float64", "its part from weights that were out together"),
    "smoothing": Column("Float64", "its part from a bandit's exploration"),
    "left_out": Column("Float64", "what the strongly convex form leaves out; bound + left_out holds on every path"),
    "holds": Column("String", "what the bound holds for; null where there is none"),
    "used": Column("Int64", "rounds whose feedback was used"),
    "untracked": Column("Int64", "rounds the scheduler declined"),
    "saturated": Column("Int64", "rounds that found no room"),
    "preempted": Column("Int64", "rounds dropped again"),
    "expired": Column("Int64", "tracked rounds that were given up"),
    "pending": Column("Int64", "rounds still out at the end; these six sum to the horizon"),
    "occupancy_mean": Column("Float64", "tracked rounds, on average over rounds"),
    "occupancy_peak": Column("Float64", "tracked rounds, at most"),
    "occupancy_full": Column("Float64", "share of rounds that found the set full"),
    "weight_mean": Column("Float64", "mean weight over all rounds, unseen ones zero"),
    "weight_second_moment": Column("Float64", "mean squared weight"),
    "weight_max": Column("Float64", "the largest weight"),
    "effective_sample_size": Column("Float64", "(Σw)²/Σw²"),
}
# One row for each checkpoint of each run.
CURVES = {
    "cell": Column("String", "the cell's identity"),
    "seed": Column("Int64", "the seed"),
    "t": Column("Int64", "the round, from 1"),
    "regret": Column("Float64", "regret after round t against the best fixed action of the whole horizon"),
    "loss": Column("Float64", "loss of the plays up to round t"),
    "bound": Column("Float64", "the certificate's bound at t; NaN where there is none"),
}
# A part file keeps a run and its curve in one row, so that both reach the disk together.
CURVE_LISTS = {name: f"curve_{name}" for name in CURVES if name not in ("cell", "seed")}
# What part files say of a cell besides its runs, on each of its rows: known only once the cell was played.
CELL_FIGURES = ("seconds", "warnings", "versions", "schema")


def polars_schema(table: dict[str, Column]) -> dict[str, pl.DataType]:
    """Return a table's columns with the types that Polars has for them."""
    return {name: getattr(pl, column.kind)() for name, column in table.items()}


def part_schema() -> dict[str, Any]:
    """Return the columns of part files: runs, what is said of their cell, and curves as lists."""
    said = {name: CELLS[name] for name in CELL_FIGURES}
    curves = {listed: pl.List(getattr(pl, CURVES[name].kind)) for name, listed in CURVE_LISTS.items()}
    return {**polars_schema(RUNS), **polars_schema(said), **curves}


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
        if (found := self._given.get((label, thing))) is not None:
            return found
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
        pl.Series(name, told_apart(cells[name], [repr(one.get(READY.get(name, name))) for one in room]), pl.String)
        for name, room in rooms.items()
    )


def contents_of(cells: pl.DataFrame) -> tuple[Contents, Contents]:
    """Return the game and the player of each cell, with the hashes of data files and without their names."""
    plain = [json.loads(content) for content in cells["content"]]
    # Few sweeps name files, and a hundred thousand trees take a while to walk.
    plain = [
        without_file_names(one) if '"digest"' in text else one
        for one, text in zip(plain, cells["content"], strict=True)
    ]
    return [one["game"] for one in plain], [one["player"] for one in plain]
