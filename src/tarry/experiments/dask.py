"""The engine dask: workers on other machines, or a cluster of this machine's processes.

Small cells travel in groups, so that a task lasts about a quarter of a second. A worker that dies costs its tasks,
which Dask gives to others. Dask blames the death of a worker on every task it had sent there, those that had not begun
too. So a group over which too many workers died is taken apart, and a cell over which too many died is tried once more
at the end, when nothing else is under way that could have killed them.
"""

from __future__ import annotations

import logging
import signal
import socket
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from tarry._version import __version__
from tarry.experiments.engines import PAUSE, Outcome, play_one
from tarry.game.simulate import core_count
from tarry.versions import source

TASK_SECONDS = 0.25  # long against what Dask spends on a task, about a millisecond; short for a progress bar
LARGEST_GROUP = 64
AHEAD = 3  # tasks a thread has waiting, so that it is never idle while results travel
CANCELLATIONS = 3  # that a cell survives: a scheduler that is restarted is not the cell's doing
PATIENCE = 10.0  # seconds that a scheduler may be silent, or a cluster without workers
POLL = 0.02
Group = list[tuple[str, str]]
logger = logging.getLogger(__name__)


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
            raise _cannot_load(error) from error
        except Exception as error:
            return groups.failed(group, error)
        return groups.played(group, played)

    @contextmanager
    def _client(self) -> Iterator[Any]:
        if self._scheduler is not None:
            with self._connected(self._scheduler) as client:
                yield client
            return
        with self._local() as cluster, self._dask.Client(cluster, set_as_default=False) as client:
            yield client

    def _local(self) -> Any:
        """Return a cluster of this machine's processes; raise ChildProcessError if they cannot start."""
        options = {"threads_per_worker": 1, "processes": True, "preload": [__name__]}
        # No dashboard; the port 0 is any that is free.
        options |= {"dashboard_address": "127.0.0.1:0", "scheduler_kwargs": {"dashboard": False}}
        try:
            return self._dask.LocalCluster(n_workers=self._workers, silence_logs=logging.ERROR, **options)
        except RuntimeError as error:
            raise ChildProcessError(
                "worker processes cannot start. See what they wrote; a script must be safe to import, with what it "
                "does under if __name__ == '__main__'; or take the engine threads"
            ) from error

    def _connected(self, scheduler: str) -> Any:
        """Return a client of a cluster that is there already; raise OSError if it does not answer."""
        try:
            return self._dask.Client(scheduler, set_as_default=False, timeout=PATIENCE)
        except OSError as error:
            raise OSError(
                f"no Dask scheduler answered at {scheduler} within {PATIENCE:.0f} s: see that it runs and can be "
                "reached from here, or leave scheduler out for a local cluster"
            ) from error


def dask_setup(_worker: Any) -> None:
    """Ignore interrupts: Dask calls this in every worker of a local cluster, and Ctrl-C is for its starter."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _cannot_load(error: Exception) -> ImportError:
    told = " ".join(str(error).split())
    return ImportError(f"the cluster cannot load tarry, install the same on its scheduler and workers as here: {told}")


class Played(NamedTuple):
    """What became of a group's cells, how long it took, where, and with which code."""

    outcomes: list[Outcome]
    seconds: float
    host: str
    code: str


def play_group(group: Group) -> Played:
    """Play the cells of a group: this is what a worker does."""
    logging.getLogger("tarry").addHandler(logging.NullHandler())  # warnings travel with the results
    started = time.perf_counter()
    outcomes = [play_one(*one) for one in group]
    return Played(outcomes, time.perf_counter() - started, socket.gethostname(), code_here())


def code_here() -> str:
    """Return the version of Tarry and the hash of its sources."""
    return f"{__version__} (source {source()})"


def _refuse_other(code: str, worker: str) -> None:
    """Raise ValueError for a worker with other code: it might give other numbers under the same name."""
    if code != code_here():
        raise ValueError(f"the worker {worker} has tarry {code}, here is {code_here()}: install the same")


class Groups:
    """Cells still to be played, group by group; ``under_way`` holds what was given out."""

    def __init__(self, contents: dict[str, str]) -> None:
        self._left = deque(contents.items())
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

    def played(self, group: Group, played: Played) -> list[Outcome]:
        """Return the outcomes of a group; the size of the next groups follows from how long this one took."""
        _refuse_other(played.code, f"on {played.host}")
        self._size = min(LARGEST_GROUP, max(1, round(TASK_SECONDS * len(group) / max(played.seconds, 1e-6))))
        return played.outcomes

    def killed(self, group: Group) -> Iterator[Outcome]:
        """Find out which cell killed the workers that died over this group, or over what they had beside it."""
        cell = group[0][0]
        if len(group) > 1:
            self._apart.extend(group)
        elif cell in self._alone:
            said = "worker after worker died while playing it: give them more memory, or see what kills them"
            yield Outcome(cell, None, said)
        else:
            self._suspects.extend(group)

    def failed(self, group: Group, error: Exception) -> Iterator[Outcome]:
        """Give up a group that Dask could not carry out: errors of cells travel as outcomes."""
        if len(group) > 1:
            self._apart.extend(group)
        else:
            yield Outcome(group[0][0], None, f"{type(error).__name__}: {error}")

    def cancelled(self, group: Group) -> Iterator[Outcome]:
        """Play a group again that was cancelled from outside, or lost with a scheduler that has started again."""
        for cell, content in group:
            self._cancelled[cell] += 1
            if self._cancelled[cell] <= CANCELLATIONS:
                self._apart.append((cell, content))
            else:
                times = f"its task was cancelled {CANCELLATIONS + 1} times"
                yield Outcome(cell, None, f"{times}: see who cancels it, or restarts the scheduler")


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
            told = self._client.run(code_here)
        except ImportError as error:
            raise _cannot_load(error) from error
        for worker, code in told.items():
            _refuse_other(code, worker)

    def room(self) -> int:
        """Return how many tasks to have under way; clusters may grow and shrink."""
        if time.monotonic() - self._asked >= PAUSE:
            self._ask()
            self._asked = time.monotonic()
        return AHEAD * max(1, self._threads) if self._client.status == "running" else 0

    def _ask(self) -> None:
        answer, now = self._threads_now(), time.monotonic()
        self._threads = answer or 0
        self._silent = float("inf") if answer is not None else min(self._silent, now)
        if self._client.status == "closed" or now - self._silent > PATIENCE:
            place = f" at {self._scheduler}" if self._scheduler else ""
            raise OSError(
                f"the Dask scheduler{place} is gone: finished cells are kept, run the sweep again once it is back"
            )
        if self._threads:
            self._manned, self._is_told = now, False
        elif now - self._manned > PATIENCE and not self._is_told:
            self._is_told = True
            who = self._scheduler or "the local cluster"
            remedy = f": start one with dask worker {self._scheduler}" if self._scheduler else ""
            logger.warning("no worker has joined %s for %.0f s%s", who, PATIENCE, remedy)

    def _threads_now(self) -> int | None:
        """Return the threads of all workers; None without an answer: the client then reconnects, for a while."""
        try:
            return int(sum(self._client.nthreads().values())) if self._client.status == "running" else None
        except OSError:
            return None
