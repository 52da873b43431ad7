"""tarry report: a sweep's results as one page, figures and tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tarry.cli.plan import refusing
from tarry.cli.replays import replay_lines
from tarry.experiments import Folder, Tables
from tarry.experiments.summary import read_tables
from tarry.reports.summaries import ranking
from tarry.reports.sweeps import KINDS, Story, make_report, save_report
from tarry.reports.view import view


def report_command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of results, as tarry sweep run writes it.")],
    out: Annotated[Path | None, typer.Option(help="Folder for the report (default: DIR/report).")] = None,
    only: Annotated[list[str] | None, typer.Option(help=f"Write only {', '.join(KINDS)} (repeat the option).")] = None,
    file: Annotated[Path | None, typer.Option(help="The sweep's file, for the page (default: as it was run).")] = None,
    replay: Annotated[
        bool, typer.Option(help="Whether to play one setting again for timeline, survival and moving comparators.")
    ] = True,
) -> None:
    """Write one self-contained page, figures (SVG, PDF, PNG) and tables (Markdown, LaTeX) of a sweep's results."""
    with refusing():
        kinds = _kinds(only)
        results = Folder(folder)
        tables = read_tables(folder)
        with Console(stderr=True).status("drawing") as status:
            seen, story, again = view(*tables), _story(results, tables, file), None
            if replay:
                again, note = replay_lines(seen, ranking(seen), lambda line: status.update(f"replaying: {line}"))
                story = story._replace(notes=(note,) if note else ())
            made = make_report(seen, story, again)
            paths = save_report(made, out or folder / "report", kinds)
    for path in paths:
        if path.parent.name != "figures":
            typer.echo(str(path))
    figures = [path for path in paths if path.parent.name == "figures"]
    if figures:
        typer.echo(f"{figures[0].parent}: {len(figures)} files")


def _kinds(only: list[str] | None) -> list[str]:
    for kind in only or ():
        if kind not in KINDS:
            raise ValueError(f"--only takes {', '.join(KINDS)}, got {kind!r}")
    return only or list(KINDS)


def _story(results: Folder, tables: Tables, file: Path | None) -> Story:
    cells = tables.cells
    text = results.text() if file is None else file.read_text(encoding="utf-8")
    planned = set(cells["cell"])
    name = str(cells["sweep"][0])
    command = f"tarry sweep run {file or f'{name}.toml'} --results {results.path}\ntarry report {results.path}"
    return Story(
        name=name,
        command=command,
        planned=len(planned),
        finished=tables.runs["cell"].n_unique(),
        failed={cell: sentence for cell, sentence in results.failed().items() if cell in planned},
        damaged=len(results.read(["cell"]).damaged),
        file=text,
        versions=tuple(_versions(said) for said in cells["versions"].drop_nulls().unique(maintain_order=True)),
    )


def _versions(said: str) -> str:
    return ", ".join(f"{name} {number}" for name, number in json.loads(said).items())
