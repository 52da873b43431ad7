"""What the engine must know of a Dask cluster: how large it is, whether it is there, and with which code."""

from __future__ import annotations

import logging
import time
from typing import Any

from tarry.experiments.engines.base import PAUSE
from tarry.experiments.engines.groups import code_here, refuse_other

AHEAD = 3
PATIENCE = 10.0
logger = logging.getLogger(__name__)


def connect(dask: Any, scheduler: str) -> Any:
    """A client of a cluster that is there already."""
    try:
        return dask.Client(scheduler, set_as_default=False, timeout=PATIENCE)
    except OSError as error:
        raise OSError(
            f"no Dask scheduler answered at {scheduler} within {PATIENCE:.0f} s: see that it runs and can be "
            "reached from here, or leave scheduler out for a local cluster"
        ) from error


def cannot_load(error: Exception) -> ImportError:
    """What is said where the scheduler or a worker cannot even load what it is sent."""
    told = " ".join(str(error).split())
    return ImportError(f"the cluster cannot load tarry, install the same on its scheduler and workers as here: {told}")


class Cluster:
    """A client's view of its cluster, asked for now and then."""

    def __init__(self, client: Any, scheduler: str | None) -> None:
        self._client, self._scheduler = client, scheduler
        self._asked, self._threads = float("-inf"), 0
        self._silent, self._manned = float("inf"), time.monotonic()
        self._is_told = False

    def check_code(self) -> None:
        """Refuse workers with other code; those that join later say theirs with what they play."""
        try:
            told = self._client.run(code_here)
        except ImportError as error:
            raise cannot_load(error) from error
        for worker, code in told.items():
            refuse_other(code, worker)

    def room(self) -> int:
        """Tasks to have under way; clusters may grow and shrink."""
        if time.monotonic() - self._asked >= PAUSE:
            self._ask()
            self._asked = time.monotonic()
        return AHEAD * max(1, self._threads) if self._client.status == "running" else 0

    def _ask(self) -> None:
        answer, now = self._threads_now(), time.monotonic()
        self._threads, self._silent = answer or 0, float("inf") if answer is not None else min(self._silent, now)
        if self._client.status == "closed" or now - self._silent > PATIENCE:
            raise OSError(
                f"the Dask scheduler{self._place(' at ')} is gone: finished cells are kept, run the sweep again once "
                "it is back"
            )
        if self._threads:
            self._manned, self._is_told = now, False
        elif now - self._manned > PATIENCE and not self._is_told:
            self._is_told = True
            logger.warning(
                "no worker has joined %s for %.0f s%s",
                self._scheduler or "the local cluster",
                PATIENCE,
                self._place(": start one with dask worker "),
            )

    def _threads_now(self) -> int | None:
        """None where nobody answers; the client then looks for its scheduler again, for a while."""
        try:
            return int(sum(self._client.nthreads().values())) if self._client.status == "running" else None
        except OSError:
            return None

    def _place(self, before: str) -> str:
        return f"{before}{self._scheduler}" if self._scheduler else ""
