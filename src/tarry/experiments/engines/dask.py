"""Dask: workers on other machines, or a cluster of this one's processes.

Small cells travel in groups, so that a task lasts about a quarter of a second. A worker that dies costs its tasks,
which Dask gives to others; a group over which too many died is taken apart and its cells are tried one by one.
"""

from __future__ import annotations

import logging
import os
import signal
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tarry._version import __version__
from tarry.experiments.engines.base import Outcome, died, play_one

TASK_SECONDS = 0.25
LARGEST_GROUP = 64
AHEAD = 3
POLL = 0.02
PATIENCE = 10.0
Group = list[tuple[str, str]]


class Dask:
    """A cluster by its scheduler's address, such as ``tcp://10.0.0.1:8786``, or a local one for as long as it takes."""

    def __init__(self, workers: int | None = None, scheduler: str | None = None) -> None:
        try:
            import distributed
        except ImportError as error:
            raise ImportError(f"the engine dask needs {error.name}: pip install 'tarry[dask]'") from error
        self._dask: Any = distributed  # few of its functions are annotated
        self._workers, self._scheduler = workers or os.cpu_count() or 1, scheduler

    def play(self, contents: dict[str, str]) -> Iterator[Outcome | None]:
        """Play the cells, a few tasks ahead of the workers."""
        if not contents:
            return
        with self._client() as client:
            self._check_versions(client)
            yield from self._play(client, contents)

    def _play(self, client: Any, contents: dict[str, str]) -> Iterator[Outcome | None]:
        left: deque[tuple[str, str]] = deque(contents.items())
        apart: deque[tuple[str, str]] = deque()
        under_way: dict[Any, Group] = {}
        size = 1
        try:
            while left or apart or under_way:
                room = self._room(client) - len(under_way) if left or apart else 0
                while room > 0 and (left or apart):
                    group = [apart.popleft()] if apart else [left.popleft() for _ in range(min(size, len(left)))]
                    under_way[client.submit(play_group, group, pure=False)] = group
                    room -= 1
                done = [future for future in under_way if future.done()]
                for future in done:
                    group = under_way.pop(future)
                    if future.status == "finished":
                        outcomes, seconds = future.result()
                        size = min(LARGEST_GROUP, max(1, round(TASK_SECONDS * len(group) / max(seconds, 1e-6))))
                        yield from outcomes
                    elif len(group) > 1:
                        apart.extend(group)
                    else:
                        yield self._blamed(future, group[0][0])
                yield None
                if not done:
                    time.sleep(POLL)
        finally:
            client.cancel(list(under_way), force=True)

    def _room(self, client: Any) -> int:
        """Tasks to have under way; clusters may grow and shrink."""
        return AHEAD * max(1, int(sum(client.nthreads().values())))

    def _blamed(self, future: Any, cell: str) -> Outcome:
        error = future.exception()
        if isinstance(error, self._dask.scheduler.KilledWorker):
            return died(cell)
        return Outcome(cell, None, f"{type(error).__name__}: {error}")

    @contextmanager
    def _client(self) -> Iterator[Any]:
        if self._scheduler is not None:
            with self._connected(self._scheduler) as client:
                yield client
            return
        options = {"threads_per_worker": 1, "processes": True, "dashboard_address": None, "preload": [__name__]}
        with (
            self._dask.LocalCluster(n_workers=self._workers, silence_logs=logging.ERROR, **options) as cluster,
            self._dask.Client(cluster, set_as_default=False) as client,
        ):
            yield client

    def _connected(self, scheduler: str) -> Any:
        try:
            return self._dask.Client(scheduler, set_as_default=False, timeout=PATIENCE)
        except OSError as error:
            raise OSError(
                f"no Dask scheduler answered at {scheduler} within {PATIENCE:.0f} s: see that it runs and can be "
                "reached from here, or leave scheduler out for a local cluster"
            ) from error

    def _check_versions(self, client: Any) -> None:
        """Refuse workers with another version: they might give other numbers under the same name."""
        for worker, version in client.run(version_here).items():
            if version != __version__:
                raise ValueError(f"the worker {worker} has tarry {version}, here is {__version__}: install the same")


def dask_setup(_worker: Any) -> None:
    """Called by Dask in every worker of a local cluster: an interrupt is for whoever started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def version_here() -> str:
    """Asked of every worker."""
    return __version__


def play_group(group: Group) -> tuple[list[Outcome], float]:
    """Play some cells, and say how long it took."""
    logging.getLogger("tarry").addHandler(logging.NullHandler())  # warnings travel with the results
    started = time.perf_counter()
    outcomes = [play_one(*one) for one in group]
    return outcomes, time.perf_counter() - started
