"""The engine dask: workers on other machines, or a cluster of this machine's processes.

Small cells travel in groups, so that a task lasts about a quarter of a second. A worker that dies costs its tasks,
which Dask gives to others.
"""

from __future__ import annotations

import logging
import signal
import socket
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from tarry._version import __version__
from tarry.checks import as_choice
from tarry.experiments.engines import PAUSE, Group, Outcome, play_group
from tarry.experiments.own import import_members, modules_for
from tarry.game.simulate import DEVICES, core_count
from tarry.kernel.cache import EDITED, source

TASK_SECONDS = 0.25  # long against what Dask spends on a task, about a millisecond; short for a progress bar
LARGEST_GROUP = 64
AHEAD = 3  # tasks a thread has waiting, so that it is never idle while results travel
CANCELLATIONS = 3  # that a cell survives: a scheduler that is restarted is not the cell's doing
PATIENCE = 10.0  # seconds that a scheduler may be silent, or a cluster without workers
POLL = 0.02
logger = logging.getLogger(__name__)


class Dask:
    """A cluster by its scheduler's address, such as ``tcp://10.0.0.1:8786``, or a local one for as long as it takes."""

    def __init__(self, workers: int | None = None, scheduler: str | None = None, device: str = "cpu") -> None:
        self._device = as_choice(device, "device", DEVICES)  # of the workers; what they lack, their cells say
        try:
            import distributed
        except ImportError as error:
            raise ImportError(f"the engine dask needs {error.name}: pip install 'tarry[dask]'") from error
        self._dask: Any = distributed  # few of its functions are annotated
        self._workers, self._scheduler = workers or core_count(), scheduler

    def play(self, contents: dict[str, str]) -> Iterator[Outcome | None]:
        if not contents:
            return
        with self._client() as client:
            cluster = Cluster(client, self._scheduler)
            cluster.check_code()
            yield from self._play(client, cluster, Groups(contents))

    def _play(self, client: Any, cluster: Cluster, groups: Groups) -> Iterator[Outcome | None]:
        under_way = groups.under_way
        # The user's code travels with each task: a worker may have joined a moment ago.
        task = partial(play_task, device=self._device, modules=groups.modules)
        try:
            while groups:
                room = cluster.room()
                while len(under_way) < room and (group := groups.take()):
                    under_way[client.submit(task, group, pure=False)] = group
                # A result that was lost with its worker is on its way again.
                settled = [future for future in under_way if future.status not in ("pending", "lost")]
                for future in settled:
                    yield from groups.settle(future, under_way.pop(future))
                yield None
                if not settled:
                    time.sleep(POLL)
        finally:
            if client.status == "running":
                with suppress(OSError):  # gone meanwhile
                    client.cancel(list(under_way), force=True)

    @contextmanager
    def _client(self) -> Iterator[Any]:
        """Connect to the cluster, or start a local one; raise OSError or ChildProcessError where that fails."""
        if self._scheduler is not None:
            try:
                client = self._dask.Client(self._scheduler, set_as_default=False, timeout=PATIENCE)
            except OSError as error:
                raise OSError(
                    f"no Dask scheduler answered at {self._scheduler} within {PATIENCE:.0f} s: see that it runs and "
                    "can be reached from here, or leave scheduler out for a local cluster"
                ) from error
            with client:
                yield client
            return
        options = {"threads_per_worker": 1, "processes": True, "preload": [__name__], "silence_logs": logging.ERROR}
        # No dashboard; the port 0 is any that is free.
        options |= {"dashboard_address": "127.0.0.1:0", "scheduler_kwargs": {"dashboard": False}}
        try:
            cluster = self._dask.LocalCluster(n_workers=self._workers, **options)
        except RuntimeError as error:
            raise ChildProcessError(
                "worker processes cannot start. See what they wrote; a script must be safe to import, with what it "
                "does under if __name__ == '__main__'; or take the engine threads"
            ) from error
        with cluster, self._dask.Client(cluster, set_as_default=False) as client:
            yield client


def dask_setup(_worker: Any) -> None:
    """Ignore interrupts: Dask calls this in every worker of a local cluster, and Ctrl-C is for its starter."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _cannot_load(error: Exception) -> ImportError:
    reason = " ".join(str(error).split())
    return ImportError(
        f"the cluster cannot load tarry, install the same on its scheduler and workers as here: {reason}"
    )


def play_task(group: Group, device: str = "cpu", modules: Sequence[str] = ()) -> tuple[list[Outcome], float, str, str]:
    """Play the cells of a group on a worker; return what became of them, seconds taken, host, and code.

    ``modules`` have the user's own members.
    """
    import_members(modules)
    logging.getLogger("tarry").addHandler(logging.NullHandler())  # warnings travel with the results
    started = time.perf_counter()
    outcomes = play_group(group, device=device)
    return outcomes, time.perf_counter() - started, socket.gethostname(), code_here()


def code_here() -> str:
    """Return the version of Tarry and the hash of its sources."""
    return f"{__version__} (source {source()})"


def _refuse_other(code: str, worker: str) -> None:
    """Raise ValueError for a worker with other code: it might give other numbers under the same name."""
    here = code_here()
    if code != here or source() == EDITED:  # two that were edited may have been edited differently
        raise ValueError(f"the worker {worker} has tarry {code}, here is {here}: install the same, and start both anew")


class Groups:
    """Cells still to be played, group by group; ``under_way`` holds what was given out."""

    def __init__(self, contents: dict[str, str]) -> None:
        self._left = deque(contents.items())
        self.modules = modules_for(contents.values())
        self._apart: deque[tuple[str, str]] = deque()  # to be played in a group of its own
        self._suspects: deque[tuple[str, str]] = deque()  # to be played last, with nothing else under way
        self._alone: set[str] = set()
        self._cancelled = Counter[str]()
        self._size = 1
        self.under_way: dict[Any, Group] = {}

    def __bool__(self) -> bool:
        return bool(self._left or self._apart or self._suspects or self.under_way)

    def take(self) -> Group:
        """Return the next group to be given out, empty if there is none for now."""
        if self._apart:
            return [self._apart.popleft()]
        if self._left:
            return [self._left.popleft() for _ in range(min(self._size, len(self._left)))]
        if self._suspects and not self.under_way:
            suspect = self._suspects.popleft()
            self._alone.add(suspect[0])
            return [suspect]
        return []

    def settle(self, future: Any, group: Group) -> Iterator[Outcome]:
        """Yield what became of a group's cells; those that are to be played again are given out later."""
        from distributed.scheduler import KilledWorker

        first = group[0][0]
        try:
            outcomes, seconds, host, code = future.result()
        except KilledWorker:
            # Dask blames a death on every task of the worker, those not begun too. So a group is taken apart, and a
            # cell is tried once more at the end, when nothing else is under way that could have killed its workers.
            if len(group) > 1:
                self._apart.extend(group)
            elif first not in self._alone:
                self._suspects.extend(group)
            else:
                reason = "worker after worker died while playing it: give them more memory, or see what kills them"
                yield Outcome(first, None, reason)
        except (OSError, CancelledError):  # from outside, or lost with a scheduler that has started again
            reason = f"its task was cancelled {CANCELLATIONS + 1} times: see who cancels it, or restarts the scheduler"
            for cell, content in group:
                self._cancelled[cell] += 1
                if self._cancelled[cell] <= CANCELLATIONS:
                    self._apart.append((cell, content))
                else:
                    yield Outcome(cell, None, reason)
        except (ImportError, RuntimeError) as error:
            raise _cannot_load(error) from error
        except Exception as error:  # Dask's own: what cells raise travels as an outcome
            if len(group) > 1:
                self._apart.extend(group)
            else:
                yield Outcome(first, None, f"{type(error).__name__}: {error}")
        else:
            _refuse_other(code, f"on {host}")
            # The size of the next groups follows from how long this one took.
            self._size = min(LARGEST_GROUP, max(1, round(TASK_SECONDS * len(group) / max(seconds, 1e-6))))
            yield from outcomes


class Cluster:
    """A client's view of its cluster, asked for now and then: how large it is, whether it is there."""

    def __init__(self, client: Any, scheduler: str | None) -> None:
        self._client, self._scheduler = client, scheduler
        self._threads = 0
        self._asked = float("-inf")  # when the cluster was last asked
        self._silent = float("inf")  # since when it has not answered
        self._manned = time.monotonic()  # when it last had a worker
        self._is_told = False

    def check_code(self) -> None:
        """Refuse workers with other code; those that join later say theirs with what they play."""
        try:
            codes = self._client.run(code_here)
        except ImportError as error:
            raise _cannot_load(error) from error
        for worker, code in codes.items():
            _refuse_other(code, worker)

    def room(self) -> int:
        """Return how many tasks to have under way; clusters may grow and shrink."""
        if time.monotonic() - self._asked >= PAUSE:
            self._ask()
            self._asked = time.monotonic()
        return AHEAD * max(1, self._threads) if self._client.status == "running" else 0

    def _ask(self) -> None:
        answer = None
        if self._client.status == "running":
            with suppress(OSError):  # no answer: the client reconnects, for a while
                answer = int(sum(self._client.nthreads().values()))
        now = time.monotonic()
        self._threads = answer or 0
        self._silent = float("inf") if answer is not None else min(self._silent, now)
        if self._client.status == "closed" or now - self._silent > PATIENCE:
            place = f" at {self._scheduler}" if self._scheduler else ""
            raise OSError(
                f"the Dask scheduler{place} is gone: finished cells are kept, run the sweep again once it is back"
            )
        if self._threads:
            self._manned, self._is_told = now, False
        elif now - self._manned > PATIENCE and not self._is_told:  # told once, and again only if workers came and left
            self._is_told = True
            who = self._scheduler or "the local cluster"
            remedy = f": start one with dask worker {self._scheduler}" if self._scheduler else ""
            logger.warning("no worker has joined %s for %.0f s%s", who, PATIENCE, remedy)
