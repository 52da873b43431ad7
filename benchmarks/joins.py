"""LabelJoin in memory, against River's stream of questions and answers; and how its memory grows."""

from __future__ import annotations

import heapq
import os
import random
import subprocess
import sys
from collections.abc import Callable
from functools import partial

import tarry
from benchmarks.measure import Figure, Row, interleave, nanoseconds, ratio

CAPACITY = 64
LIMIT = 5.0

PROGRAM = """
import gc
from pathlib import Path
import tarry
join = tarry.LabelJoin(64, rng=1)
def play(rounds):
    first = join.status().rounds
    for t in range(first + 1, first + rounds + 1):
        join.decide()
        if t > 100_000:
            join.label(t - 100_000, 1.0)
def used():
    gc.collect()
    status = Path("/proc/self/status").read_text()
    return float(status.split("VmRSS:")[1].split()[0]) / 1000
play(1000)
join.label(1000, 1.0)  # warm: both calls are compiled
join.expire(999)
before = used()
play(1_000_000)
print(used() - before)
"""


def _stream(mean: float, count: int) -> tuple[list[tuple[dict[str, float], float]], list[float]]:
    draw = random.Random(1)
    data = [({"a": 1.0, "t": float(i)}, 1.0) for i in range(count)]
    return data, [draw.expovariate(1.0 / mean) for _ in range(count)]


def _river(mean: float, count: int) -> Callable[[], None]:
    from river import stream

    data, waits = _stream(mean, count)

    def play() -> None:
        for _ in stream.simulate_qa(iter(data), moment="t", delay=lambda x, y: waits[int(x["t"])]):
            pass

    return play


def _ours(mean: float, count: int) -> Callable[[], None]:
    data, waits = _stream(mean, count)
    join = tarry.LabelJoin(CAPACITY, rng=1)

    def play() -> None:
        # As in River, labels come in the order of time; those of untracked decisions nobody waits for.
        due: list[tuple[float, int, float]] = []
        for i, (x, y) in enumerate(data):
            while due and due[0][0] <= i:
                _, id, label = heapq.heappop(due)
                join.label(id, label)
            ticket = join.decide(x)
            if ticket.tracked:
                heapq.heappush(due, (i + waits[i], ticket.id, y))

    return play


def _against_river(mean: float, count: int, _quick: bool) -> Figure:
    ours, river = interleave([partial(_ours, mean, count), partial(_river, mean, count)])
    detail = f"{nanoseconds(ours, count) / 1e3:.2f} us a decision, River {nanoseconds(river, count) / 1e3:.2f} us"
    return Figure(ratio(ours, river), detail)


def _plain(count: int) -> Callable[[], None]:
    join = tarry.LabelJoin(CAPACITY, rng=1)

    def play() -> None:
        for _ in range(count):
            join.decide()

    return play


def _timed(count: int) -> Callable[[], None]:
    join = tarry.LabelJoin(CAPACITY, window=1e6, missing=0.0, rng=1)
    moments = [float(i) for i in range(count)]

    def play() -> None:
        for moment in moments:
            join.decide(at=moment)

    return play


def _windows(_quick: bool) -> Figure:
    count = 20_000
    plain, timed = interleave([partial(_plain, count), partial(_timed, count)])
    detail = f"{nanoseconds(timed, count) / 1e3:.2f} us a decision, {nanoseconds(plain, count) / 1e3:.2f} us without"
    return Figure(ratio(timed, plain), detail)


def _memory(_quick: bool) -> Figure:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    grown = float(done.stdout)
    return Figure(grown / LIMIT, f"{grown:.1f} of {LIMIT:.0f} MB for 1e6 decisions, backlog 1e5")


ROWS = [
    Row("join against simulate_qa, delay 100", 3.0, partial(_against_river, 100.0, 20_000)),
    Row("join against simulate_qa, delay 100000", 1.0, partial(_against_river, 100_000.0, 60_000)),
    Row("join decide with windows", 1.2, _windows),
    Row("join memory of 1e6 decisions", 1.0, _memory),
]
