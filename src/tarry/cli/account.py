"""Where a sweep stands, and how a run of it ended, in words."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from tarry.experiments import Folder, Standing, Summary, Sweep
from tarry.experiments.members import describe

SHOWN = 5
USUAL = {"engine": "threads", "task": "1/1"}


def axes(sweep: Sweep) -> Iterator[str]:
    """A line for the games, the players and every axis, with their first values."""
    for key in ("game", "player", *sweep.axes):
        values = [
            cell.columns[key] if key in ("game", "player") else cell.columns["axes"].get(key) for cell in sweep.cells
        ]
        known = list(dict.fromkeys(describe(value) for value in values if value is not None))
        yield f"  {key}: {', '.join(known[:SHOWN])}{f', … ({len(known)})' if len(known) > SHOWN else ''}"


def ending(done: Summary, folder: Folder) -> str:
    """How a run ended."""
    before = f", {done.found} were there" if done.found else ""
    failed = f", {len(done.failed)} failed" if done.failed else ""
    return f"{count(done.finished, 'cell')} finished{before}{failed}: {folder.path}"


def failures(sweep: Sweep, failed: dict[str, str]) -> Iterator[str]:
    """One line for every sentence, with the first cell that met it."""
    names = {
        cell.id: f"{cell.columns['game']}, {cell.columns['player']}, {cell.columns['axes']}" for cell in sweep.cells
    }
    sentences: dict[str, list[str]] = {}
    for cell, sentence in failed.items():
        sentences.setdefault(sentence, []).append(cell)
    for sentence, cells in sentences.items():
        also = f" and {len(cells) - 1} more" if len(cells) > 1 else ""
        yield f"failed: {names[cells[0]]}{also}: {sentence}"


def with_options(command: str, **chosen: Any) -> str:
    """The command with the options that are not as usual.

    >>> with_options("tarry sweep resume a.toml", engine="dask", workers=None, scheduler="tcp://a b", task="1/1")
    "tarry sweep resume a.toml --engine dask --scheduler 'tcp://a b'"
    """
    said = {name: value for name, value in chosen.items() if value is not None and value != USUAL.get(name)}
    return " ".join([command, *(f"--{name} {shlex.quote(str(value))}" for name, value in said.items())])


def figures(found: Standing) -> dict[str, Any]:
    """Where it stands, for machines."""
    return found._asdict() | {"missing": found.missing}


def cost(found: Standing) -> str:
    """What is left to play."""
    if not found.missing:
        return "nothing is left to play"
    basis = "going by the finished cells" if found.is_measured else "a guess: no cell is finished yet"
    return f"{found.rounds:,} rounds to play, about {_length(found.seconds)} on one worker, compiling aside ({basis})"


def _length(seconds: float) -> str:
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 1.0):.0f} s"


def count(number: int, what: str) -> str:
    """A number of things.

    >>> count(1, "cell"), count(2, "cell")
    ('1 cell', '2 cells')
    """
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
