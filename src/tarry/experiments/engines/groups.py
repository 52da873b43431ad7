"""Groups of cells, as they travel to Dask's workers, and the books of those still to be played.

Small cells travel together, so that a task lasts about a quarter of a second. Dask blames the death of a worker on
every task it had sent there, those that had not begun too. So a group over which too many died is taken apart, and a
cell over which too many died is tried once more at the end, when nothing else is under way that could have killed them.
"""

from __future__ import annotations

import logging
import socket
import time
from collections import Counter, deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from tarry._version import __version__
from tarry.experiments.engines.base import TRIES, Outcome, died, play_one
from tarry.versions import source

TASK_SECONDS = 0.25
LARGEST_GROUP = 64
Group = list[tuple[str, str]]


class Played(NamedTuple):
    """What became of a group's cells, how long it took, where, and with which code."""

    outcomes: list[Outcome]
    seconds: float
    host: str
    code: str


def play_group(group: Group) -> Played:
    """What a worker does."""
    logging.getLogger("tarry").addHandler(logging.NullHandler())  # warnings travel with the results
    started = time.perf_counter()
    outcomes = [play_one(*one) for one in group]
    return Played(outcomes, time.perf_counter() - started, socket.gethostname(), code_here())


def code_here() -> str:
    """The version of Tarry and its sources."""
    return f"{__version__} (source {source()})"


def refuse_other(code: str, worker: str) -> None:
    """Refuse a worker with other code: it might give other numbers under the same name."""
    if code != code_here():
        raise ValueError(f"the worker {worker} has tarry {code}, here is {code_here()}: install the same")


class Groups:
    """Cells still to be played, group by group; ``under_way`` holds what was given out."""

    def __init__(self, contents: dict[str, str]) -> None:
        self._left = deque(contents.items())
        self._apart: deque[tuple[str, str]] = deque()
        self._suspects: deque[tuple[str, str]] = deque()
        self._alone: set[str] = set()
        self._cancelled = Counter[str]()
        self._size = 1
        self.under_way: dict[Any, Group] = {}

    def __bool__(self) -> bool:
        return bool(self._left or self._apart or self._suspects or self.under_way)

    def take(self) -> Group:
        """The next to be given out, empty if there is none for now."""
        if self._apart:
            return [self._apart.popleft()]
        if self._left:
            return [self._left.popleft() for _ in range(min(self._size, len(self._left)))]
        if self._suspects and not self.under_way:
            suspect = self._suspects.popleft()
            self._alone.add(suspect[0])
            return [suspect]
        return []

    def played(self, group: Group, played: Played) -> list[Outcome]:
        """Its outcomes; the next groups are as long as this one tells."""
        refuse_other(played.code, f"on {played.host}")
        self._size = min(LARGEST_GROUP, max(1, round(TASK_SECONDS * len(group) / max(played.seconds, 1e-6))))
        return played.outcomes

    def killed(self, group: Group) -> Iterator[Outcome]:
        """Workers died over it, or over what they had beside it: find out which."""
        if len(group) > 1:
            self._apart.extend(group)
        elif group[0][0] in self._alone:
            yield died(group[0][0])
        else:
            self._suspects.extend(group)

    def failed(self, group: Group, error: Exception) -> Iterator[Outcome]:
        """Dask could not carry it out: cells' own errors travel as outcomes."""
        if len(group) > 1:
            self._apart.extend(group)
        else:
            yield Outcome(group[0][0], None, f"{type(error).__name__}: {error}")

    def cancelled(self, group: Group) -> Iterator[Outcome]:
        """Somebody cancelled it, or the scheduler has started again: that is not the cells' doing."""
        for cell, content in group:
            self._cancelled[cell] += 1
            if self._cancelled[cell] <= TRIES:
                self._apart.append((cell, content))
            else:
                yield Outcome(
                    cell,
                    None,
                    f"its task was cancelled {TRIES + 1} times: see who cancels it, or restarts the scheduler",
                )
