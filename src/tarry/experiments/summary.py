"""Tables in short: means over seeds, by what varies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tarry.experiments.collect import Tables, read_table
from tarry.experiments.folder import PLAN, Folder
from tarry.experiments.words import pick
from tarry.results.columns import (
    CELLS,
    CURVES,
    GAME_PARTS,
    GAME_RULES,
    GAME_SIZES,
    PLAYER_KEYS,
    RUNS,
    polars_schema,
)
from tarry.results.labels import contents_of, labelled

if TYPE_CHECKING:
    import polars as pl

ALWAYS = ("game", "player")
FIRST = (*GAME_SIZES, *GAME_RULES)
LAST = (*GAME_PARTS, *PLAYER_KEYS)
LONG = ("content", "versions", "warnings")
"""Columns of cells that say much and are left out where cells are joined to runs or curves."""


def read_tables(path: Path) -> Tables:
    """The tables of a folder: everything finished so far, or, where there are no parts, what was collected there."""
    folder = Folder(path)
    if folder.parts.is_dir() and (path / PLAN).is_file():
        return folder.tables()
    paths = {name: path / f"{name}.parquet" for name in Tables._fields}
    if not all(one.is_file() for one in paths.values()):
        raise ValueError(f"{path} holds no results: run a sweep first, tarry sweep run FILE")
    columns = {"cells": CELLS, "runs": RUNS, "curves": CURVES}
    return Tables(
        **{
            name: read_table(one, polars_schema(columns[name]), "tarry sweep collect FILE")
            for name, one in paths.items()
        }
    )


def varied(cells: pl.DataFrame) -> list[str]:
    """The game, the player, and every column that tells apart cells which those before it do not."""
    axes = [name for name in cells.columns if name.startswith("axis_")]
    chosen = list(ALWAYS)
    for name in (*FIRST, *axes, *LAST):
        if cells.n_unique([*chosen, name]) > cells.n_unique(chosen):
            chosen.append(name)
    return chosen


def summarise(tables: Tables, by: Sequence[str] = ()) -> pl.DataFrame:
    """Means over seeds for each combination of the columns ``by`` (default: those that vary).

    Runs of one seed share its draws, whatever else they differ in: they are averaged first, so that the standard
    error is that of independent seeds.
    """
    import polars as pl

    cells = labelled(tables.cells, *contents_of(tables.cells))
    columns = [name for name in cells.columns if name not in LONG]
    keys = list(dict.fromkeys(pick(name, columns, "by", what="column") for name in by)) or varied(cells)
    own = [name for name in keys if name != "cell"]
    runs = cells.select("cell", *own).join(
        tables.runs.drop(name for name in own if name in tables.runs.columns), on="cell", maintain_order="left"
    )
    horizon = tables.runs.select("cell", "seed", rounds="horizon")
    runs = runs.join(horizon, on=["cell", "seed"], maintain_order="left")
    figures = {
        "bound": pl.col("bound"),
        "observed": pl.col("used") / pl.col("rounds"),
        "saturated": pl.col("saturated") / pl.col("rounds"),
        **{name: pl.col(name) for name in ("weight_mean", "weight_second_moment", "max_backlog")},
    }
    by_seed = runs.group_by([*keys, "seed"], maintain_order=True).agg(
        runs=pl.len(), regret=pl.col("regret").mean(), **{name: figure.mean() for name, figure in figures.items()}
    )
    return by_seed.group_by(keys, maintain_order=True).agg(
        runs=pl.col("runs").sum(),
        regret=pl.col("regret").mean(),
        standard_error=pl.col("regret").std(ddof=1) / pl.len().sqrt(),
        **{name: pl.col(name).mean() for name in figures},
    )


def joined(tables: Tables, name: str) -> pl.DataFrame:
    """One of the tables; runs and curves with the columns of their cell before their own."""
    if name == "cells":
        return tables.cells
    table: pl.DataFrame = getattr(tables, pick(name, Tables._fields, "table", what="table"))
    cells = tables.cells.drop(*LONG, *(one for one in tables.cells.columns if one in table.columns and one != "cell"))
    return cells.join(table, on="cell", maintain_order="left_right")
