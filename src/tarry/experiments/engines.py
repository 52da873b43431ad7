"""Engines: where cells are played. An engine plays cells in some order and yields what became of each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, Protocol

from tarry.checks import as_choice, pick
from tarry.errors import ArgumentError
from tarry.experiments.play import Cancelled, Prepared, play_cell, play_cells, prepare_cell, told
from tarry.game.simulate import DEVICES, core_count, load_device

DEVICE_GROUP = 256  # cells that a GPU is given together: thousands of seeds
Group = list[tuple[str, str]]  # cells and their contents
PAUSE = 0.2  # engines yield None at least this often, so that the caller can write and show progress


class Outcome(NamedTuple):
    """A cell's columns, or the sentence of what it raised; neither if it was cancelled."""

    cell: str
    columns: dict[str, Any] | None
    error: str = ""


class Engine(Protocol):
    """Closing the iterator stops the workers; cells under way are then lost, and played another time."""

    def play(self, contents: dict[str, str]) -> Iterator[Outcome | None]: ...


def play_group(group: Group, stopped: Callable[[], bool] = lambda: False, device: str = "cpu") -> list[Outcome]:
    """Return what became of each cell of a group, whatever it raised: this is what every worker does.

    Cells that agree in their types share a launch of a GPU.
    """
    if device == "cpu":
        return [_outcome(cell, partial(play_cell, cell, content, stopped)) for cell, content in group]
    outcomes, ready = dict[str, Outcome](), list[Prepared]()
    for cell, content in group:
        try:
            ready.append(prepare_cell(cell, content))
        except Exception as error:
            outcomes[cell] = Outcome(cell, None, told(error))
    try:
        outcomes |= {
            member["cell"][0]: Outcome(member["cell"][0], member) for member in play_cells(ready, stopped, device)
        }
    except Cancelled:
        pass
    except Exception:  # somebody's: each by itself says whose
        outcomes |= {member.cell: _outcome(member.cell, partial(_only, member, stopped, device)) for member in ready}
    return [outcomes.get(cell, Outcome(cell, None)) for cell, _ in group]


def _only(cell: Prepared, stopped: Callable[[], bool], device: str) -> dict[str, Any]:
    return next(play_cells([cell], stopped, device))


def _outcome(cell: str, play: Callable[[], dict[str, Any]]) -> Outcome:
    try:
        return Outcome(cell, play())
    except Cancelled:
        return Outcome(cell, None)
    except Exception as error:
        return Outcome(cell, None, told(error))


class Threads:
    """Threads of this process, the default: compiled rounds do not hold Python's lock."""

    def __init__(self, workers: int | None = None, device: str = "cpu") -> None:
        self._device = as_choice(device, "device", DEVICES)
        if device != "cpu":
            self._device = device if load_device().has_device(device) else "cpu"
        # A GPU takes one launch after another, of as many cells as come together.
        self._group = 1 if self._device == "cpu" else DEVICE_GROUP
        self._workers = workers or (core_count() if self._device == "cpu" else 1)

    def play(self, contents: dict[str, str]) -> Iterator[Outcome | None]:
        stop, left = threading.Event(), iter(contents.items())
        pool = ThreadPoolExecutor(self._workers)
        under_way: set[Future[list[Outcome]]] = set()
        try:
            while True:
                while len(under_way) < 2 * self._workers and (group := list(islice(left, self._group))):
                    under_way.add(pool.submit(play_group, group, stop.is_set, self._device))
                if not under_way:
                    return
                done, under_way = wait(under_way, timeout=PAUSE, return_when=FIRST_COMPLETED)
                yield from (outcome for future in done for outcome in future.result())
                yield None
        finally:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)  # a thread that compiles hears of it only afterwards


def make_engine(
    engine: str = "threads", workers: int | None = None, scheduler: str | None = None, device: str = "cpu"
) -> Engine:
    """Return the engine of this name; ``scheduler`` is the address of a Dask cluster that is there already.

    ``device`` is what workers play on, as for ``simulate``.

    >>> make_engine("thread")
    Traceback (most recent call last):
    ValueError: engine: there is no engine 'thread', did you mean 'threads'? Take one of dask, processes, threads
    """
    pick(engine, ("dask", "processes", "threads"), "engine", what="engine")
    if scheduler is not None and engine != "dask":
        problem = f"is the address of a Dask cluster, got {scheduler!r} with the engine {engine!r}"
        raise ArgumentError("scheduler", problem)
    if engine == "threads":
        return Threads(workers, device)
    from tarry.experiments.dask import Dask  # an extra, and half a second

    return Dask(workers, scheduler, device)  # processes are the workers of its local cluster
