"""What commands share: where they print, how they refuse, and how far they are."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from tarry.errors import ArgumentError, TarryError

REFUSED = 2  # exit code: the arguments are wrong, and nothing was changed
PAUSE = 10.0  # seconds between lines of progress where there is no screen
PIPED = 132  # columns where no screen says otherwise


class Format(StrEnum):
    """How results are printed."""

    table = "table"
    json = "json"


FormatOption = Annotated[Format, typer.Option("--format", "-f", help="What to print.")]


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
        # What is no identifier is a name that was made for the command line already, such as "--with shape=…".
        name = f"--{error.name.replace('_', '-')}" if error.name.isidentifier() else error.name
        raise ended(error.sentence(name), REFUSED) from error
    except (ValueError, TypeError, ImportError) as error:
        raise ended(str(error), REFUSED) from error
    except (TarryError, OSError) as error:
        raise ended(str(error), unreachable) from error


def ended(sentence: str, code: int) -> typer.Exit:
    """Print a sentence on standard error; return the exit with this code, to be raised."""
    typer.echo(sentence, err=True)
    return typer.Exit(code)


def screen() -> Console:
    """Return standard output; what goes into a pipe or a file is not cut at 80 columns."""
    console = Console()
    return console if console.is_terminal or "COLUMNS" in os.environ else Console(width=PIPED)


class _Rate(ProgressColumn):
    """Steps a second, or a minute where they are slow."""

    def render(self, task: Task) -> Text:
        speed = task.speed or 0.0
        return Text(f"{speed:.1f}/s" if speed >= 1 else f"{60 * speed:.1f}/min")


@contextmanager
def progress_bar(console: Console, doing: str) -> Iterator[Callable[..., None]]:
    """Yield a function of steps done, all steps, and what is being done; off a terminal a line comes now and then."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(doing, total=None)  # the total is known with the first step

        told = time.monotonic()

        def show(done: int, total: int, doing: str = doing) -> None:
            nonlocal told
            if not console.is_terminal and time.monotonic() - told >= PAUSE:
                told = time.monotonic()
                console.print(f"{done:,} of {total:,}: {doing}", highlight=False, soft_wrap=True)
            if progress.tasks[task].total is None:
                progress.reset(task, completed=done, total=total)  # what was there before says nothing of the rate
            progress.update(task, completed=done, description=doing)

        with telling_of_compiling(lambda text: progress.update(task, description=text)):
            yield show


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


class _Teller(logging.Handler):
    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__()
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        self._tell(record.getMessage())


@contextmanager
def telling_of_compiling(tell: Callable[[str], None]) -> Iterator[None]:
    """Call ``tell`` with a line on what is being compiled, where that takes longer than a second."""
    logger, handler = logging.getLogger("tarry.compiling"), _Teller(tell)
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)


@contextmanager
def engine_warnings() -> Iterator[None]:
    """Print on standard error at once what engines warn of; what games warn of is kept with the results."""
    logging.getLogger("tarry").addHandler(logging.NullHandler())  # else Python prints what nobody handles
    handler, logger = logging.StreamHandler(), logging.getLogger("tarry.experiments")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def columns_of(given: list[str] | None) -> list[str] | None:
    """Return the columns that an option names, in a list by commas or by the option repeated.

    >>> columns_of(["price, shop", "age"])
    ['price', 'shop', 'age']
    """
    return None if given is None else [name.strip() for one in given for name in one.split(",")]
