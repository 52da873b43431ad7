"""What an engine is: it plays cells in some order and yields what became of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

TRIES = 3
"""How many workers may die over one cell before it counts as failed."""
PAUSE = 0.2
"""Engines yield None at least this often, so that whoever listens can write and show progress."""


class Outcome(NamedTuple):
    """A cell's columns, or the sentence of what it raised."""

    cell: str
    columns: dict[str, Any] | None
    error: str = ""


class Engine(Protocol):
    """Closing the iterator stops the workers; cells under way are then lost, and run again another time."""

    workers: int

    def play(self, contents: dict[str, str]) -> Iterator[Outcome | None]: ...


def told(error: BaseException) -> str:
    """An error in one sentence; one that is not about the input says its kind."""
    text = " ".join(str(error).split())
    return text if isinstance(error, (ValueError, TypeError)) and text else f"{type(error).__name__}: {text}"


def died(tries: int) -> str:
    """What is said of a cell whose workers die."""
    return f"{tries} workers died while playing it: give them more memory, or look for what kills them"
