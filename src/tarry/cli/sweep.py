"""tarry sweep: experiments from one file."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from tarry import experiments
from tarry.cli.console import Format, engine_warnings, progress_bar, refusing

if TYPE_CHECKING:
    from tarry.experiments import Folder, Standing, Summary, Sweep

FAILED, INTERRUPTED = 1, 130
SHOWN = 5  # values of an axis in a plan
DEFAULTS = {"engine": "threads", "task": "1/1"}

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
    with refusing():
        sweep, folder = _opened(file, results)
        found = experiments.standing(sweep, folder)
        refused = _refused(sweep)
    if output is Format.json:
        typer.echo(json.dumps(_figures(found) | {"refused": refused}, indent=2))
        return
    typer.echo(f"{sweep.name}: {_count(found.cells, 'cell')}, {found.finished} finished, {found.missing} to play")
    for line in _axes(sweep):
        typer.echo(line)
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
        play_sweep(sweep, folder, again, engine=engine, workers=workers, scheduler=scheduler, task=task)


@sweep_app.command("status")
def status(file: FileArgument, results: ResultsOption = None, output: FormatOption = Format.table) -> None:
    """What is finished, missing, failed or damaged; exit code 1 unless all is finished."""
    with refusing():
        sweep, folder = _opened(file, results)
        found = experiments.standing(sweep, folder)
    if output is Format.json:
        typer.echo(json.dumps(_figures(found), indent=2))
    else:
        typer.echo(f"{sweep.name}: {found.finished} of {_count(found.cells, 'cell')} finished")
        if found.damaged:
            typer.echo(f"{_count(found.damaged, 'file')} damaged: run again, their cells are played anew")
        _print_failures(sweep, found.failed)
        typer.echo(_cost(found))
    raise typer.Exit(0 if not found.missing else 1)


@sweep_app.command("collect")
def collect(
    file: FileArgument,
    results: ResultsOption = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the tables (default: that of the results).")] = None,
) -> None:
    """Gather what is finished into cells.parquet, runs.parquet and curves.parquet."""
    with refusing():
        sweep, folder = _opened(file, results)
        folder.write_plan(sweep)
        tables = folder.tables()
        for path in experiments.write_tables(tables, out or folder.path):
            typer.echo(str(path))
    if tables.cells["versions"].drop_nulls().n_unique() > 1:
        typer.echo("cells were computed with several versions: see the column versions of cells.parquet", err=True)
    missing = len(sweep.contents) - tables.runs["cell"].n_unique()
    if missing:
        typer.echo(f"{_count(missing, 'cell')} of {len(sweep.contents)} not finished and left out", err=True)


def _opened(file: Path, results: Path | None) -> tuple[Sweep, Folder]:
    sweep = experiments.load_sweep(file)
    return sweep, experiments.Folder(results or Path("out") / "sweeps" / sweep.name)


def _refused(sweep: Sweep) -> dict[str, str]:
    """Return what stands in the way of the first cell of each game and player."""
    from tarry.experiments.play import refusal

    firsts = {f"{c.columns['game']}, {c.columns['player']}": c.content for c in reversed(sweep.cells)}
    found = {pair: refusal(content) for pair, content in firsts.items()}
    return {pair: sentence for pair, sentence in reversed(found.items()) if sentence}


def play_sweep(sweep: Sweep, folder: Folder, again: str, *, task: str, aside: bool = False, **chosen: Any) -> None:
    """Play what is missing with a bar, and print how it ended (``aside``: not on standard output).

    ``again`` is the command that goes on after an interrupt; what was chosen here is added to it.
    """
    from tarry.experiments.engines import make_engine
    from tarry.experiments.run import parse_task

    console = Console(stderr=True)
    try:
        with engine_warnings(console), progress_bar(console) as show:
            done = experiments.run_sweep(sweep, folder, make_engine(**chosen), task=parse_task(task), progress=show)
    except KeyboardInterrupt:
        command = _with_options(again, **chosen, task=task)
        typer.echo(f"interrupted; finished cells are kept: {command} goes on", err=True)
        raise typer.Exit(INTERRUPTED) from None
    typer.echo(_ending(done, folder), err=aside)
    _print_failures(sweep, done.failed)
    if done.failed:
        raise typer.Exit(FAILED)


def _axes(sweep: Sweep) -> Iterator[str]:
    """Yield a line for the games, the players and every axis, with their first values."""
    from tarry.experiments.members import describe

    for key in ("game", "player", *sweep.axes):
        columns = [cell.columns if key in ("game", "player") else cell.columns["axes"] for cell in sweep.cells]
        known = list(dict.fromkeys(describe(one[key]) for one in columns if one.get(key) is not None))
        yield f"  {key}: {', '.join(known[:SHOWN])}{f', … ({len(known)})' if len(known) > SHOWN else ''}"


def _ending(done: Summary, folder: Folder) -> str:
    before = f", {done.found} were there" if done.found else ""
    failed = f", {len(done.failed)} failed" if done.failed else ""
    return f"{_count(done.finished, 'cell')} finished{before}{failed}: {folder.path}"


def _print_failures(sweep: Sweep, failed: dict[str, str]) -> None:
    """Print one line for every sentence, with the first cell that met it."""
    names = {
        cell.id: f"{cell.columns['game']}, {cell.columns['player']}, {cell.columns['axes']}" for cell in sweep.cells
    }
    sentences: dict[str, list[str]] = {}
    for cell, sentence in failed.items():
        sentences.setdefault(sentence, []).append(cell)
    for sentence, cells in sentences.items():
        also = f" and {len(cells) - 1} more" if len(cells) > 1 else ""
        typer.echo(f"failed: {names[cells[0]]}{also}: {sentence}", err=True)


def _with_options(command: str, **chosen: Any) -> str:
    """Return the command with the options that are not the default.

    >>> _with_options("tarry sweep resume a.toml", engine="dask", workers=None, scheduler="tcp://a b", task="1/1")
    "tarry sweep resume a.toml --engine dask --scheduler 'tcp://a b'"
    """
    said = {name: value for name, value in chosen.items() if value is not None and value != DEFAULTS.get(name)}
    return " ".join([command, *(f"--{name} {shlex.quote(str(value))}" for name, value in said.items())])


def _figures(found: Standing) -> dict[str, Any]:
    return found._asdict() | {"missing": found.missing}


def _cost(found: Standing) -> str:
    """Return what is left to play, in words."""
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
    """Return a number of things in words.

    >>> _count(1, "cell"), _count(2, "cell")
    ('1 cell', '2 cells')
    """
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
