"""Many seeds of one thing, in threads that can be interrupted."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import TypeVar

import numpy as np

from tarry.checks import as_int
from tarry.game.run import Stop

logger = logging.getLogger("tarry")

POLL_SECONDS = 0.1  # between looks at the threads: an interrupt is heard within it on every system

T = TypeVar("T")
Progress = Callable[[int, int], None]


def seed_list(seeds: int | Iterable[int]) -> list[int]:
    """Return 0, 1, … for a number of seeds, or the seeds themselves, each once."""
    if isinstance(seeds, (int, float, np.number)):
        return list(range(as_int(seeds, "seeds", 1)))
    listed = list(seeds)
    if not listed:
        raise ValueError("seeds is empty: give a number of seeds or a list of them")
    for seed in listed:
        if not isinstance(seed, (int, np.integer)) or isinstance(seed, bool):
            raise ValueError(f"seeds must be whole numbers, got {seed!r}")
    if len(set(listed)) != len(listed):
        raise ValueError("seeds repeat: every seed gives the same run again")
    return [int(seed) for seed in listed]


def worker_count(seeds: list[int], threads: int | None) -> int:
    """Return how many threads to use: as asked, or one per core, never more than seeds."""
    return min(len(seeds), as_int(threads, "threads", 1) if threads is not None else core_count())


def core_count() -> int:
    """Return the cores this process may use: a job on a shared machine is often given a few of them."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_threads(
    run: Callable[[int, Stop, Callable[[int], None]], T | None],
    seeds: list[int],
    threads: int,
    progress: Progress | None = None,
    total: int = 0,
) -> tuple[list[T], bool]:
    """Run every seed; return what was finished, in the order of the seeds, and whether an interrupt came."""
    stop, interrupted, done = Stop(), False, [0]
    lock = threading.Lock()  # the user's function is called by one thread at a time

    def report(rounds: int) -> None:
        if progress is not None:
            with lock:
                done[0] += rounds
                progress(done[0], total)

    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(run, seed, stop, report) for seed in seeds]
        try:
            _wait(futures)
        except KeyboardInterrupt:
            interrupted = True
            logger.info("interrupted: the rounds under way are brought to an end")
        finally:
            stop.set()
    return [one for future in futures if (one := future.result()) is not None], interrupted


def _wait(futures: list[Future[T | None]]) -> None:
    """Wait for all futures, raising the first error; in short sleeps, for an interrupt wakes no waiting thread."""
    pending: set[Future[T | None]] = set(futures)
    while pending:
        finished, pending = wait(pending, timeout=POLL_SECONDS, return_when=FIRST_EXCEPTION)
        for future in finished:
            future.result()
