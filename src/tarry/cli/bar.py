"""The bar of a sweep, and what its engine has to say meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from tarry.experiments import engines


class _Rate(ProgressColumn):
    """Cells a second, or a minute where they are slow."""

    def render(self, task: Task) -> Text:
        speed = task.speed or 0.0
        return Text(f"{speed:.1f}/s" if speed >= 1 else f"{60 * speed:.1f}/min")


@contextmanager
def bar(console: Console) -> Iterator[Callable[[int, int], None]]:
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


class _Aloud(logging.Handler):
    def __init__(self, console: Console) -> None:
        super().__init__(logging.WARNING)
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        self._console.print(record.getMessage(), highlight=False, markup=False, soft_wrap=True)


@contextmanager
def aloud(console: Console) -> Iterator[None]:
    """What engines warn of is said at once; what games warn of is kept with the results."""
    logging.getLogger("tarry").addHandler(logging.NullHandler())
    handler = _Aloud(console)
    logger = logging.getLogger(engines.__name__)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
