"""A server under mixed load for some minutes: memory, descriptors, log and store must not grow.

There is a server on SQLite and one on PostgreSQL. Callers use two joins, on PostgreSQL one of them in shards, and a
session; they make and delete joins of their own. Others ask how they are.
``python tests/support/soak.py 30`` takes half an hour and prints a line a minute.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import psutil
import psycopg
from postgres import Server
from serving import Served

import tarry

CALLERS = 8
WATCHED = ("joins/soak", "joins/shards", "sessions/play", "joins/c0")  # the last is deleted and made again
BRIEF = 1024  # slots of joins that are made and deleted: what stayed of them in memory would show
PAUSE = 0.01  # seconds between two turns of a caller: a server that is busy, and not only queues
LARGEST = {"memory": 1.15, "descriptors": 1.2, "log": 1.2, "store": 1.3}  # the last over the one after warming up


class Sample(NamedTuple):
    """What a server takes: bytes, descriptors, bytes of the log and of the store."""

    memory: int
    descriptors: int
    log: int
    store: int


PLAYS = {
    "domain": {"type": "Ball", "dimension": 2},
    "player": {"learner": {"type": "DWFTRL", "rate": 0.1}},
    "capacity": 8,
    "memory": 2000,
}


def sample(served: Served) -> Sample:
    """What it takes now; its write-ahead log is left out, which is cut back at times."""
    process, file = psutil.Process(served.process.pid), served.store.removeprefix("sqlite:///")
    store = _tables(served.store) if file == served.store else Path(file).stat().st_size
    return Sample(process.memory_info().rss, process.num_fds(), (served.folder / "log").stat().st_size, store)


def _tables(store: str) -> int:
    """Bytes of the tables of a schema, their indexes and what their rows have outgrown among them."""
    size = "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r'"
    with psycopg.connect(store, autocommit=True) as connection:
        connection.execute("VACUUM")  # or the size would say when PostgreSQL's own came last
        (found,) = connection.execute(f"{size} AND relnamespace = current_schema()::regnamespace").fetchone()
    return int(found)


def call(served: Served, mine: str, over: threading.Event, made: list[int]) -> None:
    """Decide, label, ask, tell, expire, look and make mistakes, alone and in batches, on connections that end."""
    while not over.is_set():
        with tarry.connect(served.url, token=served.token) as connection:
            join, session = connection.open_join("soak"), connection.open_session("play")
            shards = connection.open_join("shards")
            for turn in range(200):
                mark = f"{mine}-{made[0]}-{turn}"
                ids = [f"{mark}-{i}" for i in range(1 + 9 * (turn % 2))]
                join.decide_many([{"basket": 10}] * len(ids), ids=ids)
                join.label_many(ids[::2], [1] * len(ids[::2]))
                shards.decide_many([{"basket": 10}] * len(ids), ids=ids)
                shards.label_many(ids[::2], [1] * len(ids[::2]))
                session.ask(mark)
                session.tell(mark, gradient=[0.5, -0.5])
                if turn % 10 == 0:
                    join.status(), join.tracked(), join.expire(ids[-1]), shards.status()
                    brief = connection.join(BRIEF, name=mine)
                    brief.decide_many([{"basket": 10}] * len(ids), ids=ids)
                    brief.label(ids[0], 1)
                    brief.delete()
                    try:
                        join.decide(None, f"{mark}-bad", delay=1)
                    except ValueError:
                        made[0] += 1
                made[0] += 6
                if over.wait(PAUSE):
                    break


def watch(served: Served, whose: str, over: threading.Event, heard: list[int]) -> None:
    """Ask an object for its status and who waits, as the console does."""
    while not over.wait(PAUSE):
        for look in ("status", "tracked"):
            status, _ = served.call("GET", f"/v1/{whose}/{look}")
            assert status in (200, 404), status  # which it is between a deletion and the next one of its name
            heard[0] += 1


class Load:
    """Callers and readers at work on a server."""

    def __init__(self, served: Served, shards: int) -> None:
        # A memory that is soon full: what is remembered grows until then, by design.
        rules = {"capacity": 64, "memory": 2000}
        made = [
            served.call("POST", "/v1/joins/soak", rules),
            served.call("POST", "/v1/joins/shards", rules | {"shards": shards}),
            served.call("POST", "/v1/sessions/play", PLAYS),
        ]
        assert [status for status, _ in made] == [201] * 3, made
        self._over, self.made, self.heard = threading.Event(), [[0] for _ in range(CALLERS)], [[0] for _ in WATCHED]
        pool = ThreadPoolExecutor(CALLERS + len(WATCHED))
        self._all = [pool.submit(call, served, f"c{k}", self._over, one) for k, one in enumerate(self.made)]
        pairs = zip(WATCHED, self.heard, strict=True)
        self._all += [pool.submit(watch, served, whose, self._over, one) for whose, one in pairs]

    def check(self) -> None:
        """Raise what has ended a caller or reader."""
        for one in self._all:
            if one.done():
                one.result()

    def end(self) -> None:
        """Let all end; a failure of theirs is one of the soak, and so is a stream without events."""
        self._over.set()
        for one in self._all:
            one.result(60)
        assert all(count for (count,) in self.heard), self.heard


def soak(minutes: float) -> None:
    """Sample each minute, or tenth of the time, and compare the last one with that after warming up."""
    server = Server()
    with tempfile.TemporaryDirectory() as folder:
        stores, all_served = {"sqlite": ("", 1), "postgresql": (server.url("soak"), 4)}, dict[str, Served]()
        try:
            for kind, (store, _) in stores.items():
                (Path(folder) / kind).mkdir()
                all_served[kind] = Served(Path(folder) / kind, store)
            loads = {kind: Load(all_served[kind], shards) for kind, (_, shards) in stores.items()}
            samples: dict[str, list[Sample]] = {kind: [] for kind in stores}
            pause = min(60.0, 6.0 * minutes)
            for _ in range(round(60 * minutes / pause)):
                time.sleep(pause)
                for kind, load in loads.items():
                    load.check()
                    samples[kind].append(sample(all_served[kind]))
                    sys.stdout.write(f"{kind}: {samples[kind][-1]}\n")
                sys.stdout.flush()
            for load in loads.values():
                load.end()
        finally:
            for served in all_served.values():
                served.stop()
            server.remove()
    grown = {kind: _grown(samples[kind]) for kind in stores}
    for kind, load in loads.items():
        calls, events = (sum(count for (count,) in counts) for counts in (load.made, load.heard))
        told = ", ".join(f"{name} × {value:.3f}" for name, value in grown[kind].items())
        sys.stdout.write(f"{kind}: {calls:,} calls, {events:,} events; {told}\n")
    assert all(value <= LARGEST[name] for one in grown.values() for name, value in one.items()), grown


def _grown(samples: list[Sample]) -> dict[str, float]:
    first, last = samples[len(samples) // 4], samples[-1]
    return {name: getattr(last, name) / max(1, getattr(first, name)) for name in Sample._fields}


if __name__ == "__main__":
    soak(float(sys.argv[1]) if len(sys.argv) > 1 else 30.0)
