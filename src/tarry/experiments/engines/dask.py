"""Dask: workers on other machines, or a cluster of this one's processes.

A worker that dies costs its tasks, which Dask gives to others (see :mod:`tarry.experiments.engines.groups`).
"""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from typing import Any

from tarry.experiments.engines.base import Outcome
from tarry.experiments.engines.cluster import Cluster, cannot_load, connect
from tarry.experiments.engines.groups import Group, Groups, play_group
from tarry.game.seeds import core_count

POLL = 0.02


class Dask:
    """A cluster by its scheduler's address, such as ``tcp://10.0.0.1:8786``, or a local one for as long as it takes."""

    def __init__(self, workers: int | None = None, scheduler: str | None = None) -> None:
        try:
            import distributed
        except ImportError as error:
            raise ImportError(f"the engine dask needs {error.name}: pip install 'tarry[dask]'") from error
        self._dask: Any = distributed  # few of its functions are annotated
        self._workers, self._scheduler = workers or core_count(), scheduler

    def play(self, contents: dict[str, str]) -> Iterator[Outcome | None]:
        """Play the cells, a few tasks ahead of the workers."""
        if not contents:
            return
        with self._client() as client:
            cluster = Cluster(client, self._scheduler)
            cluster.check_code()
            yield from self._play(client, cluster, Groups(contents))

    def _play(self, client: Any, cluster: Cluster, groups: Groups) -> Iterator[Outcome | None]:
        under_way = groups.under_way
        try:
            while groups:
                room = cluster.room()
                while len(under_way) < room and (group := groups.take()):
                    under_way[client.submit(play_group, group, pure=False)] = group
                # A result that was lost with its worker is on its way again.
                settled = [future for future in under_way if future.status not in ("pending", "lost")]
                for future in settled:
                    yield from self._settle(future, under_way.pop(future), groups)
                yield None
                if not settled:
                    time.sleep(POLL)
        finally:
            if client.status == "running":
                with suppress(OSError):  # gone meanwhile
                    client.cancel(list(under_way), force=True)

    def _settle(self, future: Any, group: Group, groups: Groups) -> Iterable[Outcome]:
        try:
            played = future.result()
        except self._dask.scheduler.KilledWorker:
            return groups.killed(group)
        except (OSError, CancelledError):
            return groups.cancelled(group)
        except (ImportError, RuntimeError) as error:  # Dask's: what cells raise travels as an outcome
            raise cannot_load(error) from error
        except Exception as error:
            return groups.failed(group, error)
        return groups.played(group, played)

    @contextmanager
    def _client(self) -> Iterator[Any]:
        if self._scheduler is not None:
            with connect(self._dask, self._scheduler) as client:
                yield client
            return
        options = {"threads_per_worker": 1, "processes": True, "preload": [__name__]}
        options |= {
            "dashboard_address": "127.0.0.1:0",
            "scheduler_kwargs": {"dashboard": False},
        }  # any port that is free
        with (
            self._dask.LocalCluster(n_workers=self._workers, silence_logs=logging.ERROR, **options) as cluster,
            self._dask.Client(cluster, set_as_default=False) as client,
        ):
            yield client


def dask_setup(_worker: Any) -> None:
    """Called by Dask in every worker of a local cluster: an interrupt is for whoever started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
