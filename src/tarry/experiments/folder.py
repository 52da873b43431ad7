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
import operator
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from tarry.charts import CONFIDENCE, student
from tarry.checks import as_choice, pick
from tarry.errors import ArgumentError
from tarry.experiments import columns as cols
from tarry.experiments.files import without_file_names
from tarry.experiments.parts import list_parts, read_part, sweep_away, write_whole
from tarry.experiments.sweep import Sweep, canonical

PATIENCE = 20  # readings of a folder whose parts other runs merge meanwhile
# The columns of a plan but for its axes: what is known of cells once they were played is left out.
PLAN = {name: kind for name, kind in cols.CELLS.items() if name not in cols.CELL_FIGURES}
# Columns of cells that say much; they are left out where cells are joined to runs or curves.
LONG = ("content", "versions", "warnings")
EMPTY = "holds no results: run a sweep first, tarry sweep run FILE"


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
        return {cell for frame in self.frames for cell in frame["cell"].unique()}


class Folder:
    """Results on disk; any number of processes may write to it and read it at once."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.parts = self.path / "parts"
        self.failures = self.path / "failures"
        self._plan = self.path / "plan.parquet"
        self._text = self.path / "sweep.toml"

    def tidy(self) -> None:
        """Make the folder, and remove what killed writers left half-written."""
        for place in (self.path, self.parts, self.failures):
            place.mkdir(parents=True, exist_ok=True)
            sweep_away(place)

    def read(self, columns: list[str] | None = None) -> Contents:
        """Return everything that is finished; raise OSError where other runs change the folder all the time."""
        for _ in range(PATIENCE):
            with contextlib.suppress(FileNotFoundError):  # a writer has merged this part meanwhile: look again
                return self._read(columns)
        raise OSError(f"{self.parts}: files come and go too fast to read them: wait until the others are done")

    def _read(self, columns: list[str] | None) -> Contents:
        cells: set[str] = set()
        contents = Contents([], [])
        for path in reversed(list_parts(self.parts)):  # merged ones first: they hold most
            frame = read_part(path, columns)
            if frame is None:
                contents.damaged.append(path)
                continue
            inside = set(frame["cell"].unique())
            if inside & cells:  # a merge that was killed before it removed the old parts
                frame = frame.filter(~pl.col("cell").is_in(list(cells)))
            cells |= inside
            contents.frames.append(frame)
        return contents

    def set_damaged_aside(self) -> None:
        """Rename damaged parts, so that they are read no more and can still be looked at."""
        for path in self.read(["cell"]).damaged:
            with contextlib.suppress(FileNotFoundError):  # another run was faster
                path.replace(path.with_suffix(".damaged"))

    def write_plan(self, sweep: Sweep) -> None:
        """Write the cells of a sweep and what its file says, so that the folder can be read without it."""
        _write_frame(plan_frame(sweep), self._plan)
        if sweep.sources and self._text.resolve() not in sweep.sources:  # a sweep that is run where it lies stays
            # The first file as it is, then each it includes under a line with its name: to be read, not to be run.
            first, *others = sweep.sources.items()
            parts = [first[1].rstrip(), *(f"# --- {path.name} ---\n{text.rstrip()}" for path, text in others)]
            write_whole(self._text, ("\n\n".join(parts) + "\n").encode())

    def text(self) -> str:
        """Return what the file of the sweep said that was run last; empty if it was not kept."""
        return self._text.read_text(encoding="utf-8") if self._text.is_file() else ""

    def plan(self) -> pl.DataFrame:
        """Return the cells of the sweep that was run last; raise ValueError if there was none."""
        if not self._plan.is_file():
            raise ValueError(f"{self.path} {EMPTY}")
        return _read_frame(self._plan, PLAN, "tarry sweep run FILE")

    def tables(self) -> Tables:
        """Return everything that is finished, sorted, so that it does not matter which run computed what and when."""
        plan = self.plan()
        planned = plan.select("cell").unique()
        frames = [frame.join(planned, on="cell", how="semi") for frame in self.read().frames]
        rows = pl.concat(frames) if frames else pl.DataFrame(schema=cols.PART)
        rows = rows.sort("cell", "seed")
        figures = rows.select("cell", *cols.CELL_FIGURES).unique("cell")
        cells = plan.join(figures, on="cell", how="left", maintain_order="left")
        curves = rows.select("cell", "seed", **{name: pl.col(column) for name, column in cols.CURVE_LISTS.items()})
        return Tables(
            cells.select(*cols.CELLS, *(name for name in cells.columns if name not in cols.CELLS)),
            rows.select(*cols.RUNS),
            curves.explode(*cols.CURVE_LISTS).select(*cols.CURVES),
        )

    def fail(self, cell: str, sentence: str) -> None:
        write_whole(self.failures / f"{cell}.json", json.dumps({"cell": cell, "error": sentence}).encode())

    def forgive(self, cells: list[str]) -> None:
        """Forget the failures of cells that are finished now."""
        for cell in cells:
            (self.failures / f"{cell}.json").unlink(missing_ok=True)

    def failed(self) -> dict[str, str]:
        reasons = {}
        for path in sorted(self.failures.glob("*.json")):
            # Forgiven meanwhile, damaged, or not ours.
            with contextlib.suppress(FileNotFoundError, ValueError, TypeError, KeyError):
                failure = json.loads(path.read_text(encoding="utf-8"))
                reasons[str(failure["cell"])] = str(failure["error"])
        return reasons


def read_tables(path: Path) -> Tables:
    """Return the tables of a folder: everything finished so far, or what was collected there where it has no parts."""
    folder = Folder(path)
    if folder.parts.is_dir() and (path / "plan.parquet").is_file():
        return folder.tables()
    schemas = {path / f"{name}.parquet": getattr(cols, name.upper()) for name in Tables._fields}
    if not all(file.is_file() for file in schemas):
        raise ValueError(f"{path} {EMPTY}")
    return Tables(*(_read_frame(file, table, "tarry sweep collect FILE") for file, table in schemas.items()))


def write_tables(tables: Tables, folder: Path) -> list[Path]:
    """Write the tables as Parquet, each whole or not at all; return their paths."""
    return [_write_frame(frame, folder / f"{name}.parquet") for name, frame in tables._asdict().items()]


def _write_frame(frame: pl.DataFrame, path: Path) -> Path:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    write_whole(path, buffer.getvalue())
    return path


def _read_frame(path: Path, schema: dict[str, Any], again: str) -> pl.DataFrame:
    """Return a stored table with the columns of today; ``again`` is the command that writes a damaged one anew."""
    try:
        frame = pl.read_parquet(path)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise ValueError(f"{path} is damaged and cannot be read: {again} writes it again") from error
    return cols.conformed(frame, schema, path)


def plan_frame(sweep: Sweep) -> pl.DataFrame:
    """Return the sweep's cells by name, one row each."""
    rows = [{"cell": cell.id, "content": cell.content, "sweep": sweep.name, **cell.columns} for cell in sweep.cells]
    series = [pl.Series(name, [row.get(name) for row in rows], dtype=kind) for name, kind in PLAN.items()]
    return pl.DataFrame([*series, *(_axis(sweep, name) for name in sweep.axes if name not in cols.GAME_KEYS)])


def _axis(sweep: Sweep, name: str) -> pl.Series:
    """Return an axis as numbers where all its values are numbers, else as text, different for every value."""
    from tarry.experiments.members import describe  # loads the compiler: not for readers of results

    values = [cell.columns["axes"].get(name) for cell in sweep.cells]
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int} or kinds == {bool}:
        return pl.Series(f"axis_{name}", values)
    if kinds <= {int, float}:
        return pl.Series(f"axis_{name}", values, dtype=pl.Float64, strict=False)
    lines = [None if value is None else describe(value) for value in values]
    labels = cols.told_apart(lines, [canonical(without_file_names(value)) for value in values])
    return pl.Series(f"axis_{name}", labels, dtype=pl.String)


def varied(cells: pl.DataFrame) -> list[str]:
    """Return the game, the player, and every column that tells apart cells which those before it do not."""
    axes = [name for name in cells.columns if name.startswith("axis_")]
    columns = ["game", "player"]
    # Numbers before members in one line: what a size or an axis explains needs no line.
    for name in (*cols.GAME_SIZES, *cols.GAME_RULES, *axes, *cols.GAME_PARTS, *cols.PLAYER_KEYS):
        if cells.n_unique([*columns, name]) > cells.n_unique(columns):
            columns.append(name)
    return columns


# The bound of a run, NaN, and so the mean of several, unless its theorem makes it one on the mean regret.
BOUND = pl.when(pl.col("bounds_regret").fill_null(False)).then("bound").otherwise(float("nan"))


def summarise(tables: Tables, by: Sequence[str] = ()) -> pl.DataFrame:
    """Return means over seeds for each combination of the columns ``by`` (default: those that vary).

    ``half`` is half the 95 % interval of the mean regret. Axes go by their own names, or as their columns.
    """
    cells = cols.labelled(tables.cells, *cols.contents_of(tables.cells))
    columns = [name for name in cells.columns if name not in LONG]
    axes = {name.removeprefix("axis_"): name for name in columns}
    axis_names = [name if name in columns else axes.get(name, name) for name in by]
    keys = list(dict.fromkeys(pick(name, columns, "by", what="column") for name in axis_names)) or varied(cells)
    cell_keys = [name for name in keys if name != "cell"]
    played = tables.runs.with_columns(rounds="horizon").drop(name for name in cell_keys if name in tables.runs.columns)
    runs = cells.select("cell", *cell_keys).join(played, on="cell", maintain_order="left")
    figures = {
        "loss": pl.col("loss"),
        "bound": BOUND,
        "observed": pl.col("used") / pl.col("rounds"),
        "saturated": pl.col("saturated") / pl.col("rounds"),
        **{name: pl.col(name) for name in ("weight_mean", "weight_second_moment", "max_backlog")},
    }
    # Runs of one seed share its draws, whatever else they differ in: they are averaged first, so that the standard
    # error is that of independent seeds.
    by_seed = runs.group_by([*keys, "seed"], maintain_order=True).agg(
        runs=pl.len(), regret=pl.col("regret").mean(), **{name: figure.mean() for name, figure in figures.items()}
    )
    means = by_seed.group_by(keys, maintain_order=True).agg(
        runs=pl.col("runs").sum(),
        distinct_seeds=pl.len().cast(pl.Int64),
        regret=pl.col("regret").mean(),
        standard_error=pl.col("regret").std(ddof=1) / pl.len().sqrt(),
        **{name: pl.col(name).mean() for name in figures},
    )
    quantiles = {n: student(CONFIDENCE, n - 1) for n in means["distinct_seeds"].unique() if n > 1}
    quantile = pl.col("distinct_seeds").replace_strict(quantiles, default=None, return_dtype=pl.Float64)
    return means.with_columns(half=pl.col("standard_error") * quantile)


SIGNS = {"!=": operator.ne, "<=": operator.le, ">=": operator.ge, "=": operator.eq, "<": operator.lt, ">": operator.gt}
CONDITION = re.compile(r"\s*(\w+)\s*(!=|<=|>=|=|<|>)\s*(.*?)\s*")


def select(tables: Tables, conditions: Sequence[str]) -> Tables:
    """Return the tables of the cells that meet conditions such as ``capacity=16`` or ``mean>=50``.

    Of several for one column with ``=`` one is enough; all others hold at once. Axes go by their names; ``unlimited``
    is no limit. Raise ArgumentError for a condition that is none, or that no cell meets.
    """
    if not conditions:
        return tables
    cells = cols.labelled(tables.cells, *cols.contents_of(tables.cells))
    names = {name.removeprefix("axis_"): name for name in cells.columns if name not in LONG}
    by_column: dict[str, pl.Expr] = {}
    for condition in conditions:
        parts = CONDITION.fullmatch(condition)
        if parts is None:
            raise ArgumentError("where", "takes COLUMN=VALUE, such as capacity=16 or mean>=50", condition)
        called, sign, value = parts.groups()
        name = names[pick(called, names, "where", what="column")]
        held = _held(cells[name], sign, value)
        if not cells.filter(held).height:
            levels = ", ".join(map(str, cells[name].unique(maintain_order=True)[:12]))
            raise ArgumentError("where", f"is met by no cell: {called} is {levels}", condition)
        key = name if sign == "=" else condition
        by_column[key] = by_column[key] | held if key in by_column else held
    remaining = tables.cells.filter(cells.select(pl.all_horizontal(*by_column.values())).to_series())
    if not remaining.height:
        raise ArgumentError("where", "is met by no cell in all its parts", " and ".join(conditions))
    return Tables(remaining, *(frame.join(remaining, on="cell", how="semi") for frame in tables[1:]))


def _held(column: pl.Series, sign: str, value: str) -> pl.Expr:
    """Return the condition as an expression."""
    cell_value = pl.col(column.name)
    if value in ("unlimited", "none"):
        return cell_value.is_null() if sign == "=" else cell_value.is_not_null()
    try:
        of_kind: Any = float(value) if column.dtype.is_numeric() else value
    except ValueError:
        raise ArgumentError("where", f"holds {column.name.removeprefix('axis_')} against a number", value) from None
    if column.dtype == pl.Boolean:
        of_kind = as_choice(value.lower(), "where", ("true", "false")) == "true"
    # What has no value differs from every value; no capacity is more than any.
    is_met = sign == "!=" or (column.name == "capacity" and sign in (">", ">="))
    return SIGNS[sign](cell_value, of_kind).fill_null(is_met)  # type: ignore[no-any-return]


def joined(tables: Tables, name: str) -> pl.DataFrame:
    """Return one of the tables; runs and curves with the columns of their cell before their own."""
    if name == "cells":
        return tables.cells
    table: pl.DataFrame = getattr(tables, pick(name, Tables._fields, "table", what="table"))
    cells = tables.cells.drop(
        *LONG, *(column for column in tables.cells.columns if column in table.columns and column != "cell")
    )
    return cells.join(table, on="cell", maintain_order="left_right")
