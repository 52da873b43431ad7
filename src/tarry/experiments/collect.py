"""Gathering: parts and plan into three tidy tables."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tarry.experiments.cells import canonical
from tarry.experiments.data import nameless
from tarry.experiments.parts import write_whole
from tarry.experiments.sweep import Sweep
from tarry.results.columns import (
    CELL_FIGURES,
    CELLS,
    CURVE_LISTS,
    CURVES,
    GAME_KEYS,
    RUNS,
    conformed,
    part_schema,
    polars_schema,
)
from tarry.results.labels import told_apart

if TYPE_CHECKING:
    import polars as pl

    from tarry.experiments.folder import Contents


class Tables(NamedTuple):
    """What a sweep gave: see :mod:`tarry.results.columns`."""

    cells: pl.DataFrame
    runs: pl.DataFrame
    curves: pl.DataFrame


def plan_schema() -> dict[str, Any]:
    """The columns of a plan but for its axes: what parts say of cells is left out."""
    return {name: kind for name, kind in polars_schema(CELLS).items() if name not in CELL_FIGURES}


def plan_frame(sweep: Sweep) -> pl.DataFrame:
    """The sweep's cells by name, one row each."""
    import polars as pl

    own, schema = [axis for axis in sweep.axes if axis not in GAME_KEYS], plan_schema()
    columns: dict[str, Any] = {
        name: [cell.columns.get(name) for cell in sweep.cells]
        for name in schema
        if name not in ("cell", "sweep", "content")
    }
    columns["cell"] = [cell.id for cell in sweep.cells]
    columns["content"] = [cell.content for cell in sweep.cells]
    columns["sweep"] = [sweep.name] * len(sweep.cells)
    frame = pl.DataFrame({name: pl.Series(name, columns[name], dtype=kind) for name, kind in schema.items()})
    return frame.with_columns(_axis(sweep, name) for name in own)


def _axis(sweep: Sweep, name: str) -> pl.Series:
    """An axis as numbers where all its values are, else as text, another one for every value."""
    import polars as pl

    from tarry.experiments.members import describe

    values = [cell.columns["axes"].get(name) for cell in sweep.cells]
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int} or kinds == {bool}:
        return pl.Series(f"axis_{name}", values)
    if kinds <= {int, float}:
        return pl.Series(f"axis_{name}", values, dtype=pl.Float64, strict=False)
    labels = told_apart([None if v is None else describe(v) for v in values], [canonical(nameless(v)) for v in values])
    return pl.Series(f"axis_{name}", labels, dtype=pl.String)


def collect(plan: pl.DataFrame, contents: Contents) -> Tables:
    """The tables of a plan, from everything that is finished; in one order, whoever computed what and when."""
    import polars as pl

    wanted = plan.select("cell").unique()
    frames = [frame.join(wanted, on="cell", how="semi") for frame in contents.frames]
    rows = pl.concat(frames) if frames else pl.DataFrame(schema=part_schema())
    rows = rows.sort("cell", "seed")
    figures = rows.select("cell", *CELL_FIGURES).unique("cell")
    cells = plan.join(figures, on="cell", how="left", maintain_order="left")
    curves = rows.select("cell", "seed", **{name: pl.col(listed) for name, listed in CURVE_LISTS.items()})
    return Tables(
        cells.select(*CELLS, *(name for name in cells.columns if name not in CELLS)),
        rows.select(*RUNS),
        curves.explode(*CURVE_LISTS).select(*CURVES),
    )


def read_table(path: Path, schema: dict[str, Any], again: str) -> pl.DataFrame:
    """A table that was stored, with the columns of today; ``again`` is what writes a damaged one anew."""
    import polars as pl

    try:
        frame = pl.read_parquet(path)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise ValueError(f"{path} is damaged and cannot be read: {again} writes it again") from error
    return conformed(frame, schema, path)


def write_tables(tables: Tables, folder: Path) -> list[Path]:
    """Write them as Parquet, each whole or not at all."""
    paths = []
    for name, frame in tables._asdict().items():
        buffer = io.BytesIO()
        frame.write_parquet(buffer, compression="zstd")
        path = folder / f"{name}.parquet"
        write_whole(path, buffer.getvalue())
        paths.append(path)
    return paths
