"""tarry sweep: experiments from one file."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from tarry.cli import account
from tarry.cli.bar import aloud, bar
from tarry.cli.plan import Format, refusing
from tarry.experiments import Folder, Sweep, load_sweep, make_engine, run_sweep, standing, write_tables
from tarry.experiments.play import refusal
from tarry.experiments.run import parse_task

INTERRUPTED = 130
NAMES = ("engine", "workers", "scheduler", "task")

sweep_app = typer.Typer(no_args_is_help=True, help="Experiments from one file (docs/experiments.md).")

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The sweep, in TOML.")]
ResultsOption = Annotated[
    Path | None, typer.Option("--results", "-r", help="Folder of results (default: out/sweeps/NAME).")
]
EngineOption = Annotated[str, typer.Option(help="Where cells are played: threads, processes or dask.")]
WorkersOption = Annotated[int | None, typer.Option(min=1, help="How many at once (default: one per core).")]
SchedulerOption = Annotated[
    str | None, typer.Option(help="With --engine dask: its address (default: a local cluster).")
]
TaskOption = Annotated[str, typer.Option(help="Of n jobs that share the folder, the i-th: i/n.")]
FormatOption = Annotated[Format, typer.Option("--format", "-f", help="What to print.")]


@sweep_app.command("plan")
def plan(file: FileArgument, results: ResultsOption = None, output: FormatOption = Format.table) -> None:
    """How many cells there are, which are finished, and what the others will cost."""
    with refusing(NAMES):
        sweep, folder = _opened(file, results)
        found = standing(sweep, folder)
        refused = _refused(sweep)
    if output is Format.json:
        typer.echo(json.dumps(account.figures(found) | {"refused": refused}, indent=2))
        return
    typer.echo(
        f"{sweep.name}: {account.count(found.cells, 'cell')}, {found.finished} finished, {found.missing} to play"
    )
    for line in account.axes(sweep):
        typer.echo(line)
    for pair, sentence in refused.items():
        typer.echo(f"will fail: {pair}: {sentence}", err=True)
    typer.echo(account.cost(found))


@sweep_app.command("resume", help="The same as run, where there is something to go on with.")
@sweep_app.command("run")
def run(
    context: typer.Context,
    file: FileArgument,
    results: ResultsOption = None,
    engine: EngineOption = "threads",
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    task: TaskOption = "1/1",
) -> None:
    """Play every cell that is not finished yet."""
    place = [] if results is None else ["--results", str(results)]
    with refusing(NAMES):
        sweep, folder = _opened(file, results)
        if context.info_name == "resume" and not folder.parts.is_dir():
            first = shlex.join(["tarry", "sweep", "run", str(file)])
            raise ValueError(f"{folder.path} holds no results to go on with: {first}, or give --results")
        again = shlex.join(["tarry", "sweep", "resume", str(file), *place])
        play_sweep(sweep, folder, again, engine=engine, workers=workers, scheduler=scheduler, task=task)


@sweep_app.command("status")
def status(file: FileArgument, results: ResultsOption = None, output: FormatOption = Format.table) -> None:
    """What is finished, missing, failed or damaged; exit code 1 unless all is finished."""
    with refusing(NAMES):
        sweep, folder = _opened(file, results)
        found = standing(sweep, folder)
    if output is Format.json:
        typer.echo(json.dumps(account.figures(found), indent=2))
    else:
        typer.echo(f"{sweep.name}: {found.finished} of {account.count(found.cells, 'cell')} finished")
        if found.damaged:
            typer.echo(f"{account.count(found.damaged, 'file')} damaged: run again, their cells are played anew")
        _tell_failures(sweep, found.failed)
        typer.echo(account.cost(found))
    raise typer.Exit(0 if not found.missing else 1)


@sweep_app.command("collect")
def collect(
    file: FileArgument,
    results: ResultsOption = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the tables (default: that of the results).")] = None,
) -> None:
    """Gather what is finished into cells.parquet, runs.parquet and curves.parquet."""
    with refusing(NAMES):
        sweep, folder = _opened(file, results)
        folder.write_plan(sweep)
        tables = folder.tables()
        for path in write_tables(tables, out or folder.path):
            typer.echo(str(path))
    if tables.cells["versions"].drop_nulls().n_unique() > 1:
        typer.echo("cells were computed with several versions: see the column versions of cells.parquet", err=True)
    missing = len(sweep.contents) - tables.runs["cell"].n_unique()
    if missing:
        typer.echo(f"{account.count(missing, 'cell')} of {len(sweep.contents)} not finished and left out", err=True)


def _opened(file: Path, results: Path | None) -> tuple[Sweep, Folder]:
    sweep = load_sweep(file)
    return sweep, Folder(results or _usual(sweep))


def _usual(sweep: Sweep) -> Path:
    """Where results go unless said otherwise."""
    return Path("out") / "sweeps" / sweep.name


def _refused(sweep: Sweep) -> dict[str, str]:
    """What stands in the way of the first cell of each game and player."""
    firsts = {f"{c.columns['game']}, {c.columns['player']}": c.content for c in reversed(sweep.cells)}
    found = {pair: refusal(content) for pair, content in firsts.items()}
    return {pair: sentence for pair, sentence in reversed(found.items()) if sentence}


def play_sweep(sweep: Sweep, folder: Folder, again: str, *, task: str, aside: bool = False, **chosen: Any) -> None:
    """Play what is missing with a bar, and say how it ended (``aside``: not on standard output).

    ``again`` is the command that goes on after an interrupt; what was chosen here is added to it.
    """
    console = Console(stderr=True)
    try:
        with aloud(console), bar(console) as show:
            done = run_sweep(sweep, folder, make_engine(**chosen), task=parse_task(task), progress=show)
    except KeyboardInterrupt:
        command = account.with_options(again, **chosen, task=task)
        typer.echo(f"interrupted; finished cells are kept: {command} goes on", err=True)
        raise typer.Exit(INTERRUPTED) from None
    typer.echo(account.ending(done, folder), err=aside)
    _tell_failures(sweep, done.failed)
    if done.failed:
        raise typer.Exit(1)


def _tell_failures(sweep: Sweep, failed: dict[str, str]) -> None:
    for line in account.failures(sweep, failed):
        typer.echo(line, err=True)
