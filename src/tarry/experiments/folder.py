"""A folder of results: parts, the plan they belong to, what went wrong, and the tables gathered from it.

parts/part-0-….parquet     finished cells (see :mod:`tarry.experiments.parts`)
failures/ID.json           cells that raised an error, with its sentence; gone once they succeed
plan.parquet               the cells of the sweep that was run last, by name
sweep.toml                 its file, followed by those it includes
cells|runs|curves.parquet  what ``collect`` gathered
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tarry.experiments.atomic import sweep_away, write_whole
from tarry.experiments.columns import (
    CELL_FIGURES,
    CELLS,
    CURVE_LISTS,
    CURVES,
    GAME_KEYS,
    RUNS,
    conformed,
    part_schema,
    polars_schema,
    told_apart,
)
from tarry.experiments.files import one_after_another, without_file_names
from tarry.experiments.parts import list_parts, read_part
from tarry.experiments.sweep import Sweep, canonical

if TYPE_CHECKING:
    import polars as pl

PLAN = "plan.parquet"
TEXT = "sweep.toml"
PATIENCE = 20  # readings of a folder whose parts other runs merge meanwhile


class Tables(NamedTuple):
    """What a sweep gave: see :mod:`tarry.experiments.columns`."""

    cells: pl.DataFrame
    runs: pl.DataFrame
    curves: pl.DataFrame


class Contents(NamedTuple):
    """Part by part: rows of finished cells, each cell once; and the parts that are damaged."""

    frames: list[pl.DataFrame]
    damaged: list[Path]

    @property
    def cells(self) -> set[str]:
        """The finished cells."""
        return {cell for frame in self.frames for cell in frame["cell"].unique()}


class Folder:
    """Results on disk; any number of processes may write to it and read it at once."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.parts = self.path / "parts"
        self.failures = self.path / "failures"

    def tidy(self) -> None:
        """Make the folder, and remove what killed writers left half-written."""
        self.parts.mkdir(parents=True, exist_ok=True)
        self.failures.mkdir(exist_ok=True)
        for place in (self.path, self.parts, self.failures):
            sweep_away(place)

    def read(self, columns: list[str] | None = None) -> Contents:
        """Return everything that is finished; a part that a writer merges meanwhile is looked for again."""
        for _ in range(PATIENCE):
            try:
                return self._read(columns)
            except FileNotFoundError:
                continue
        raise OSError(f"{self.parts}: files come and go too fast to read them: wait until the others are done")

    def _read(self, columns: list[str] | None) -> Contents:
        import polars as pl

        seen: set[str] = set()
        contents = Contents([], [])
        for path in reversed(list_parts(self.parts)):  # merged ones first: they hold most
            frame = read_part(path, columns)
            if frame is None:
                contents.damaged.append(path)
                continue
            inside = set(frame["cell"].unique())
            if inside & seen:
                frame = frame.filter(~pl.col("cell").is_in(list(seen)))
            seen |= inside
            contents.frames.append(frame)
        return contents

    def set_damaged_aside(self) -> None:
        """Rename damaged parts, so that they are read no more and can still be looked at."""
        for path in self.read(["cell"]).damaged:
            with contextlib.suppress(FileNotFoundError):  # another run was faster
                path.replace(path.with_suffix(".damaged"))

    def write_plan(self, sweep: Sweep) -> None:
        """Write the cells of a sweep and what its file says, so that the folder can be read without it."""
        _write_frame(plan_frame(sweep), self.path / PLAN)
        text = self.path / TEXT
        if sweep.sources and text.resolve() not in sweep.sources:  # a sweep that is run where it lies stays as it is
            write_whole(text, f"{one_after_another(sweep.sources)}\n".encode())

    def text(self) -> str:
        """Return what the file of the sweep said that was run last; empty if it was not kept."""
        path = self.path / TEXT
        return path.read_text(encoding="utf-8") if path.is_file() else ""

    def plan(self) -> pl.DataFrame:
        """Return the cells of the sweep that was run last; raise ValueError if there was none."""
        if not (self.path / PLAN).is_file():
            raise ValueError(f"{self.path} holds no results: run a sweep first, tarry sweep run FILE")
        return _read_table(self.path / PLAN, _plan_schema(), "tarry sweep run FILE")

    def tables(self) -> Tables:
        """Return everything that is finished, as tables."""
        return _collect(self.plan(), self.read())

    def fail(self, cell: str, sentence: str) -> None:
        """Write down why a cell could not be computed."""
        write_whole(self.failures / f"{cell}.json", json.dumps({"cell": cell, "error": sentence}).encode())

    def forgive(self, cells: list[str]) -> None:
        """Forget the failures of cells that are finished now."""
        for cell in cells:
            (self.failures / f"{cell}.json").unlink(missing_ok=True)

    def failed(self) -> dict[str, str]:
        """Return the sentences of failed cells by cell."""
        return dict(self._failed())

    def _failed(self) -> Iterator[tuple[str, str]]:
        for path in sorted(self.failures.glob("*.json")):
            try:
                told = json.loads(path.read_text(encoding="utf-8"))
                sentence = str(told["cell"]), str(told["error"])
            except (FileNotFoundError, ValueError, TypeError, KeyError):  # forgiven meanwhile, damaged, or not ours
                continue
            yield sentence


def read_tables(path: Path) -> Tables:
    """Return the tables of a folder: everything finished so far, or what was collected there where it has no parts."""
    folder = Folder(path)
    if folder.parts.is_dir() and (path / PLAN).is_file():
        return folder.tables()
    schemas = {"cells": CELLS, "runs": RUNS, "curves": CURVES}
    if not all((path / f"{name}.parquet").is_file() for name in schemas):
        raise ValueError(f"{path} holds no results: run a sweep first, tarry sweep run FILE")
    again = "tarry sweep collect FILE"
    return Tables(
        **{name: _read_table(path / f"{name}.parquet", polars_schema(table), again) for name, table in schemas.items()}
    )


def write_tables(tables: Tables, folder: Path) -> list[Path]:
    """Write the tables as Parquet, each whole or not at all; return their paths."""
    return [_write_frame(frame, folder / f"{name}.parquet") for name, frame in tables._asdict().items()]


def _write_frame(frame: pl.DataFrame, path: Path) -> Path:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    write_whole(path, buffer.getvalue())
    return path


def _read_table(path: Path, schema: dict[str, Any], again: str) -> pl.DataFrame:
    """Return a stored table with the columns of today; ``again`` is the command that writes a damaged one anew."""
    import polars as pl

    try:
        frame = pl.read_parquet(path)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise ValueError(f"{path} is damaged and cannot be read: {again} writes it again") from error
    return conformed(frame, schema, path)


def _plan_schema() -> dict[str, Any]:
    """Return the columns of a plan but for its axes: what parts say of cells is left out."""
    return {name: kind for name, kind in polars_schema(CELLS).items() if name not in CELL_FIGURES}


def plan_frame(sweep: Sweep) -> pl.DataFrame:
    """Return the sweep's cells by name, one row each."""
    import polars as pl

    columns: dict[str, Any] = {
        "cell": [cell.id for cell in sweep.cells],
        "content": [cell.content for cell in sweep.cells],
        "sweep": [sweep.name] * len(sweep.cells),
    }
    series = []
    for name, kind in _plan_schema().items():
        values = columns[name] if name in columns else [cell.columns.get(name) for cell in sweep.cells]
        series.append(pl.Series(name, values, dtype=kind))
    return pl.DataFrame([*series, *(_axis(sweep, name) for name in sweep.axes if name not in GAME_KEYS)])


def _axis(sweep: Sweep, name: str) -> pl.Series:
    """Return an axis as numbers where all its values are numbers, else as text, different for every value."""
    import polars as pl

    from tarry.experiments.members import describe

    values = [cell.columns["axes"].get(name) for cell in sweep.cells]
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int} or kinds == {bool}:
        return pl.Series(f"axis_{name}", values)
    if kinds <= {int, float}:
        return pl.Series(f"axis_{name}", values, dtype=pl.Float64, strict=False)
    lines = [None if value is None else describe(value) for value in values]
    labels = told_apart(lines, [canonical(without_file_names(value)) for value in values])
    return pl.Series(f"axis_{name}", labels, dtype=pl.String)


def _collect(plan: pl.DataFrame, contents: Contents) -> Tables:
    """Return the tables of a plan, sorted, so that it does not matter which run computed what and when."""
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
