"""Players without a limit as baselines: shown in every limited setting that they match."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from tarry.reports.view import View


def with_baselines(view: View) -> View:
    """The same, with players that never have a limit moved to the limited settings that are theirs but for that.

    Their runs then carry the capacity of the setting they stand in. Players that are met with and without a limit stay
    where they are.
    """
    import polars as pl

    moves = _moves(view)
    if not moves.height:
        return view
    left = set(moves["setting"])
    order = [pl.col(key).cast(pl.Enum(names)) for key, names in (("setting", view.settings), ("line", view.lines))]
    runs = _moved(view.runs, moves, left).with_columns(capacity=pl.coalesce("room", "capacity")).drop("room")
    curves = _moved(view.curves, moves, left).drop("room")
    cells = view.cells.filter(~pl.col("setting").is_in(list(left)))
    return view._replace(cells=cells, runs=runs.sort(*order, "seed"), curves=curves.sort(*order, "seed", "t"))


def _moves(view: View) -> pl.DataFrame:
    """Columns line, setting, place, room: who moves, from where to which limited setting, of which capacity."""
    import polars as pl

    keys = ["game", *(key for key in view.game_keys if key != "capacity")]
    limited = view.cells.filter(pl.col("capacity").is_not_null())
    always_free = ~pl.col("line").is_in(limited["line"].unique().to_list())
    places = limited.select(*keys, place="setting", room="capacity").unique()
    free = view.cells.filter(always_free).select(*keys, "line", "setting").unique()
    # A setting moves as a whole or not at all: others in it would lose their company.
    held = set(view.cells.filter(~always_free)["setting"])
    moves = free.join(places, on=keys, nulls_equal=True).select("line", "setting", "place", "room")
    return moves.filter(~pl.col("setting").is_in(list(held)))


def _moved(frame: pl.DataFrame, moves: pl.DataFrame, left: set[str]) -> pl.DataFrame:
    import polars as pl

    gone = pl.col("setting").is_in(list(left))
    there = frame.filter(gone).join(moves, on=["line", "setting"]).with_columns(setting="place").drop("place")
    stayed = frame.filter(~gone).with_columns(room=pl.lit(None, pl.Int64))
    return pl.concat([stayed, there.select(stayed.columns)])
