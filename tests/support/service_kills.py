"""Real kills of a server and of its workers under load, by kill -9; what was acknowledged is there afterwards, once.

The load has 64 connections of the real client, and each call is made again until it is acknowledged. One caller plays a
script over a join with windows, an outbox and a changing capacity: its rows must be those of an uninterrupted run. One
watches the slots. The others decide and label at once on two joins, in single rows and in batches, so that their calls
are written together. In the first every label is looked for. The second has windows, which end only while all callers
wait: so its calls can be replayed in memory, in the order of its rounds, and must give the same rows and weights.
``python tests/support/service_kills.py 300`` kills 300 times.
"""

from __future__ import annotations

import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, groupby
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

CONNECTIONS = 64
BATCH = 100  # rows of a request of every fourth caller
TURNS = 12  # of a caller with single rows between two ends of windows; of one with batches, a quarter
LIFE = 0.4  # seconds between two kills on average
PATIENCE = 120.0  # seconds for a server to come back
WHOLE = 0.1  # share of the kills that end the whole server
CAPACITY = 8
WINDOWS: dict[str, Any] = {"window": 2, "missing": 0, "outbox": True, "rng": 7}


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


class _Crowd:
    """Callers who decide and label on two joins, and write down what was acknowledged."""

    def __init__(self, callers: int, batch: int) -> None:
        self._batch, self.epoch = batch, 1
        self.is_ending, self._is_over = threading.Event(), False
        self.decided: list[list[str]] = [[] for _ in range(callers)]
        self.labelled: list[list[str]] = [[] for _ in range(callers)]
        self._meeting = threading.Barrier(callers, self._begin_epoch)
        self._keeper: Any = None  # the second join, as the first caller has it

    def _begin_epoch(self) -> None:
        """End windows while all callers wait, so that every replay can do so at the same moment."""
        self._keeper.advance(self.epoch + 1)
        self.epoch += 1
        self._is_over = self.is_ending.is_set()

    def work(self, mine: int) -> Callable[[Caller], None]:
        """Return what the caller of this number does: every fourth one makes batches."""
        rows, turns = (self._batch, TURNS // 4) if mine % 4 == 3 else (1, TURNS)

        def work(caller: Caller) -> None:
            try:
                names = ("crowd", "windows")
                opened = [caller.until_told(lambda name=name: caller.connection.open_join(name)) for name in names]
                joins = [_Patient(caller, join) for join in opened]
                if mine == 0:
                    self._keeper = joins[1]
                while not self._is_over:
                    for turn in range(turns):
                        ids = [f"{self.epoch}-{mine}-{turn}-{row}" for row in range(rows)]
                        self._decide_and_label(mine, joins, ids, ids[turn % 2 :: 2])
                    self._meeting.wait()
            except threading.BrokenBarrierError:
                pass  # whoever broke it says why
            except BaseException:
                self._meeting.abort()  # or the others would wait for ever
                raise

        return work

    def _decide_and_label(self, mine: int, joins: list[_Patient], ids: list[str], late: list[str]) -> None:
        for join, at in zip(joins, (None, self.epoch), strict=True):
            if len(ids) == 1:
                join.decide({"n": 1}, ids[0], at=at)
            else:
                join.decide_many([{"n": 1}] * len(ids), ids=ids, at=at)
            if late:
                join.label_many(late, [1] * len(late), at=at)
        self.decided[mine] += ids
        self.labelled[mine] += late


def _watch(looks: list[int]) -> Callable[[Caller], None]:
    """Look again and again at how many slots are held, and write down the most that were."""

    def work(caller: Caller) -> None:
        while not caller.is_over.is_set():
            for name in ("crowd", "windows"):
                join = _Patient(caller, caller.until_told(lambda name=name: caller.connection.open_join(name)))
                looks.extend((join.status().tracked, len(join.tracked())))
                assert max(looks[-2:]) <= CAPACITY, f"{max(looks[-2:])} decisions are tracked, and {CAPACITY} may be"

    return work


@contextmanager
def load(
    served: Served, url: str = "", *, connections: int = CONNECTIONS, batch: int = BATCH, steps: int = STEPS
) -> Iterator[dict[str, int]]:
    """Have callers at work on a server, reached by this address; at the end look at what was acknowledged."""
    counts: dict[str, int] = {}
    with tarry.connect(served.url, token=served.token) as connection:
        connection.join(CAPACITY, name="crowd", rng=1)
        connection.join(CAPACITY, name="windows", **WINDOWS)
    rows: list[Row] = []
    looks: list[int] = []
    crowd = _Crowd(connections - 2, batch)
    work = [_script(rows, steps), _watch(looks), *(crowd.work(mine) for mine in range(connections - 2))]
    callers = [Caller(url or served.url, served.token, one) for one in work]
    yield counts
    crowd.is_ending.set()
    for caller in callers:
        caller.end()
    decided, labelled = [*chain(*crowd.decided)], [*chain(*crowd.labelled)]
    _check(served, decided, labelled)
    counts |= {"connections": connections, "acknowledged decisions": 2 * len(decided)}
    counts |= {"acknowledged labels": 2 * len(labelled), "looks at the slots": len(looks), "rows of scripts": len(rows)}
    counts["rows replayed"] = _replay(served, decided, labelled)
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
            children = workers_of(served)
            if children:
                children[int(draw.integers(len(children)))].kill()
            served.wait()


def workers_of(served: Served) -> list[psutil.Process]:
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


def _rounds(join: tarry.LabelJoin, ids: list[str]) -> dict[str, int]:
    """Return the numbers of decisions, which the ledger tells by id of the last ones only; each is there once."""
    found = join._turns.look(lambda tracker: {id: tracker.find(id) for id in ids}, join._tracker)
    lost = [id for id in ids if found[id] is None]
    assert not lost, f"{len(lost)} acknowledged decisions are lost, the first {lost[0]}"
    assert sorted(found.values()) == list(range(1, join.status().rounds + 1)), "some decisions are there twice"
    return found


def _check(served: Served, decided: list[str], labelled: list[str]) -> None:
    """Every acknowledged call is there, once, and no others are."""
    with tarry.LabelJoin.open(served.store, name="crowd") as join:
        rounds, status = _rounds(join, decided), join.status()
        assert status.tracked <= CAPACITY
        assert sum(status.fates.values()) == status.rounds == len(decided)
        answered = {one["round"] for one in join.ledger(status.rounds)["last"] if one["answered"]}
        assert answered == {rounds[id] for id in labelled}
        assert status.rounds - status.pending == len(labelled)
        assert abs(status.balance - 1.0) < 1e-9  # what arrived and what is held add up to all decisions


def _replay(served: Served, decided: list[str], labelled: list[str]) -> int:
    """Make the calls of the join with windows again, in memory; return how many rows came out the same."""
    with tarry.LabelJoin.open(served.store, name="windows") as join:
        rounds, rows, waiting = _rounds(join, decided), join.rows(), join.tracked()
    order = sorted(decided, key=rounds.__getitem__)
    again, late = tarry.LabelJoin(CAPACITY, **WINDOWS), set(labelled)
    for epoch, ids in groupby(order, key=lambda id: int(id.partition("-")[0])):
        names = list(ids)
        again.decide_many([{"n": 1}] * len(names), ids=names, at=epoch)
        known = [id for id in names if id in late]
        again.label_many(known, [1] * len(known), at=epoch)
        again.advance(epoch + 1)
    assert again.rows() == rows, "the rows are not those of a replay"
    assert again.tracked() == waiting, "those that wait do not weigh what they do in a replay"
    return len(rows)


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
