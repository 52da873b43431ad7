"""Engines: where cells are played. An engine plays cells in some order and yields what became of each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import Any, NamedTuple, Protocol

from tarry.checks import pick
from tarry.errors import ArgumentError
from tarry.experiments.play import Cancelled, play_cell
from tarry.game.simulate import core_count

PAUSE = 0.2  # engines yield None at least this often, so that the caller can write and show progress


class Outcome(NamedTuple):
    """A cell's columns, or the sentence of what it raised; neither if it was cancelled."""

    cell: str
    columns: dict[str, Any] | None
    error: str = ""


class Engine(Protocol):
    """Closing the iterator stops the workers; cells under way are then lost, and played another time."""

    def play(self, contents: dict[str, str]) -> Iterator[Outcome | None]: ...


def play_one(cell: str, content: str, stopped: Callable[[], bool] = lambda: False) -> Outcome:
    """Return what became of a cell, whatever it raised: this is what every worker does."""
    try:
        return Outcome(cell, play_cell(cell, content, stopped))
    except Cancelled:
        return Outcome(cell, None)
    except Exception as error:
        text = " ".join(str(error).split())
        # An error about the input is a sentence; any other needs its kind to be understood.
        is_sentence = isinstance(error, (ValueError, TypeError)) and text
        return Outcome(cell, None, text if is_sentence else f"{type(error).__name__}: {text}")


class Threads:
    """Threads of this process, the default: compiled rounds do not hold Python's lock."""

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers or core_count()

    def play(self, contents: dict[str, str]) -> Iterator[Outcome | None]:
        stop, left = threading.Event(), iter(contents.items())
        pool = ThreadPoolExecutor(self._workers)
        under_way: set[Future[Outcome]] = set()
        try:
            while True:
                ahead = islice(left, 2 * self._workers - len(under_way))
                under_way |= {pool.submit(play_one, *one, stop.is_set) for one in ahead}
                if not under_way:
                    return
                done, under_way = wait(under_way, timeout=PAUSE, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
                yield None
        finally:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)  # a thread that compiles hears of it only afterwards


def make_engine(engine: str = "threads", workers: int | None = None, scheduler: str | None = None) -> Engine:
    """Return the engine of this name; ``scheduler`` is the address of a Dask cluster that is there already.

    >>> make_engine("thread")
    Traceback (most recent call last):
    ValueError: engine: there is no engine 'thread', did you mean 'threads'? Take one of dask, processes, threads
    """
    pick(engine, ("dask", "processes", "threads"), "engine", what="engine")
    if scheduler is not None and engine != "dask":
        problem = f"is the address of a Dask cluster, got {scheduler!r} with the engine {engine!r}"
        raise ArgumentError("scheduler", problem)
    if engine == "threads":
        return Threads(workers)
    from tarry.experiments.dask import Dask  # an extra, and half a second

    return Dask(workers, scheduler)  # processes are the workers of its local cluster
