"""tarry results and tarry report: what a sweep gave, also while it is running."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tarry import experiments
from tarry.cli.console import Format, FormatOption, refusing, screen
from tarry.errors import ArgumentError

results_app = typer.Typer(no_args_is_help=True)

FolderArgument = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of results, as in out/sweeps/NAME.")]
TITLE = "Means over runs, regret ± standard error"
NOTE = "bound: on the weighted regret, so regret may exceed it where labels are dropped without weights"
FORMS = {"bound": ".4g", "observed": ".1%", "weight_second_moment": ".3g"}
ROOMY = 100  # columns from which on a table has wider gaps
WRITERS = {".parquet": "write_parquet", ".csv": "write_csv", ".json": "write_json", ".jsonl": "write_ndjson"}


@results_app.command("show")
def show(
    folder: FolderArgument,
    by: Annotated[list[str] | None, typer.Option(help="A column to group by (repeat; default: what varies).")] = None,
    output: FormatOption = Format.table,
) -> None:
    """Means over seeds: regret, bound, share of labels seen, weights."""
    from tarry.experiments.folder import summarise
    from tarry.reports.table import DASH, Table  # not above, for this room loads the compiler, and help need not

    with refusing():
        frame = summarise(experiments.read_tables(folder), by or ())
    if output is Format.json:
        typer.echo(json.dumps(json.loads(frame.write_json()), indent=2))  # Polars writes it in one line
        return
    if not frame.height:
        typer.echo(f"nothing is finished yet in {folder}: tarry sweep status FILE says why")
        return
    keys = frame.columns[: frame.columns.index("runs")]  # what is grouped by stands before the figures
    names = tuple(key.removeprefix("axis_") for key in keys)
    rows = []
    for row in frame.iter_rows(named=True):
        error = "" if row["standard_error"] is None else f" ± {row['standard_error']:.2g}"
        figures = (DASH if row[name] is None else f"{row[name]:{form}}" for name, form in FORMS.items())
        labels = (DASH if row[key] is None else str(row[key]) for key in keys)
        rows.append((*labels, str(row["runs"]), f"{row['regret']:.4g}{error}", *figures))
    console = screen()
    columns = (*names, "runs", "regret", "bound", "seen", "E w²")
    gap = 2 if console.width >= ROOMY else 1
    console.print(Table(TITLE, columns, rows, NOTE, text=names, wrap=names, gap=gap).rich())


@results_app.command("export")
def export(
    folder: FolderArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="By its ending .parquet, .csv, .json or .jsonl.")],
    table: Annotated[str, typer.Option(help="runs, curves or cells.")] = "runs",
) -> None:
    """Write a table, runs and curves with the columns of their cell."""
    from tarry.experiments.folder import joined

    with refusing():
        if file.suffix not in WRITERS:
            raise ValueError(f"FILE must end in one of {', '.join(WRITERS)}, got {file.name!r}")
        frame = joined(experiments.read_tables(folder), table)
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
    replay: Annotated[
        bool, typer.Option(help="Whether to play one setting again for timeline, survival and moving comparators.")
    ] = True,
) -> None:
    from tarry.experiments.replays import replay_lines
    from tarry.reports.sweeps import KINDS, make_report, ranking, save_report, tell_story
    from tarry.reports.view import view, with_baselines

    with refusing():
        for kind in only or ():  # before the results are read, which may take long
            if kind not in KINDS:
                raise ArgumentError("only", f"takes {', '.join(KINDS)}", kind)
        results = experiments.Folder(folder)
        tables = experiments.read_tables(folder)
        with Console(stderr=True).status("drawing") as status:
            seen, story, again = view(*tables), tell_story(results, tables, file), None
            if replay:
                losses = with_baselines(seen).runs
                again, note = replay_lines(
                    seen.cells, seen.runs, ranking(seen), losses, lambda line: status.update(f"replaying: {line}")
                )
                story = story._replace(notes=(note,) if note else ())
            made = make_report(seen, story, again)
            paths = save_report(made, out or folder / "report", only or list(KINDS))
    for path in paths:
        if path.parent.name != "figures":
            typer.echo(str(path))
    figures = [path for path in paths if path.parent.name == "figures"]
    if figures:
        typer.echo(f"{figures[0].parent}: {len(figures)} files")
