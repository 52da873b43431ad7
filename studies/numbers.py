"""The numbers that pages show: docs/figures.json, which commands write, a part for each command.

Pages that show a value (`studies.claims`) are changed with it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from studies.claims import update_pages
from tarry.experiments.parts import write_whole
from tarry.reports.table import Table

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

DOCS = Path(__file__).parents[1] / "docs"
NUMBERS = DOCS / "figures.json"

Values = dict[str, Any]
Write = Annotated[bool, typer.Option("--write", help="Keep the numbers in docs/figures.json, for the pages.")]


def read_numbers() -> dict[str, Values]:
    """Return the numbers as commands last wrote them, by part."""
    return dict(json.loads(NUMBERS.read_text(encoding="utf-8"))) if NUMBERS.exists() else {}


def write_numbers(part: str, command: str, values: Values, machine: str = "") -> None:
    """Keep what a command has measured, with the day, and for speed the machine in words."""
    told = {"command": command, "date": datetime.now(UTC).date().isoformat(), "values": values}
    with _alone():
        before = read_numbers()
        # As the file will be read: JSON has no tuples.
        parts = json.loads(json.dumps(before | {part: told | ({"machine": machine} if machine else {})}))
        text = json.dumps(parts, indent=1, sort_keys=True, ensure_ascii=False)
        write_whole(NUMBERS, f"{text}\n".encode())
        for line in update_pages(before, parts):
            typer.echo(f"change by hand: {line}", err=True)


@contextmanager
def _alone() -> Iterator[None]:
    """Wait until no other command writes: two that do so at once would lose each other's numbers."""
    if fcntl is None:
        yield
        return
    folder = os.open(DOCS, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def write_if_asked(part: str, command: str, values: Values) -> None:
    """Keep what a test has measured if WRITE_NUMBERS is set."""
    if os.environ.get("WRITE_NUMBERS"):
        write_numbers(part, f"WRITE_NUMBERS=1 {command}", values)


def lines_of(table: Table) -> list[str]:
    """Return a table as the lines of Markdown that a page shows, without the line under the heads.

    >>> lines_of(Table("Rows", ("slots", "VarOpt"), [("2", "68%")]))
    ['| slots | VarOpt |', '| 2 | 68% |']
    """
    return [f"| {' | '.join(cells)} |" for cells in (table.columns, *table.rows)]


def short(value: float) -> float:
    """Return a value to six digits: more would be noise of the machine."""
    return float(f"{value:.6g}")
