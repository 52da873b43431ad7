"""Real kills of a server and of its workers under load, by kill -9; what was acknowledged is there afterwards, once.

One caller plays a script over a join with windows, an outbox and a changing capacity, and makes each call again until
it is acknowledged: its rows and weights must be those of an uninterrupted run. Others decide and label at once on a
second join, so that their calls are written together. ``python tests/support/service_kills.py 300`` kills 300 times.
"""

from __future__ import annotations

import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from outbox_kills import RULES, STEPS, step
from postgres import Server
from serving import Served

import tarry
from tarry.errors import Missing, StoreError
from tarry.live import Row

CALLERS = 6
LIFE = 0.4  # seconds between two kills on average
PATIENCE = 120.0  # seconds for a server to come back
WHOLE = 0.1  # share of the kills that end the whole server
CAPACITY = 8


class Caller(threading.Thread):
    """Someone who makes calls until told to stop, each again until it is acknowledged."""

    def __init__(self, url: str, token: str, work: Callable[[Caller], None]) -> None:
        super().__init__(daemon=True)
        self.connection = tarry.connect(url, token=token, timeout=20)
        self.work, self.is_over, self.failed = work, threading.Event(), ""
        self.start()

    def run(self) -> None:
        try:
            self.work(self)
        except Exception as error:
            self.failed = repr(error)

    def until_told(self, call: Callable[[], Any]) -> Any:
        """What a call returns, once the server answers."""
        until, heard = time.monotonic() + PATIENCE, []
        while time.monotonic() < until:
            try:
                return call()
            except StoreError as error:
                if isinstance(error, Missing) or "defect" in str(error):
                    raise
                heard.append(str(error))
                time.sleep(0.05)
        raise AssertionError(f"the server did not come back: {len(heard)} errors, the last {heard[-3:]}")

    def end(self) -> None:
        """Wait until its last call is acknowledged."""
        self.is_over.set()
        self.join(120)
        assert not self.is_alive()
        assert not self.failed, self.failed
        self.connection.close()


class _Patient:
    """A join whose calls are made again until they are acknowledged."""

    def __init__(self, caller: Caller, join: Any) -> None:
        self._caller, self._join = caller, join

    def __getattr__(self, name: str) -> Any:
        return lambda *given, **rules: self._caller.until_told(lambda: getattr(self._join, name)(*given, **rules))


def _script(found: list[Row], steps: int) -> Callable[[Caller], None]:
    """Play the script again and again, each time on a join of its own, and compare rows with an uninterrupted run."""
    memory = tarry.LabelJoin(2, **RULES)
    expected = [row for t in range(1, steps + 1) for row in step(memory, t)]

    def work(caller: Caller) -> None:
        turn, rules = 0, {name: value for name, value in RULES.items() if name != "durability"}
        while not caller.is_over.is_set():
            turn += 1
            made = caller.until_told(lambda n=turn: caller.connection.join(2, name=f"script {n}", **rules))
            join = _Patient(caller, made)
            for t in range(1, steps + 1):
                step(join, t)
            rows = join.rows()
            assert rows == expected, "the rows are not those of an uninterrupted run"
            found.extend(rows)

    return work


def _crowd(mine: str, decided: list[str], labelled: list[str]) -> Callable[[Caller], None]:
    """Decide and label, and write down what was acknowledged."""

    def work(caller: Caller) -> None:
        number = 0
        join = caller.until_told(lambda: caller.connection.open_join("crowd"))
        while not caller.is_over.is_set():
            number += 1
            id = f"{mine}-{number}"
            caller.until_told(lambda id=id: join.decide({"n": 1}, id))
            decided.append(id)
            if number % 2:
                caller.until_told(lambda id=id: join.label_many([id], [1]))
                labelled.append(id)

    return work


@contextmanager
def load(served: Served, url: str = "", steps: int = STEPS) -> Iterator[dict[str, int]]:
    """Have callers at work on a server, reached by this address; at the end look at what was acknowledged."""
    counts: dict[str, int] = {}
    assert served.call("POST", "/v1/joins/crowd", {"capacity": CAPACITY, "seed": 1})[0] == 201
    rows: list[Row] = []
    decided: list[list[str]] = [[] for _ in range(CALLERS)]
    labelled: list[list[str]] = [[] for _ in range(CALLERS)]
    work = [_script(rows, steps), *(_crowd(f"c{i}", decided[i], labelled[i]) for i in range(CALLERS))]
    callers = [Caller(url or served.url, served.token, one) for one in work]
    yield counts
    for caller in callers:
        caller.end()
    _check(served, [*chain(*decided)], [*chain(*labelled)])
    counts |= {"acknowledged decisions": sum(map(len, decided)), "acknowledged labels": sum(map(len, labelled))}
    counts["rows of scripts"] = len(rows)
    assert "Traceback" not in served.log(), served.log()[-3000:]


def kill_often(store: str, kills: int, scratch: Path, *, workers: int = 2, seed: int = 0) -> dict[str, int]:
    """Kill workers, and one time in ten the whole server, that often; return what was counted."""
    draw = np.random.default_rng(seed)
    served = Served(scratch, store, workers=workers)
    try:
        with load(served) as counts:
            counts |= {"kills": 0, "of the whole server": 0}
            _kill(served, kills, counts, draw)
        return counts
    finally:
        served.stop()


def _kill(served: Served, kills: int, counts: dict[str, int], draw: np.random.Generator) -> None:
    while counts["kills"] < kills:
        time.sleep(min(draw.exponential(LIFE), 5 * LIFE))
        counts["kills"] += 1
        if served.settings["workers"] == 1 or draw.random() < WHOLE:
            counts["of the whole server"] += 1
            _kill_all(served)
            served.start()
        else:
            children = _workers(served)
            if children:
                children[int(draw.integers(len(children)))].kill()
            served.wait()


def _workers(served: Served) -> list[psutil.Process]:
    """Its worker processes: those that multiprocessing has started, without its tracker."""
    found = psutil.Process(served.process.pid).children()
    return [one for one in found if "spawn_main" in " ".join(_words(one))]


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def _kill_all(served: Served) -> None:
    """Kill the server and its workers, which would else go on without it, each by its id."""
    children = psutil.Process(served.process.pid).children()
    served.stop(signal.SIGKILL)
    for child in children:
        child.kill()
    psutil.wait_procs(children, 30)


def _check(served: Served, decided: list[str], labelled: list[str]) -> None:
    """Every acknowledged call is there, once, and the slots never exceeded."""
    with tarry.LabelJoin.open(served.store, name="crowd") as join:
        status = join.status()
        assert status.rounds == len(set(decided)) == len(decided)
        assert status.tracked <= CAPACITY
        assert sum(status.fates.values()) == status.rounds
        unknown = [id for id in decided if join.fate(id) is tarry.Answer.UNKNOWN]
        assert not unknown, unknown
        answered = {one["id"] for one in join.ledger(status.rounds)["last"] if one["answered"]}
        recent = {one["id"] for one in join.ledger(status.rounds)["last"] if one["id"] is not None}
        assert set(labelled) & recent <= answered
        assert status.rounds - status.pending == len(set(labelled))
        assert abs(status.balance - 1.0) < 1e-9  # what arrived and what is held add up to all decisions


def main(kills: int) -> None:
    """Kill that often on both stores, and tell how long it took."""
    server = Server()
    try:
        with tempfile.TemporaryDirectory() as folder:
            for kind, store, workers in (("sqlite", "", 2), ("postgresql", server.url("kills"), 4)):
                begun, scratch = time.monotonic(), Path(folder) / kind
                scratch.mkdir()
                counts = kill_often(store, kills, scratch, workers=workers)
                told = ", ".join(f"{count} {what}" for what, count in counts.items())
                sys.stdout.write(f"{kind}: {told}, none lost, none twice; {time.monotonic() - begun:.0f} s\n")
                sys.stdout.flush()
    finally:
        server.remove()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
