"""Tables in short: means over seeds, by what varies."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from tarry.checks import pick
from tarry.experiments.columns import GAME_PARTS, GAME_RULES, GAME_SIZES, PLAYER_KEYS, contents_of, labelled
from tarry.experiments.folder import Tables

# Columns of cells that say much; they are left out where cells are joined to runs or curves.
LONG = ("content", "versions", "warnings")


def varied(cells: pl.DataFrame) -> list[str]:
    """Return the game, the player, and every column that tells apart cells which those before it do not."""
    axes = [name for name in cells.columns if name.startswith("axis_")]
    chosen = ["game", "player"]
    # Numbers before members in one line: what a size or an axis explains needs no line.
    for name in (*GAME_SIZES, *GAME_RULES, *axes, *GAME_PARTS, *PLAYER_KEYS):
        if cells.n_unique([*chosen, name]) > cells.n_unique(chosen):
            chosen.append(name)
    return chosen


def summarise(tables: Tables, by: Sequence[str] = ()) -> pl.DataFrame:
    """Return means over seeds for each combination of the columns ``by`` (default: those that vary)."""
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
    # Runs of one seed share its draws, whatever else they differ in: they are averaged first, so that the standard
    # error is that of independent seeds.
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
    """Return one of the tables; runs and curves with the columns of their cell before their own."""
    if name == "cells":
        return tables.cells
    table: pl.DataFrame = getattr(tables, pick(name, Tables._fields, "table", what="table"))
    cells = tables.cells.drop(*LONG, *(one for one in tables.cells.columns if one in table.columns and one != "cell"))
    return cells.join(table, on="cell", maintain_order="left_right")
