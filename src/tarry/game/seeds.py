"""What a seed draws, keyed or recorded, and many seeds in threads that can be interrupted."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_int
from tarry.game.run import Stop
from tarry.learners.base import RecordedDirections
from tarry.schedulers.base import RecordedLosers, RecordedProxies, RecordedUniforms
from tarry.tracking import Draws, Player, keyed_draws

logger = logging.getLogger("tarry")

POLL_SECONDS = 0.1  # between looks at the threads: an interrupt is heard within it on every system
SCHEDULING: dict[str, Any] = {"uniforms": RecordedUniforms, "proxy_delays": RecordedProxies, "lost": RecordedLosers}
MISSING = {
    "proxy_delays": "draws no proxy delays: record uniforms for it",
    "lost": "loses nobody by draw: record uniforms for it, or use VarOpt",
}

T = TypeVar("T")
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Recorded:
    """Draws to use instead of the keyed ones; at most one of the first three.

    ``uniforms``: one number in (0, 1] per round, for any scheduler. ``proxy_delays``: −1 (decline),
    a whole number, or inf, for proxy-delay schedulers. ``lost``: the round lost in each round, or 0,
    for VarOpt. ``directions``: one unit vector per round, for bandit learners; for learners over arms the
    vertex to play.
    """

    uniforms: ArrayLike | None = None
    proxy_delays: ArrayLike | None = None
    lost: ArrayLike | None = None
    directions: ArrayLike | None = None


def draws_for(seed: int, recorded: Recorded | None, player: Player, horizon: int) -> Draws:
    """Return the player's draws, keyed by the seed or recorded; raise ValueError for records that do not fit."""
    draws, dimension = keyed_draws(seed), player.learner.dimension
    if recorded is None:
        return draws
    given = {name: values for name in SCHEDULING if (values := getattr(recorded, name)) is not None}
    if len(given) > 1:
        raise ValueError(f"record one kind of scheduling draw, got {' and '.join(given)}")
    for name, values in given.items():
        if name in MISSING and name not in player.scheduler.recorded_draws:
            raise ValueError(f"{type(player.scheduler).__name__} {MISSING[name]}")
        listed = np.ascontiguousarray(values, dtype=np.float64)
        if listed.shape != (horizon,):
            raise ValueError(f"{name} need one entry for each of {horizon} rounds, got shape {listed.shape}")
        if name == "uniforms" and np.any((listed <= 0) | (listed > 1)):
            raise ValueError("recorded uniforms must lie in (0, 1]")
        draws = draws._replace(schedule=SCHEDULING[name](listed.astype(np.int64) if name == "lost" else listed))
    if recorded.directions is not None:
        vectors = np.ascontiguousarray(recorded.directions, dtype=np.float64)
        if vectors.shape != (horizon, dimension):
            raise ValueError(f"directions need shape {(horizon, dimension)}, got {vectors.shape}")
        draws = draws._replace(directions=RecordedDirections(vectors))
    return draws


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
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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
            pending = set(futures)
            while pending:  # in short sleeps: an interrupt wakes no waiting thread
                finished, pending = wait(pending, timeout=POLL_SECONDS, return_when=FIRST_EXCEPTION)
                for future in finished:
                    future.result()  # raises the first error
        except KeyboardInterrupt:
            interrupted = True
            logger.info("interrupted: the rounds under way are brought to an end")
        finally:
            stop.set()
    return [one for future in futures if (one := future.result()) is not None], interrupted
