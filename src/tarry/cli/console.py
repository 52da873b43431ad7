"""What commands share: where they print, how they refuse, and signs of life while they work."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from tarry.errors import ArgumentError, TarryError

REFUSED = 2  # exit code: the arguments are wrong, and nothing was changed
PIPED = 132  # columns where no screen says otherwise
PAUSE = 5.0  # seconds between lines of progress where there is no screen
ENGINES = "tarry.experiments"  # the logger of engines, whose warnings are shown at once


class Format(StrEnum):
    """How results are printed."""

    table = "table"
    json = "json"


@contextmanager
def refusing(*, unreachable: int = REFUSED) -> Iterator[None]:
    """Turn an error into a sentence on standard error and an exit code.

    An argument that is refused is called by its option. ``unreachable`` is the exit code where a file or a store
    cannot be used; input that is wrong ends with code 2.
    """
    try:
        yield
    except BrokenPipeError:  # the reader of the output has gone, which is no fault of the input
        raise
    except ArgumentError as error:
        raise ended(error.sentence(option_of(error.name)), REFUSED) from error
    except (ValueError, TypeError, ImportError) as error:
        raise ended(str(error), REFUSED) from error
    except (TarryError, OSError) as error:
        raise ended(str(error), unreachable) from error


def option_of(name: str) -> str:
    """Return the option of an argument; what is no name of an argument stays as it is.

    >>> option_of("per_day")
    '--per-day'
    """
    return f"--{name.replace('_', '-')}" if name.isidentifier() else name


def ended(sentence: str, code: int) -> typer.Exit:
    """Print a sentence on standard error; return the exit with this code, to be raised."""
    typer.echo(sentence, err=True)
    return typer.Exit(code)


def screen() -> Console:
    """Return standard output; what goes into a pipe or a file is not cut at 80 columns."""
    console = Console()
    return console if console.is_terminal or "COLUMNS" in os.environ else Console(width=PIPED)


@contextmanager
def progress_lines(doing: str) -> Iterator[Callable[[str], None]]:
    """Yield a function that shows what is being done: on a screen in one line, elsewhere in one every few seconds."""
    console = Console(stderr=True)
    if console.is_terminal:
        with console.status(doing) as status:
            yield lambda text: status.update(f"{doing}: {text}")
        return
    last = time.monotonic()

    def tell(text: str) -> None:
        nonlocal last
        if time.monotonic() - last >= PAUSE:
            last = time.monotonic()
            console.print(f"{doing}: {text}", highlight=False, soft_wrap=True)

    yield tell


class _Rate(ProgressColumn):
    """Cells a second, or a minute where they are slow."""

    def render(self, task: Task) -> Text:
        speed = task.speed or 0.0
        return Text(f"{speed:.1f}/s" if speed >= 1 else f"{60 * speed:.1f}/min")


@contextmanager
def progress_bar(console: Console) -> Iterator[Callable[[int, int], None]]:
    """Yield a function of cells done and all cells, shown with rate and remaining time; off a terminal nothing is."""
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


class _Printing(logging.Handler):
    def __init__(self, console: Console) -> None:
        super().__init__(logging.WARNING)
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        self._console.print(record.getMessage(), highlight=False, markup=False, soft_wrap=True)


@contextmanager
def engine_warnings(console: Console) -> Iterator[None]:
    """Print at once what engines warn of; what games warn of is kept with the results."""
    logging.getLogger("tarry").addHandler(logging.NullHandler())
    handler = _Printing(console)
    logger = logging.getLogger(ENGINES)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
