"""A server under mixed load for some minutes: memory, descriptors, log and store must not grow.

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
from serving import Served

import tarry

CALLERS = 8
PAUSE = 0.01  # seconds between two turns of a caller: a server that is busy, and not only queues
LARGEST = {"memory": 1.15, "descriptors": 1.2, "log": 1.2, "store": 1.3}  # the last over the one after warming up


class Sample(NamedTuple):
    """What a server takes: bytes, descriptors, bytes of the log and of the store."""

    memory: int
    descriptors: int
    log: int
    store: int


def sample(served: Served) -> Sample:
    """What it takes now; its write-ahead log is left out, which is cut back at times."""
    process = psutil.Process(served.process.pid)
    store = Path(served.store.removeprefix("sqlite:///")).stat().st_size
    return Sample(process.memory_info().rss, process.num_fds(), (served.folder / "log").stat().st_size, store)


def call(served: Served, mine: str, over: threading.Event, made: list[int]) -> None:
    """Decide, label, ask, tell, expire, look and make mistakes, alone and in batches, on connections that end."""
    while not over.is_set():
        with tarry.connect(served.url, token=served.token) as connection:
            join, session = connection.open_join("soak"), connection.open_session("play")
            for turn in range(200):
                mark = f"{mine}-{made[0]}-{turn}"
                ids = [f"{mark}-{i}" for i in range(1 + 9 * (turn % 2))]
                join.decide_many([{"basket": 10}] * len(ids), ids=ids)
                join.label_many(ids[::2], [1] * len(ids[::2]))
                session.ask(mark)
                session.tell(mark, gradient=[0.5, -0.5])
                if turn % 10 == 0:
                    join.status(), join.tracked(), join.expire(ids[-1])
                    try:
                        join.decide(None, f"{mark}-bad", delay=1)
                    except ValueError:
                        made[0] += 1
                made[0] += 4
                if over.wait(PAUSE):
                    break


def soak(minutes: float) -> tuple[list[Sample], int]:
    """Return a sample for each minute, or tenth of the time, and how many calls were made."""
    with tempfile.TemporaryDirectory() as folder:
        served = Served(Path(folder))
        try:
            # A memory that is soon full: what is remembered grows until then, by design.
            served.call("POST", "/v1/joins/soak", {"capacity": 64, "memory": 2000})
            served.call("POST", "/v1/sessions/play", {"dimension": 2, "rate": 0.1, "capacity": 8, "memory": 2000})
            over, made = threading.Event(), [[0] for _ in range(CALLERS)]
            pool = ThreadPoolExecutor(CALLERS)
            callers = [pool.submit(call, served, f"c{k}", over, made[k]) for k in range(CALLERS)]
            pause, samples = min(60.0, 6.0 * minutes), []
            for _ in range(round(60 * minutes / pause)):
                time.sleep(pause)
                samples.append(sample(served))
                sys.stdout.write(f"{samples[-1]}\n")
                sys.stdout.flush()
            over.set()
            for one in callers:
                one.result(60)  # whose failure is one of the soak
            return samples, sum(count for (count,) in made)
        finally:
            served.stop()


if __name__ == "__main__":
    found, calls = soak(float(sys.argv[1]) if len(sys.argv) > 1 else 30.0)
    first, last = found[len(found) // 4], found[-1]
    grown = {name: getattr(last, name) / max(1, getattr(first, name)) for name in Sample._fields}
    sys.stdout.write(f"{calls:,} calls; " + ", ".join(f"{n} × {value:.3f}" for n, value in grown.items()) + "\n")
    assert all(grown[name] <= most for name, most in LARGEST.items()), grown
