"""A join in shards on PostgreSQL: calls a second of several client processes, at 1, 4 and 16 shards, in turns.

Each client decides and labels, a call a transaction, durable. Clients and server share this machine: beyond its cores
clients wait for a core as well as for a lock, so that the gain of shards is less than where each has its own.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count as numbers
from math import inf
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import psycopg

import tarry
from benchmarks.measure import Figure, Row
from studies.numbers import short

SHARDS = (1, 4, 16)
CLIENTS = (1, 2, 4, 8)
CAPACITY = 1024
SECONDS, TURNS = 2.0, 3
LAG = 20  # decisions between one and its label
WARM = 50  # calls before the clock runs
BATCH = 1000
SIDES = ("client", "server")
_numbers = numbers()
_STORED = """
SELECT (SELECT sum(pg_column_size(o.*)) FROM tarry_objects o) + (SELECT sum(length(body)) FROM tarry_journal),
       pg_total_relation_size('tarry_objects') + pg_total_relation_size('tarry_journal')
"""
_barrier: Any = None  # of this client and the others


@contextmanager
def server() -> Iterator[Any]:
    """Yield a PostgreSQL server of the tests."""
    sys.path.append(str(Path(__file__).parent.parent / "tests" / "support"))
    from postgres import Server

    made = Server()
    try:
        yield made
    finally:
        made.remove()


def _meet(barrier: Any) -> None:
    global _barrier
    _barrier = barrier


def client(url: str, mark: str, seconds: float) -> int:
    """Return the calls that one client makes in so many seconds, from when all of them are ready."""
    with tarry.LabelJoin.open(url) as join:
        for i in range(WARM):
            join.decide({"basket": 10}, f"{mark}-warm-{i}")
            join.label(f"{mark}-warm-{i}", 1)
        _barrier.wait()
        calls, until = 0, time.time() + seconds
        while time.time() < until:
            join.decide({"basket": 10}, f"{mark}-{calls}")
            join.label(f"{mark}-{calls - LAG}", 1)
            calls += 1
    return 2 * calls


def rate(pool: Any, url: str, clients: int, seconds: float = SECONDS) -> float:
    """Return the calls a second of so many clients together."""
    mark = f"r{next(_numbers)}"
    told = pool.starmap(client, [(url, f"{mark}-{k}", seconds) for k in range(clients)], chunksize=1)
    return sum(told) / seconds


def _with_clients(clients: int, quick: bool) -> Figure:
    turns = 1 if quick else TURNS
    spawn = get_context("spawn")
    with server() as made, spawn.Pool(clients, _meet, (spawn.Barrier(clients),)) as pool:
        urls = {}
        for shards in SHARDS:
            urls[shards] = made.url(f"s{shards}")
            tarry.LabelJoin(CAPACITY, shards=shards, store=urls[shards], memory=100_000, rng=1).close()
        found = [{shards: rate(pool, urls[shards], clients) for shards in SHARDS} for _ in range(turns)]
    rates = {shards: median(turn[shards] for turn in found) for shards in SHARDS}
    ratio = median(turn[SHARDS[-1]] / turn[1] for turn in found)
    listed = ", ".join(f"{shards} shards {number:,.0f}/s" for shards, number in rates.items())
    return Figure(
        ratio, f"{listed}; {os.cpu_count()} cores", {f"{shards} shards": rate for shards, rate in rates.items()}
    )


def _server_time(process: int) -> float:
    """Return the processor seconds of a server's own processes."""
    ticks = 0
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended since
            fields = file.read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12]) if int(fields[1]) == process else 0
    return ticks / os.sysconf("SC_CLK_TCK")


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _ids(places: range) -> list[str]:
    return [f"visit-{i:08d}" for i in places]


def _costs(quick: bool) -> Figure:
    """Measure processor time of calls on one shard, on both sides, and the bytes of a tracked decision, in turns."""
    turns = [_cost(quick) for _ in range(1 if quick else TURNS)]
    told = {name: [pick(turn.values[name] for turn in turns) for pick in (min, max)] for name in turns[0].values}
    return turns[-1]._replace(values=told)


def _cost(quick: bool) -> Figure:
    batches = 5 if quick else 20
    count, features = batches * BATCH, {"text": "x" * 88}  # 100 bytes as JSON
    told: dict[str, tuple[float, float]] = {}
    with server() as made:
        for place, size in (("warm", BATCH), ("main", count)):
            url = made.url(place)
            with tarry.LabelJoin(size, store=url, memory=2 * count, rng=1) as join:

                def timed(name: str, calls: int, work: Callable[[range], object], each: int, total: int) -> None:
                    before = time.process_time(), _server_time(made.process.pid)
                    for i in range(0, total, each):
                        work(range(i, i + each))
                    after = time.process_time(), _server_time(made.process.pid)
                    told[name] = tuple(1e6 * (b - a) / calls for a, b in zip(before, after, strict=True))  # type: ignore[assignment]

                resident = _resident()
                timed("decision", size, lambda r, j=join: j.decide_many([features] * len(r), ids=_ids(r)), BATCH, size)
                resident = _resident() - resident
                with psycopg.connect(url) as database:
                    stored = database.execute(_STORED).fetchone()
                timed("label", size, lambda r, j=join: j.label_many(_ids(r), [1] * len(r)), BATCH, size)
                timed("decision alone", BATCH, lambda r, j=join: j.decide(features, f"alone-{r[0]:08d}"), 1, BATCH)
    times = ", ".join(f"{name} {a:.0f} + {b:.0f} µs" for name, (a, b) in told.items())
    sizes = f"{resident / count / 1e3:.2f} kB, stored {stored[0] / count / 1e3:.2f} of {stored[1] / count / 1e3:.2f} kB"
    a, b = told["decision"]
    values = {f"{name}, {side}": cost for name, both in told.items() for side, cost in zip(SIDES, both, strict=True)}
    for side in SIDES:  # in milliseconds
        values[f"decision alone, {side}"] /= 1e3
    values |= {"resident": resident / count / 1e3, "data": stored[0] / count / 1e3, "stored": stored[1] / count / 1e3}
    detail = f"client + server, batches of {BATCH:,}: {times}; a tracked decision {sizes} with indices"
    return Figure(b / a, detail, {name: short(float(value)) for name, value in values.items()})


ROWS = [Row("shards server over client, a decision", inf, _costs)] + [
    Row(f"shards 16 against 1, {clients} clients", held, partial(_with_clients, clients), at_least=True)
    for clients, held in zip(CLIENTS, (0.8, 1.2, 1.4, 1.4), strict=True)
]
