"""tarry sweep: experiments from one file."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from tarry import experiments
from tarry.cli.console import Format, FormatOption, ended, engine_warnings, progress_bar, refusing
from tarry.cli.own import look_here
from tarry.outcomes import counted

FAILED, INTERRUPTED = 1, 130  # exit codes; the second is a shell's for Ctrl-C
SHOWN = 5  # values of an axis in a plan
# What need not be said again in the command that goes on after an interrupt.
DEFAULTS = {"engine": "threads", "task": "1/1"}

sweep_app = typer.Typer(no_args_is_help=True)

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The sweep, in TOML.")]
ResultsOption = Annotated[
    Path | None, typer.Option("--results", "-r", help="Folder of results (default: out/sweeps/NAME).")
]
EngineOption = Annotated[str, typer.Option(help="Where cells are played: threads, processes or dask.")]
WorkersOption = Annotated[int | None, typer.Option(min=1, help="How many at once (default: one per core).")]
SchedulerOption = Annotated[
    str | None, typer.Option(help="With --engine dask: its address (default: a local cluster).")
]
DeviceOption = Annotated[
    str | None, typer.Option(help="What seeds are played on: cpu, cuda or auto (default: as the file says, or cpu).")
]
TaskOption = Annotated[str, typer.Option(help="Of n jobs that share the folder, the i-th: i/n.")]


@sweep_app.command("plan")
def plan(file: FileArgument, results: ResultsOption = None, output: FormatOption = Format.table) -> None:
    """How many cells there are, which are finished, and what the others will cost."""
    from tarry.experiments.members import describe
    from tarry.experiments.play import refusal

    with refusing():
        sweep, folder = _opened(file, results)
        found = experiments.standing(sweep, folder)
        # What stands in the way of a game and a player shows in the first cell of the two.
        firsts = {f"{c.columns['game']}, {c.columns['player']}": c.content for c in reversed(sweep.cells)}
        refused = {pair: sentence for pair in reversed(firsts) if (sentence := refusal(firsts[pair]))}
    if output is Format.json:
        told = {"missing": found.missing, "refused": refused, "warnings": sweep.warnings}
        typer.echo(json.dumps(found._asdict() | told, indent=2))
        return
    typer.echo(f"{sweep.name}: {counted(found.cells, 'cell')}, {found.finished} finished, {found.missing} to play")
    for key in ("game", "player", *sweep.axes):
        columns = [cell.columns if key in ("game", "player") else cell.columns["axes"] for cell in sweep.cells]
        known = list(dict.fromkeys(describe(one[key]) for one in columns if one.get(key) is not None))
        typer.echo(f"  {key}: {', '.join(known[:SHOWN])}{f', … ({len(known)})' if len(known) > SHOWN else ''}")
    for sentence in sweep.warnings:
        typer.echo(f"warning: {sentence}", err=True)
    for pair, sentence in refused.items():
        typer.echo(f"will fail: {pair}: {sentence}", err=True)
    typer.echo(_cost(found))


@sweep_app.command("resume", help="The same as run, where there is something to go on with.")
@sweep_app.command("run")
def run(
    context: typer.Context,
    file: FileArgument,
    results: ResultsOption = None,
    engine: EngineOption = "threads",
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    device: DeviceOption = None,
    task: TaskOption = "1/1",
) -> None:
    """Play every cell that is not finished yet."""
    place = [] if results is None else ["--results", str(results)]
    with refusing():
        sweep, folder = _opened(file, results)
        if context.info_name == "resume" and not folder.parts.is_dir():
            first = shlex.join(["tarry", "sweep", "run", str(file)])
            raise ValueError(f"{folder.path} holds no results to go on with: {first}, or give --results")
        again = shlex.join(["tarry", "sweep", "resume", str(file), *place])
        chosen: dict[str, Any] = {"engine": engine, "workers": workers, "scheduler": scheduler, "device": device}
        play_sweep(sweep, folder, again, task=task, **chosen)


@sweep_app.command("status")
def status(file: FileArgument, results: ResultsOption = None, output: FormatOption = Format.table) -> None:
    """What is finished, missing, failed or damaged; exit code 1 unless all is finished."""
    with refusing():
        sweep, folder = _opened(file, results)
        found = experiments.standing(sweep, folder)
    if output is Format.json:
        typer.echo(json.dumps(found._asdict() | {"missing": found.missing}, indent=2))
    else:
        typer.echo(f"{sweep.name}: {found.finished} of {counted(found.cells, 'cell')} finished")
        if found.damaged:
            typer.echo(f"{counted(found.damaged, 'file')} damaged: run again, their cells are played anew")
        _print_failures(sweep, found.failed)
        typer.echo(_cost(found))
    raise typer.Exit(0 if not found.missing else 1)  # so that a script can wait for the last cell


@sweep_app.command("collect")
def collect(
    file: FileArgument,
    results: ResultsOption = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the tables (default: that of the results).")] = None,
) -> None:
    """Gather what is finished into cells.parquet, runs.parquet and curves.parquet."""
    with refusing():
        sweep, folder = _opened(file, results)
        folder.write_plan(sweep)  # so that the folder can be read without the sweep's file
        tables = folder.tables()
        for path in experiments.write_tables(tables, out or folder.path):
            typer.echo(str(path))
    if tables.cells["versions"].drop_nulls().n_unique() > 1:
        typer.echo("cells were computed with several versions: see the column versions of cells.parquet", err=True)
    missing = len(sweep.contents) - tables.runs["cell"].n_unique()
    if missing:
        typer.echo(f"{counted(missing, 'cell')} of {len(sweep.contents)} not finished and left out", err=True)


def _opened(file: Path, results: Path | None) -> tuple[experiments.Sweep, experiments.Folder]:
    look_here()
    sweep = experiments.load_sweep(file)
    return sweep, experiments.Folder(results or Path("out") / "sweeps" / sweep.name)


def play_sweep(
    sweep: experiments.Sweep, folder: experiments.Folder, again: str, *, task: str, aside: bool = False, **chosen: Any
) -> None:
    """Play what is missing with a bar, and print how it ended (``aside``: not on standard output).

    ``again`` is the command that goes on after an interrupt; what was chosen here is added to it.
    """
    from tarry.experiments.engines import make_engine
    from tarry.experiments.run import parse_task

    console = Console(stderr=True)
    try:
        # The warnings come second, for the bar then makes way for what is written on standard error.
        with progress_bar(console, "cells") as show, engine_warnings():
            engine = make_engine(**chosen | {"device": chosen.get("device") or sweep.device})
            done = experiments.run_sweep(sweep, folder, engine, task=parse_task(task), progress=show)
    except KeyboardInterrupt:
        said = {name: value for name, value in (chosen | {"task": task}).items() if value is not None}
        words = [f"--{name} {shlex.quote(str(said[name]))}" for name in said if said[name] != DEFAULTS.get(name)]
        raise ended(f"interrupted; finished cells are kept: {' '.join([again, *words])} goes on", INTERRUPTED) from None
    before = f", {done.found} were there" if done.found else ""
    failed = f", {len(done.failed)} failed" if done.failed else ""
    typer.echo(f"{counted(done.finished, 'cell')} finished{before}{failed}: {folder.path}", err=aside)
    _print_failures(sweep, done.failed)
    if done.failed:
        raise typer.Exit(FAILED)


def _print_failures(sweep: experiments.Sweep, failed: dict[str, str]) -> None:
    """Print one line for every sentence, with the first cell that met it."""
    names = {
        cell.id: f"{cell.columns['game']}, {cell.columns['player']}, {cell.columns['axes']}" for cell in sweep.cells
    }
    sentences: dict[str, list[str]] = {}  # many cells fail for one reason
    for cell, sentence in failed.items():
        sentences.setdefault(sentence, []).append(cell)
    for sentence, cells in sentences.items():
        also = f" and {len(cells) - 1} more" if len(cells) > 1 else ""
        typer.echo(f"failed: {names[cells[0]]}{also}: {sentence}", err=True)


def _cost(found: experiments.Standing) -> str:
    """Return what is left to play, in words."""
    if not found.missing:
        return "nothing is left to play"
    basis = "going by the finished cells" if found.is_measured else "a guess, until some cells are finished"
    units = (("h", 3600.0), ("min", 60.0), ("s", 1.0))
    unit, size = next((unit for unit in units if found.seconds >= 2 * unit[1]), units[-1])
    length = f"{max(found.seconds, 1.0) / size:.0f} {unit}"
    return f"{found.rounds:,} rounds to play, about {length} on one worker, compiling aside ({basis})"
