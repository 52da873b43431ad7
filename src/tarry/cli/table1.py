"""tarry table1: the paper's Table 1, both halves, as measured exponents."""

from __future__ import annotations

import json
import shlex
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table

from tarry.cli.console import Format, refusing, screen
from tarry.cli.sweep import EngineOption, SchedulerOption, TaskOption, WorkersOption, play_sweep
from tarry.experiments import Folder, Sweep, load_sweep
from tarry.experiments.run import parse_task
from tarry.experiments.table1 import FINE, FULL, QUICK, Measured, claims, measure
from tarry.reports.sheets import Sheet
from tarry.reports.table1 import save_table1, sheets, told

FAILED = 1


def table1_command(
    quick: Annotated[bool, typer.Option("--quick", help="Shorter games, minutes instead of hours.")] = False,
    results: Annotated[
        Path | None, typer.Option("--results", "-r", help="Folder (default: out/table1[-quick]).")
    ] = None,
    engine: EngineOption = "threads",
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    task: TaskOption = "1/1",
    output: Annotated[Format, typer.Option("--format", "-f", help="What to print.")] = Format.table,
) -> None:
    """Play what is missing of Table 1, fit every exponent, and write a page; exit code 1 if one is not as claimed.

    With --task i/n only the i-th share is played: the same command without it measures once all are done.
    """
    with refusing():
        folder = Folder(results or Path("out") / ("table1-quick" if quick else "table1"))
        sweep = load_sweep(QUICK if quick else FULL)
        command = f"tarry table1{' --quick' if quick else ''} --results {shlex.quote(str(folder.path))}"
        is_share = parse_task(task)[1] > 1
        code = _played(sweep, folder, command, task, {"engine": engine, "workers": workers, "scheduler": scheduler})
        if is_share:
            typer.echo(f"once every task is done, {command} measures", err=True)
            raise typer.Exit(code)
        found = measure(folder.tables(), claims())
        paths = save_table1(found, folder.path, command)
    _show(found, paths, output)
    raise typer.Exit(code or (0 if all(one.verdict in FINE for one in found) else 1))


def _played(sweep: Sweep, folder: Folder, command: str, task: str, chosen: dict[str, Any]) -> int:
    """Play, and the exit code: where cells failed there is still something to measure."""
    try:
        play_sweep(sweep, folder, command, task=task, aside=True, **chosen)
    except typer.Exit as ended:
        if ended.exit_code != FAILED:
            raise
        return FAILED
    return 0


def _show(found: list[Measured], paths: list[Path], output: Format) -> None:
    if output is Format.json:
        typer.echo(json.dumps([_plain(one) for one in found], indent=2))
        return
    for sheet in sheets(found):
        screen().print(_table(sheet))
    typer.echo(told(found))
    for path in paths:
        typer.echo(str(path))


def _table(sheet: Sheet) -> Table:
    table = Table(title=sheet.title, caption=sheet.note, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    *figures, verdict = sheet.columns
    for i, name in enumerate(figures):
        table.add_column(name, justify="left" if i < sheet.left else "right", no_wrap=True)
    table.add_column(verdict)
    for row in sheet.rows:
        table.add_row(*row)
    return table


def _plain(one: Measured) -> dict[str, Any]:
    figures = {} if one.found is None else one.found._asdict()
    found = {name: value if isfinite(value) else None for name, value in figures.items()} or None
    return one.claim._asdict() | {"measured": found, "verdict": one.verdict, "reason": one.reason}
