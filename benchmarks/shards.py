"""A join in shards on PostgreSQL: calls a second of several client processes, at 1, 4 and 16 shards, in turns.

Each client decides and labels, a call a transaction, durable. Clients and server share this machine: beyond its cores
clients wait for a core as well as for a lock, so that the gain of shards is less than where each has its own.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import tarry
from benchmarks.measure import Figure, Row

SHARDS = (1, 4, 16)
CLIENTS = (1, 2, 4, 8)
CAPACITY = 1024
SECONDS, TURNS = 2.0, 3
LAG = 20  # decisions between one and its label
WARM = 50  # calls before the clock runs
_numbers = count()
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
    return Figure(ratio, f"{listed}; {os.cpu_count()} cores")


ROWS = [
    Row(f"shards 16 against 1, {clients} clients", held, partial(_with_clients, clients), at_least=True)
    for clients, held in zip(CLIENTS, (0.8, 0.9, 1.4, 1.4), strict=True)
]
