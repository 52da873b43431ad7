"""tarry sweep: experiments from one file."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from tarry.cli.plan import Format, refusing
from tarry.experiments import Folder, Sweep, load_sweep, make_engine, run_sweep, standing, write_tables
from tarry.experiments.estimate import Standing
from tarry.experiments.members import describe
from tarry.experiments.play import refusal
from tarry.experiments.run import Summary, parse_task

INTERRUPTED = 130
SHOWN = 5
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
        typer.echo(json.dumps(_figures(found) | {"refused": refused}, indent=2))
        return
    typer.echo(f"{sweep.name}: {_count(found.cells, 'cell')}, {found.finished} finished, {found.missing} to play")
    for key in ("game", "player", *sweep.axes):
        values = [
            cell.columns[key] if key in ("game", "player") else cell.columns["axes"].get(key) for cell in sweep.cells
        ]
        known = list(dict.fromkeys(describe(value) for value in values if value is not None))
        typer.echo(f"  {key}: {', '.join(known[:SHOWN])}{f', … ({len(known)})' if len(known) > SHOWN else ''}")
    for pair, sentence in refused.items():
        typer.echo(f"will fail: {pair}: {sentence}", err=True)
    typer.echo(_cost(found))


@sweep_app.command("run")
def run(
    file: FileArgument,
    results: ResultsOption = None,
    engine: EngineOption = "threads",
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    task: TaskOption = "1/1",
) -> None:
    """Play every cell that is not finished yet."""
    with refusing(NAMES):
        sweep, folder = _opened(file, results)
        play_sweep(sweep, folder, _again(file, results), engine=engine, workers=workers, scheduler=scheduler, task=task)


@sweep_app.command("resume")
def resume(
    file: FileArgument,
    results: ResultsOption = None,
    engine: EngineOption = "threads",
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    task: TaskOption = "1/1",
) -> None:
    """The same as run, where there is something to go on with."""
    with refusing(NAMES):
        sweep, folder = _opened(file, results)
        if not folder.parts.is_dir():
            raise ValueError(f"{folder.path} holds no results to go on with: tarry sweep run {file}, or give --results")
        play_sweep(sweep, folder, _again(file, results), engine=engine, workers=workers, scheduler=scheduler, task=task)


@sweep_app.command("status")
def status(file: FileArgument, results: ResultsOption = None, output: FormatOption = Format.table) -> None:
    """What is finished, missing, failed or damaged; exit code 1 unless all is finished."""
    with refusing(NAMES):
        sweep, folder = _opened(file, results)
        found = standing(sweep, folder)
    if output is Format.json:
        typer.echo(json.dumps(_figures(found), indent=2))
    else:
        typer.echo(f"{sweep.name}: {found.finished} of {_count(found.cells, 'cell')} finished")
        if found.damaged:
            typer.echo(f"{_count(found.damaged, 'file')} damaged: run again, their cells are played anew")
        _tell_failures(sweep, found.failed)
        typer.echo(_cost(found))
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
        typer.echo(f"{_count(missing, 'cell')} of {len(sweep.contents)} not finished and left out", err=True)


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


def _again(file: Path, results: Path | None) -> str:
    return f"tarry sweep resume {file}{'' if results is None else f' --results {results}'}"


def play_sweep(sweep: Sweep, folder: Folder, again: str, *, task: str, aside: bool = False, **chosen: Any) -> None:
    """Play what is missing with a bar, and say how it ended (``aside``: not on standard output).

    ``again`` is the command that goes on after an interrupt.
    """
    console = Console(stderr=True)
    logging.getLogger("tarry").addHandler(logging.NullHandler())  # warnings are kept with the results
    try:
        with _bar(console) as show:
            done = run_sweep(sweep, folder, make_engine(**chosen), task=parse_task(task), progress=show)
    except KeyboardInterrupt:
        typer.echo(f"interrupted; finished cells are kept: {again} goes on", err=True)
        raise typer.Exit(INTERRUPTED) from None
    typer.echo(_told(done, folder), err=aside)
    _tell_failures(sweep, done.failed)
    if done.failed:
        raise typer.Exit(1)


def _told(done: Summary, folder: Folder) -> str:
    before = f", {done.found} were there" if done.found else ""
    failed = f", {len(done.failed)} failed" if done.failed else ""
    return f"{_count(done.finished, 'cell')} finished{before}{failed}: {folder.path}"


def _tell_failures(sweep: Sweep, failed: dict[str, str]) -> None:
    """One line for every sentence, with the first cell that met it."""
    names = {
        cell.id: f"{cell.columns['game']}, {cell.columns['player']}, {cell.columns['axes']}" for cell in sweep.cells
    }
    sentences: dict[str, list[str]] = {}
    for cell, sentence in failed.items():
        sentences.setdefault(sentence, []).append(cell)
    for sentence, cells in sentences.items():
        also = f" and {len(cells) - 1} more" if len(cells) > 1 else ""
        typer.echo(f"failed: {names[cells[0]]}{also}: {sentence}", err=True)


class _Rate(ProgressColumn):
    """Cells a second, or a minute where they are slow."""

    def render(self, task: Task) -> Text:
        speed = task.speed or 0.0
        return Text(f"{speed:.1f}/s" if speed >= 1 else f"{60 * speed:.1f}/min")


@contextmanager
def _bar(console: Console) -> Iterator[Any]:
    """Progress with rate and remaining time; nothing where nobody looks."""
    columns = (
        TextColumn("cells"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("cells", total=None)

        def show(done: int, total: int) -> None:
            if progress.tasks[task].total is None:
                progress.reset(task, completed=done, total=total)  # what was there before says nothing of the rate
            progress.update(task, completed=done)

        yield show


def _figures(found: Standing) -> dict[str, Any]:
    return found._asdict() | {"missing": found.missing}


def _cost(found: Standing) -> str:
    if not found.missing:
        return "nothing is left to play"
    basis = "going by the finished cells" if found.is_measured else "a guess: no cell is finished yet"
    return f"{found.rounds:,} rounds to play, about {_length(found.seconds)} on one worker, compiling aside ({basis})"


def _length(seconds: float) -> str:
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 1.0):.0f} s"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
