"""tarry results: what a sweep gave, also while it is running."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from tarry.cli.plan import Format, refusing
from tarry.cli.screen import screen
from tarry.experiments.summary import joined, read_tables, summarise

results_app = typer.Typer(no_args_is_help=True, help="What a sweep gave (docs/experiments.md).")

FolderArgument = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of results, as in out/sweeps/NAME.")]
NOTE = "bound: on the weighted regret, so regret may exceed it where labels are dropped without weights"
FORMS = {"bound": ".4g", "observed": ".1%", "weight_second_moment": ".3g"}
ROOMY = 100
WRITERS = {".parquet": "write_parquet", ".csv": "write_csv", ".json": "write_json", ".jsonl": "write_ndjson"}


@results_app.command("show")
def show(
    folder: FolderArgument,
    by: Annotated[list[str] | None, typer.Option(help="A column to group by (repeat; default: what varies).")] = None,
    output: Annotated[Format, typer.Option("--format", "-f", help="What to print.")] = Format.table,
) -> None:
    """Means over seeds: regret, bound, share of labels seen, weights."""
    with refusing(("by",)):
        frame = summarise(read_tables(folder), by or ())
    if output is Format.json:
        typer.echo(json.dumps(json.loads(frame.write_json()), indent=2))
        return
    if not frame.height:
        typer.echo(f"nothing is finished yet in {folder}: tarry sweep status FILE says why")
        return
    keys = frame.columns[: frame.columns.index("runs")]
    console = screen()
    gap = 2 if console.width >= ROOMY else 1
    table = Table(title="Means over runs, regret ± standard error", caption=NOTE, box=None, padding=(0, gap, 0, 0))
    for name in keys:
        table.add_column(name.removeprefix("axis_"), overflow="fold", min_width=min(8, _width(frame, name)))
    for name in ("runs", "regret", "bound", "seen", "E w²"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in frame.iter_rows(named=True):
        table.add_row(*(str(row[key]) if row[key] is not None else "–" for key in keys), *_figures(row))
    console.print(table)


@results_app.command("export")
def export(
    folder: FolderArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="By its ending .parquet, .csv, .json or .jsonl.")],
    table: Annotated[str, typer.Option(help="runs, curves or cells.")] = "runs",
) -> None:
    """Write a table, runs and curves with the columns of their cell."""
    with refusing(("table",)):
        if file.suffix not in WRITERS:
            raise ValueError(f"FILE must end in one of {', '.join(WRITERS)}, got {file.name!r}")
        frame = joined(read_tables(folder), table)
        file.parent.mkdir(parents=True, exist_ok=True)
        getattr(frame, WRITERS[file.suffix])(file)
    typer.echo(f"{file}: {frame.height} rows, {frame.width} columns")


def _width(frame: Any, name: str) -> int:
    return max(map(len, [name.removeprefix("axis_"), *map(str, frame[name].unique())]))


def _figures(row: dict[str, Any]) -> list[str]:
    error = "" if row["standard_error"] is None else f" ± {row['standard_error']:.2g}"
    return [
        str(row["runs"]),
        f"{row['regret']:.4g}{error}",
        *("–" if row[name] is None else f"{row[name]:{form}}" for name, form in FORMS.items()),
    ]
