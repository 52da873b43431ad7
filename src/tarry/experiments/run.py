"""Running a sweep: what is missing is played, what is finished is written, and only then counted."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import NamedTuple

from tarry.experiments.engines.base import Engine
from tarry.experiments.engines.threads import Threads
from tarry.experiments.folder import Folder
from tarry.experiments.parts import Writer
from tarry.experiments.sweep import Sweep

Progress = Callable[[int, int], None]


class Summary(NamedTuple):
    """How a run ended: cells that were there before, that it finished, that failed with their sentences."""

    found: int
    finished: int
    failed: dict[str, str]


def missing(sweep: Sweep, folder: Folder, task: tuple[int, int] = (1, 1)) -> dict[str, str]:
    """The cells of this task that are not finished; tasks 1..n part the sweep among them."""
    done = folder.read(["cell"]).cells
    return {cell: content for cell, content in share(sweep, task).items() if cell not in done}


def share(sweep: Sweep, task: tuple[int, int]) -> dict[str, str]:
    """A task's share of all cells, finished or not: the same whenever and wherever it starts."""
    number, count = task
    if not 1 <= number <= count:
        raise ValueError(f"task must be i/n with i from 1 to n, got {number}/{count}")
    return dict(list(sweep.contents.items())[number - 1 :: count])


def run_sweep(
    sweep: Sweep,
    folder: Folder,
    engine: Engine | None = None,
    *,
    task: tuple[int, int] = (1, 1),
    progress: Progress | None = None,
) -> Summary:
    """Play what is missing. Interrupted, it keeps what is finished and raises the interrupt.

    ``progress(done, total)`` is called as cells reach the disk, or fail.
    """
    folder.tidy()
    folder.set_damaged_aside()
    folder.write_plan(sweep)
    left, total = missing(sweep, folder, task), len(share(sweep, task))
    writer, failed, finished = Writer(folder.parts), dict[str, str](), 0
    report = progress or (lambda _done, _total: None)

    def show() -> None:
        report(total - len(left) + finished + len(failed), total)

    def count(cells: list[str]) -> None:
        nonlocal finished
        if cells:
            folder.forgive(cells)
            finished += len(cells)
            show()

    show()
    try:
        with closing((engine or Threads()).play(left)) as outcomes:  # type: ignore[type-var]
            for outcome in outcomes:
                if outcome is None:
                    count(writer.rest())
                elif outcome.columns is not None:
                    count(writer.add(outcome.columns))
                elif outcome.error:
                    failed[outcome.cell] = outcome.error
                    folder.fail(outcome.cell, outcome.error)
                    show()
        count(writer.flush())
    finally:
        count(writer.flush())  # what an interrupt left, that of the line above too
    return Summary(total - len(left), finished, failed)


def parse_task(text: str) -> tuple[int, int]:
    """``"3/8"`` as numbers.

    >>> parse_task("3/8")
    (3, 8)
    """
    number, _, count = text.partition("/")
    if not (number.strip().isdecimal() and count.strip().isdecimal() and 1 <= int(number) <= int(count)):
        raise ValueError(
            f"task must be i/n with i from 1 to n, as in 3/8, got {text!r}: arrays that count from 0 add 1"
        )
    return int(number), int(count)
