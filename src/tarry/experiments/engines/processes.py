"""Processes of this machine: for games that hold Python's lock, and members that may crash.

They are started afresh, never forked. Each has a pipe of its own, so that one that dies costs the cell it had, which
another plays again.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from typing import Any

from tarry.experiments.engines.base import PAUSE, TRIES, Outcome, died, play_one
from tarry.game.seeds import core_count


class Processes:
    """One cell at a time for each; they end with whoever started them."""

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers or core_count()

    def play(self, contents: dict[str, str]) -> Iterator[Outcome | None]:
        """Play the cells; those of a worker that died are played again."""
        left, deaths, crew = deque(contents), _Deaths(self._workers), list[_Worker]()
        try:
            crew.extend(_Worker() for _ in range(min(self._workers, len(contents))))
            while left or any(worker.cell for worker in crew):
                dead = []
                for i, worker in enumerate(crew):
                    if left and worker.is_idle and not worker.give(left[0], contents[left.popleft()]):
                        dead.append(i)
                heard = {worker.pipe: i for i, worker in enumerate(crew) if not worker.is_idle and i not in dead}
                for pipe in wait(list(heard), timeout=0 if dead else PAUSE):
                    i = heard[pipe]  # type: ignore[index]
                    outcome = crew[i].take()
                    if outcome is None:
                        dead.append(i)
                    elif outcome.cell:
                        deaths.forget()
                        yield outcome
                for i in dead:
                    if deaths.is_last(crew[i]):
                        yield died(crew[i].cell)
                    elif crew[i].cell:
                        left.append(crew[i].cell)
                    old, crew[i] = crew[i], _Worker()
                    old.end()
                yield None
        finally:
            for worker in crew:
                worker.end()


class _Deaths:
    """How many died over each cell; raises once it is plain that no worker will get anywhere."""

    def __init__(self, workers: int) -> None:
        self._over = Counter[str]()
        self._unborn = 0
        self._barren, self._allowed = 0, float(TRIES * (workers + 2))

    def forget(self) -> None:
        """A result came: from now on deaths are held against cells only."""
        self._allowed = float("inf")

    def is_last(self, worker: _Worker) -> bool:
        """Note a death; whether its cell has cost enough of them."""
        self._over[worker.cell] += 1
        self._unborn = 0 if worker.is_ready else self._unborn + 1
        self._barren += 1
        if self._unborn == TRIES:
            raise ChildProcessError(
                f"worker processes cannot start: {TRIES} in a row ended before their first cell, the last with exit "
                f"code {worker.exit_code()}. See what they wrote; a script must be safe to import, with what it does "
                "under if __name__ == '__main__'; or take the engine threads"
            )
        if self._barren > self._allowed:
            raise ChildProcessError(
                f"{self._barren} worker processes died and none has finished a cell, the last with exit code "
                f"{worker.exit_code()}: see what kills them, or give them more memory"
            )
        return bool(worker.cell) and self._over[worker.cell] == TRIES


class _Worker:
    """A process, whether it has started, and the cell it has, if any."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True, name="tarry-worker")
        self._process.start()
        theirs.close()
        self.is_ready, self.cell = False, ""

    @property
    def is_idle(self) -> bool:
        """Whether it waits for a cell."""
        return self.is_ready and not self.cell

    def give(self, cell: str, content: str) -> bool:
        """Send a cell; False if nobody is there."""
        self.cell = cell
        try:
            self.pipe.send((cell, content))
        except OSError:
            return False
        return True

    def take(self) -> Outcome | None:
        """What became of the cell, of none if the worker says that it has started; None if it died."""
        try:
            outcome: Outcome = self.pipe.recv()
        except (EOFError, OSError):
            return None
        self.is_ready, self.cell = True, ""
        return outcome

    def exit_code(self) -> int | None:
        """What a dead one left; None if that takes long."""
        self._process.join(1.0)
        return self._process.exitcode

    def end(self) -> None:
        """Stop it, whatever it is doing."""
        self.pipe.close()
        self._process.kill()
        self._process.join()
        self._process.close()


def _serve(pipe: Connection[Any, Any]) -> None:
    """Say that we are there, and play what comes through the pipe, until it closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is for whoever started us
    logging.getLogger("tarry").addHandler(logging.NullHandler())  # warnings travel with the results
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        pipe.send(Outcome("", None))
        while True:
            pipe.send(play_one(*pipe.recv()))
    except (EOFError, OSError):
        return


def _end_with_parent() -> None:
    """Do not finish a cell for somebody who was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
