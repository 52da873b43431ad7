"""tarry results and tarry report: what a sweep gave, also while it is running."""

from __future__ import annotations

import json
import shlex
from enum import StrEnum
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from tarry import experiments
from tarry.cli.console import refusing, screen
from tarry.errors import ArgumentError
from tarry.outcomes import DASH, number

if TYPE_CHECKING:
    import polars as pl

    from tarry.reports.table import Table

results_app = typer.Typer(no_args_is_help=True)

FolderArgument = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of results, as in out/sweeps/NAME.")]
TITLE = "Means over runs"
HALF = "± is half the 95 % interval of the mean over seeds."
NOTE = f"{HALF} bound: on mean regret; it takes unbiased weights, room for every round and no restarts."
FORMS = {"bound": ".4g", "observed": ".1%", "weight_second_moment": ".3g"}
ROOMY = 100  # columns from which on a table has wider gaps
WRITERS = {".parquet": "write_parquet", ".csv": "write_csv", ".json": "write_json", ".jsonl": "write_ndjson"}


WhereOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=VALUE",
        help="Only these cells: capacity=16, mean>=50, player=ours (repeat: all; = of one: any).",
    ),
]


class Shown(StrEnum):
    """How a table is printed."""

    table = "table"
    json = "json"
    markdown = "markdown"
    latex = "latex"


@results_app.command("show")
def show(
    folder: FolderArgument,
    by: Annotated[list[str] | None, typer.Option(help="A column to group by (repeat; default: what varies).")] = None,
    where: WhereOption = None,
    across: Annotated[str | None, typer.Option(help="Regret with a column for each value of this (player, …).")] = None,
    against: Annotated[str | None, typer.Option(help="Differences in regret from this player, paired by seed.")] = None,
    output: Annotated[Shown, typer.Option("--format", "-f", help="What to print.")] = Shown.table,
) -> None:
    """Means over seeds: regret, bound, share of labels seen, weights; or a pivot table, or paired differences."""
    from tarry.experiments.folder import select, summarise, varied

    # Not above, for this room loads the compiler, and help need not.
    from tarry.reports.comparisons import difference_table, differences, pairing_note
    from tarry.reports.view import over_what, view

    with refusing():
        if against is not None and (by or across):
            raise ArgumentError("against", "pairs players in every setting", remedy="leave out --by and --across")
        tables = select(experiments.read_tables(folder), where or ())
        keys = [*(by or ()), *([across] if across and by else ())]
        seen = view(*tables)
        frame = differences(seen, against) if against is not None else summarise(tables, keys)
        if across is not None and across not in frame.columns:
            across = _axis_of(across, frame.columns)
    if output is Shown.json:
        typer.echo(json.dumps(json.loads(frame.write_json()), indent=2))  # Polars writes it in one line
        return
    if not frame.height:
        typer.echo(f"nothing is finished yet in {folder}: tarry sweep status FILE says why")
        return
    console = screen()
    if against is not None:
        table = difference_table(frame, against, pairing_note(seen))
    else:
        table = _pivoted(frame, across) if across is not None else _summary(frame)
        left = (name for name in varied(tables.cells) if name not in frame.columns)
        pooled = [name.removeprefix("axis_") for name in left if tables.cells[name].n_unique() > 1]
        mixed = f" Rows pool all values of {', '.join(pooled)}." if pooled else ""
        table = table._replace(caption=table.caption + mixed + over_what(seen.cells))
    if output is Shown.table:
        console.print(table._replace(gap=2 if console.width >= ROOMY else 1).rich())
    else:
        typer.echo(table.markdown() if output is Shown.markdown else table.latex())


def _axis_of(name: str, columns: list[str]) -> str:
    """Return the column of an axis by its own name; raise ValueError for a column that is not grouped by."""
    from tarry.checks import pick

    keys = {key.removeprefix("axis_"): key for key in columns[: columns.index("runs")]}
    return keys[pick(name, keys, "across", what="column that varies")]


def _summary(frame: pl.DataFrame) -> Table:
    """Return means, a row for each group."""
    from tarry.reports.table import Table

    keys, names = _keys(frame)
    rows, only_losses = [], frame["regret"].is_nan().all()  # comparator = "none"
    for row in frame.iter_rows(named=True):
        known = {name: row[name] for name in FORMS if row[name] is not None and isfinite(row[name])}
        figures = (f"{known[name]:{form}}" if name in known else DASH for name, form in FORMS.items())
        first = number(row["loss"]) if only_losses else _regret(row)
        rows.append((*_labels(row, keys), str(row["runs"]), str(row["distinct_seeds"]), first, *figures))
    columns = (*names, "runs", "seeds", "loss" if only_losses else "regret", "bound", "seen", "E w²")
    return Table(TITLE, columns, rows, NOTE, text=names, wrap=names, name="results")


def _pivoted(frame: pl.DataFrame, across: str) -> Table:
    """Return regret with a column for each value of one of the keys."""
    from tarry.reports.table import Table

    keys, _ = _keys(frame)
    keys.remove(across)
    levels = list(dict.fromkeys(_labels(row, [across])[0] for row in frame.iter_rows(named=True)))
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for row in frame.iter_rows(named=True):
        rows.setdefault(_labels(row, keys), {})[_labels(row, [across])[0]] = _regret(row)
    names = tuple(key.removeprefix("axis_") for key in keys)
    said = across.removeprefix("axis_")
    heads = levels if across in ("game", "player") else [f"{said} {level}" for level in levels]
    told = [(*labels, *(found.get(level, "") for level in levels)) for labels, found in rows.items()]
    seeds = sorted(frame["distinct_seeds"].unique())
    many = str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    caption = f"Means over {many} seeds. {HALF}"
    return Table(f"Final regret by {said}", (*names, *heads), told, caption, text=names, wrap=names, name="pivot")


def _keys(frame: pl.DataFrame) -> tuple[list[str], tuple[str, ...]]:
    """Return what is grouped by, which stands before the figures, as columns and as they are called."""
    keys = frame.columns[: frame.columns.index("runs")]
    return keys, tuple(key.removeprefix("axis_") for key in keys)


def _labels(row: dict[str, Any], keys: list[str]) -> tuple[str, ...]:
    return tuple(("∞" if key == "capacity" else DASH) if row[key] is None else str(row[key]) for key in keys)


def _regret(row: dict[str, Any]) -> str:
    return number(row["regret"], row["half"])


@results_app.command("export")
def export(
    folder: FolderArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="By its ending .parquet, .csv, .json or .jsonl.")],
    table: Annotated[str, typer.Option(help="runs, curves or cells.")] = "runs",
    where: WhereOption = None,
) -> None:
    """Write a table, runs and curves with the columns of their cell."""
    from tarry.experiments.folder import joined, select

    with refusing():
        if file.suffix not in WRITERS:
            raise ValueError(f"FILE must end in one of {', '.join(WRITERS)}, got {file.name!r}")
        frame = joined(select(experiments.read_tables(folder), where or ()), table)
        file.parent.mkdir(parents=True, exist_ok=True)
        getattr(frame, WRITERS[file.suffix])(file)
    typer.echo(f"{file}: {frame.height} rows, {frame.width} columns")


def report_command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of results, as tarry sweep run writes it.")],
    out: Annotated[Path | None, typer.Option(help="Folder for the report (default: DIR/report).")] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Write only html, svg, pdf, png, tables (repeat the option).")
    ] = None,
    file: Annotated[Path | None, typer.Option(help="The sweep's file, for the page (default: as it was run).")] = None,
    where: WhereOption = None,
    against: Annotated[
        str | None, typer.Option(help="Differences are from this player (default: the first of the file).")
    ] = None,
    tune: Annotated[
        list[str] | None,
        typer.Option(metavar="AXIS", help="Show of each player the best along this axis, chosen on half of the seeds."),
    ] = None,
) -> None:
    from tarry.experiments.folder import select
    from tarry.reports.comparisons import tuned
    from tarry.reports.sweeps import KINDS, make_report, save_report, tell_story
    from tarry.reports.view import view

    with refusing():
        for kind in only or ():  # before the results are read, which may take long
            if kind not in KINDS:
                raise ArgumentError("only", f"takes {', '.join(KINDS)}", kind)
        results = experiments.Folder(folder)
        tables = select(experiments.read_tables(folder), where or ())
        with Console(stderr=True).status("drawing"):
            seen, story = view(*tables), tell_story(results, tables, file)
            notes, choices = [f"Only cells with {', '.join(where)}."] if where else [], []
            if tune:
                seen, choice, note = tuned(seen, tune)
                notes, choices = [*notes, note], [choice]
            options = [
                (f"--{name}", value) for name, given in (("where", where), ("tune", tune)) for value in given or ()
            ]
            options += [("--against", against)] if against else []
            command = " ".join([story.command, *(shlex.join(option) for option in options)])
            story = story._replace(notes=tuple(notes), command=command)
            made = make_report(seen, story, against, choices)
            paths = save_report(made, out or folder / "report", only or list(KINDS))
    for path in paths:
        if path.parent.name != "figures":
            typer.echo(str(path))
    figures = [path for path in paths if path.parent.name == "figures"]
    if figures:
        typer.echo(f"{figures[0].parent}: {len(figures)} files")
