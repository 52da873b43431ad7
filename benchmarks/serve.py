"""The service under load: 64 connections against one caller in this process, both durable, in turns.

The load comes from a process of its own, over real sockets, with requests written and answers read by hand: it must
cost less than what it measures.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from math import inf
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import tarry
from benchmarks.measure import Figure, Row
from tests.support.serving import Served

CONNECTIONS = 64
SECONDS = 2.0
TURNS = 3
CAPACITY = 64
WORKERS = 4
FEATURES = {"basket": 10}
_numbers = count()


class Load(NamedTuple):
    """Calls a second, and their latencies in milliseconds."""

    rate: float
    p50: float
    p99: float
    p999: float

    def told(self) -> dict[str, float]:
        """Return what pages show."""
        return self._asdict()

    def __str__(self) -> str:
        return f"{self.rate:,.0f}/s p50 {self.p50:.2f} p99 {self.p99:.2f} p99.9 {self.p999:.2f} ms"


def _figures(taken: list[float], seconds: float) -> Load:
    """Return what calls that took so many seconds each come to."""
    listed = sorted(taken)
    p50, p99, p999 = (1e3 * listed[min(len(listed) - 1, int(share * len(listed)))] for share in (0.5, 0.99, 0.999))
    return Load(len(listed) / seconds, p50, p99, p999)


async def _caller(port: int, head: bytes, bodies: Iterator[bytes], until: float, taken: list[float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while time.perf_counter() < until:
        body = next(bodies)
        begun = time.perf_counter()
        writer.write(head % len(body) + body)
        said = await reader.readuntil(b"\r\n\r\n")
        assert said.startswith(b"HTTP/1.1 200"), said
        start = said.index(b"content-length: ") + 16
        await reader.readexactly(int(said[start : said.index(b"\r\n", start)]))
        taken.append(time.perf_counter() - begun)
    writer.close()


def _bodies(mark: str, rows: int) -> Iterator[bytes]:
    for i in count():
        listed = [{"id": f"{mark}-{i}-{j}", "features": FEATURES} for j in range(rows)]
        yield json.dumps({"decisions": listed} if rows > 1 else listed[0]).encode()


async def _load(port: int, token: str, mark: str, connections: int, rows: int, seconds: float) -> list[float]:
    head = f"POST /v1/joins/bench/decide HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n"
    form = f"{head}content-length: %d\r\n\r\n".encode()
    taken: list[float] = []
    until = time.perf_counter() + seconds
    callers = (_caller(port, form, _bodies(f"{mark}-{k}", rows), until, taken) for k in range(connections))
    await asyncio.gather(*callers)
    return taken


def _in_loop(arguments: tuple[Any, ...]) -> list[float]:
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_load(*arguments))


def load(pool: Any, served: Served, connections: int, rows: int, seconds: float = SECONDS) -> Load:
    """Return what so many connections with requests of so many rows come to."""
    mark = f"m{next(_numbers)}-{time.time_ns()}"
    return _figures(pool.apply(_in_loop, ((served.port, served.token, mark, connections, rows, seconds),)), seconds)


def one_by_one(join: tarry.LabelJoin, seconds: float = SECONDS) -> Load:
    """Return what one caller in this process comes to."""
    mark, until = f"i{next(_numbers)}-{time.time_ns()}", time.perf_counter() + seconds
    taken: list[float] = []
    while (begun := time.perf_counter()) < until:
        join.decide(FEATURES, f"{mark}-{len(taken)}")
        taken.append(time.perf_counter() - begun)
    return _figures(taken, seconds)


@contextmanager
def _stage(**settings: Any) -> Iterator[tuple[Any, Served, tarry.LabelJoin]]:
    """Yield a pool for the load, a server with a join, warm, and the same join in this process."""
    with tempfile.TemporaryDirectory() as name, multiprocessing.get_context("spawn").Pool(1) as pool:
        served = Served(Path(name), **settings)
        try:
            served.call("POST", "/v1/joins/bench", {"capacity": CAPACITY})
            with tarry.LabelJoin(CAPACITY, store=f"sqlite:///{name}/here.db") as join:
                one_by_one(join, 0.5)
                load(pool, served, 8, 1, 0.5)
                yield pool, served, join
        finally:
            served.stop()


def _against_one(connections: int, rows: int, quick: bool) -> Figure:
    """Rows a second over HTTP for each call a second of one caller here: the median of turns."""
    with _stage() as (pool, served, join):
        pairs = [(one_by_one(join), load(pool, served, connections, rows)) for _ in range(1 if quick else TURNS)]
    ratio = median(rows * many.rate / one.rate for one, many in pairs)
    one, many = pairs[-1]
    return Figure(ratio, f"one caller here {one}; {connections} connections, {rows} rows each: {many}", many.told())


def _lone(quick: bool) -> Figure:
    with _stage() as (pool, served, join):
        pairs = [(one_by_one(join), load(pool, served, 1, 1)) for _ in range(1 if quick else TURNS)]
    one, lone = pairs[-1]
    ratio = median(lone.p50 / one.p50 for one, lone in pairs)
    return Figure(ratio, f"one caller here {one}; one connection: {lone}", lone.told())


def _without_groups(quick: bool) -> Figure:
    """The same load with a commit for each call, against calls that are written together."""
    with _stage() as (pool, grouped, _), _stage(grouping=False) as (other, single, _):
        turns = 1 if quick else TURNS
        pairs = [(load(pool, grouped, CONNECTIONS, 1), load(other, single, CONNECTIONS, 1)) for _ in range(turns)]
    ratio = median(many.rate / alone.rate for many, alone in pairs)
    return Figure(ratio, f"together {pairs[-1][0]}; one by one {pairs[-1][1]}", pairs[-1][1].told())


def _on_postgres(rows: int, quick: bool) -> Figure:
    """The same load on PostgreSQL with four workers, against SQLite with one: rows a second, and latencies."""
    sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))  # whose modules know each other by name
    from postgres import Server

    server = Server()
    try:
        with _stage() as (pool, one, _), tempfile.TemporaryDirectory() as folder:
            many = Served(Path(folder), server.url("bench"), workers=WORKERS)
            try:
                many.call("POST", "/v1/joins/bench", {"capacity": CAPACITY})
                while many.log().count("startup complete") < WORKERS:
                    time.sleep(0.1)
                for size in (1, rows):  # every worker opens the join, and compiles what it needs
                    load(pool, many, CONNECTIONS, size, 1.0)
                    load(pool, one, CONNECTIONS, size, 1.0)
                turns = range(1 if quick else TURNS)
                pairs = [(load(pool, many, CONNECTIONS, rows), load(pool, one, CONNECTIONS, rows)) for _ in turns]
            finally:
                many.stop()
    finally:
        server.remove()
    ratio = median(here.rate / there.rate for here, there in pairs)
    here, there = pairs[-1]
    return Figure(ratio, f"{rows} rows each: PostgreSQL, {WORKERS} workers {here}; SQLite {there}", here.told())


ROWS = [
    Row("serve single rows, 64 connections, against one caller here", 1.0, partial(_against_one, CONNECTIONS, 1), True),
    Row("serve 100 rows, 64 connections, against one caller here", 8.0, partial(_against_one, CONNECTIONS, 100), True),
    Row("serve lone caller's latency against a call here", 3.0, _lone),
    Row("serve together against one commit each", 1.0, _without_groups, True),
    Row("serve single rows on PostgreSQL against SQLite", inf, partial(_on_postgres, 1), True),
    Row("serve 100 rows on PostgreSQL against SQLite", inf, partial(_on_postgres, 100), True),
]
