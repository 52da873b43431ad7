"""What an engine is: it plays cells in some order and yields what became of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

from tarry.experiments.play import Cancelled, play_cell

TRIES = 3
"""How many workers may die over one cell before it counts as failed."""
PAUSE = 0.2
"""Engines yield None at least this often, so that whoever listens can write and show progress."""


class Outcome(NamedTuple):
    """A cell's columns, or the sentence of what it raised; neither if it was cancelled."""

    cell: str
    columns: dict[str, Any] | None
    error: str = ""


class Engine(Protocol):
    """Closing the iterator stops the workers; cells under way are then lost, and played another time."""

    def play(self, contents: dict[str, str]) -> Iterator[Outcome | None]: ...


def play_one(cell: str, content: str, stopped: Callable[[], bool] = lambda: False) -> Outcome:
    """What a worker does."""
    try:
        return Outcome(cell, play_cell(cell, content, stopped))
    except Cancelled:
        return Outcome(cell, None)
    except Exception as error:
        return Outcome(cell, None, _told(error))


def _told(error: BaseException) -> str:
    """An error in one line; one that is not about the input says its kind."""
    text = " ".join(str(error).split())
    return text if isinstance(error, (ValueError, TypeError)) and text else f"{type(error).__name__}: {text}"


def died(cell: str) -> Outcome:
    """What is said of a cell over which workers die."""
    return Outcome(
        cell, None, "worker after worker died while playing it: give them more memory, or see what kills them"
    )
