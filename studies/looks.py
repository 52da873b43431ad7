"""Looked at in the middle of a log: does the believed rate cover the truth, and is its interval wide enough?"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, NamedTuple

import numpy as np
import typer

from studies.logs import LOGS
from studies.numbers import Write, lines_of, write_numbers
from tarry.cases import CaseLog
from tarry.cases.compare import slots_of
from tarry.cases.log import DECIDED, LABEL, LABELLED
from tarry.cli.console import progress_lines, refusing, screen
from tarry.live import Estimate, LabelJoin
from tarry.reports.table import Table

QUARTERS = (0.25, 0.5, 0.75)
SLACK = 1e-9  # of rounding


class Look(NamedTuple):
    """One run, looked at after a part of the log: the join's estimate, and the mean that it is about."""

    part: float
    found: Estimate
    truth: float

    @property
    def covers(self) -> bool:
        return self.found.low <= self.truth <= self.found.high

    @property
    def is_wide_enough(self) -> bool:
        """Whether the interval leaves room for whatever the labels that are still awaited may be."""
        return self.found.high - self.found.low >= min(1.0, self.found.outstanding) - SLACK


def look(log: CaseLog, release: str, capacity: float, seed: int) -> list[Look]:
    """Return what a join says at a quarter, half and three quarters of a log's decisions.

    With release="window" it speaks of the decisions whose windows have ended, else of all so far.
    """
    assert log.window is not None  # the logs of the studies have one
    told = []
    slots = slots_of(log, release, capacity)
    for part in QUARTERS:
        count = int(part * log.settled.sum())  # those come first, and of no others all labels are known
        now = log.decided[count - 1]
        columns = {name: column[:count] for name, column in log.columns.items()}
        has_come = [moment is not None and moment <= now for moment in columns[LABELLED]]
        for name in (LABELLED, LABEL):
            columns[name] = [value if come else None for value, come in zip(columns[name], has_come, strict=True)]
        join = LabelJoin(slots, window=log.window, missing=log.missing, release=release, rng=seed)
        for _ in join.stream(columns, decided_at=DECIDED, labelled_at=LABELLED, label=LABEL):
            pass
        spoken_of = log.decided[:count] + log.window <= now if release == "window" else np.full(count, True)
        if spoken_of.any():
            told.append(Look(part, join.estimate(), float(log.truth[:count][spoken_of].mean())))
    return told


def looks_command(
    log: Annotated[list[str] | None, typer.Option(help=f"Only these (repeat): {', '.join(LOGS)}.")] = None,
    runs: Annotated[int, typer.Option(min=2, help="Runs.")] = 200,
    capacity: Annotated[float, typer.Option(help="Slots, as a share of the mean backlog.")] = 0.15,
    write: Write = False,
) -> None:
    """Is the believed rate right in the middle of a log? Coverage at a quarter, half and three quarters."""
    rows = []
    with refusing(), progress_lines("looking") as tell:
        for name in log or LOGS:
            made = LOGS[name]()
            for release in made.releases:
                rows.append((name, release, *row_of(made, release, capacity, runs, partial(_tell, tell, name))))
    table = Table(
        "Runs whose interval covers the truth",
        ("log", "release", "a quarter", "half", "three quarters", "wide enough"),
        rows,
        f"Level 95 %, {runs} runs. The truth is that of settled decisions (release='window') or of all so far "
        "(arrival). Wide enough: for whatever is still awaited, by its share. – no window has ended yet.",
        text=("log", "release"),
    )
    screen().print(table.rich())
    if write:
        said = "".join(f"--log {name} " for name in log or ())
        command = f"python -m studies looks {said}--runs {runs} --capacity {capacity:g} --write"
        write_numbers("looks", command, {"table": lines_of(table)})


def _tell(tell: Callable[[str], None], name: str, run: int) -> None:
    tell(f"{name}, run {run}")


def row_of(log: CaseLog, release: str, capacity: float, runs: int, tell: Callable[[int], None]) -> list[str]:
    """Return the shares of runs that cover the truth, by look, and of looks that are wide enough."""
    found: list[Look] = []
    for seed in range(runs):
        tell(seed + 1)
        found += look(log, release, capacity, seed)
    cells = []
    for part in QUARTERS:
        covers = [one.covers for one in found if one.part == part]
        cells.append(f"{np.mean(covers):.1%}" if covers else "–")
    wide = np.mean([one.is_wide_enough for one in found]) if release == "arrival" else None
    return [*cells, "–" if wide is None else f"{wide:.1%}"]
