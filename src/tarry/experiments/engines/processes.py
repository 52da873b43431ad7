"""Processes of this machine: for games that hold Python's lock, and members that may crash.

They are started afresh, never forked. Each has a pipe of its own, so that one that dies costs the cell it had, which
another plays again.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
from collections import Counter, deque
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from typing import Any

from tarry.experiments.engines.base import PAUSE, TRIES, Outcome, died, play_one


class Processes:
    """One cell at a time for each; they end with whoever started them."""

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers or os.cpu_count() or 1

    def play(self, contents: dict[str, str]) -> Iterator[Outcome | None]:
        """Play the cells; those of a worker that died are played again."""
        left, deaths = deque(contents), Counter[str]()
        crew = [_Worker() for _ in range(min(self._workers, len(contents)))]
        try:
            while left or any(worker.cell for worker in crew):
                for i, worker in enumerate(crew):
                    if left and not worker.cell and not worker.give(left[0], contents[left.popleft()]):
                        crew[i] = self._replaced(worker, left)
                busy = {worker.pipe: i for i, worker in enumerate(crew) if worker.cell}
                for pipe in wait(list(busy), timeout=PAUSE):
                    i = busy[pipe]  # type: ignore[index]
                    outcome = crew[i].take()
                    if outcome is not None:
                        yield outcome
                        continue
                    deaths[crew[i].cell] += 1
                    if deaths[crew[i].cell] == TRIES:
                        yield died(crew[i].cell)
                        crew[i].cell = ""
                    crew[i] = self._replaced(crew[i], left)
                yield None
        finally:
            for worker in crew:
                worker.end()

    def _replaced(self, worker: _Worker, left: deque[str]) -> _Worker:
        if worker.cell:
            left.append(worker.cell)
        worker.end()
        return _Worker()


class _Worker:
    """A process and the cell it has, if any."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True, name="tarry-worker")
        self._process.start()
        theirs.close()
        self.cell = ""

    def give(self, cell: str, content: str) -> bool:
        """Send a cell; False if nobody is there."""
        self.cell = cell
        try:
            self.pipe.send((cell, content))
        except OSError:
            return False
        return True

    def take(self) -> Outcome | None:
        """What became of the cell, or None if the worker died."""
        try:
            outcome: Outcome = self.pipe.recv()
        except (EOFError, OSError):
            return None
        self.cell = ""
        return outcome

    def end(self) -> None:
        """Stop it, whatever it is doing."""
        self.pipe.close()
        self._process.kill()
        self._process.join()
        self._process.close()


def _serve(pipe: Connection[Any, Any]) -> None:
    """Play what comes through the pipe, until it closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is for whoever started us
    logging.getLogger("tarry").addHandler(logging.NullHandler())  # warnings travel with the results
    try:
        while True:
            pipe.send(play_one(*pipe.recv()))
    except (EOFError, OSError):
        return
