"""simulate: a game, a player, many seeds, in threads."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from tarry.checks import as_whole
from tarry.errors import Interrupted
from tarry.game.draws import Recorded
from tarry.game.engine import Stop, compile_for, play
from tarry.game.memory import refuse_if_large
from tarry.game.plans import Measured, Options, Plans
from tarry.game.record import Record
from tarry.game.regret import Stopped, comparator

logger = logging.getLogger("tarry")

HEARING = 0.1

Progress = Callable[[int, int], None]
Run = Callable[[int, Stop, Callable[[int], None]], Measured | None]


def simulate(
    game: Any,
    player: Any,
    seeds: int | Iterable[int] = 1,
    *,
    games: Callable[[int], Any] | None = None,
    draws: Recorded | None = None,
    checkpoints: int = 100,
    bound: bool = True,
    keep_rounds: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
    allow_large: bool = False,
) -> Record:
    """Play a game once per seed, compiled and in threads.

    ``seeds`` is a number (0, 1, …) or the seeds themselves; they draw the player. ``games``, a
    function of the seed, draws the game too (give ``game=None``); ``player`` may be a function of the
    game. ``draws`` replaces random draws by recorded ones. ``keep_rounds`` keeps every play, loss,
    weight and event (memory grows with the horizon). ``bound`` keeps the parts of the pathwise bound,
    at O(capacity) per observed label. ``progress(done, total)`` is called with rounds.

    Interrupting raises :class:`tarry.errors.Interrupted` within a second, with the finished seeds.
    """
    chosen = _seed_list(seeds)
    workers = min(len(chosen), as_whole(threads, "threads", 1) if threads is not None else os.cpu_count() or 1)
    plans = Plans(game, games, player, checkpoints)
    options = Options(draws, checkpoints, bound, keep_rounds, allow_large, workers)
    first = plans.of(chosen[0])
    if keep_rounds and not allow_large:
        cells = len(chosen) * first.game.horizon * (first.game.dimension + 22)
        refuse_if_large(8 * cells, "keeping every round")
    compile_for(first.task(chosen[0], options))
    comparator(first.game.domain, first.game.losses, 1, np.ones(1, np.int64))

    def run(seed: int, stop: Stop, report: Callable[[int], None]) -> Measured | None:
        if stop.is_set():
            return None
        plan = plans.of(seed)
        if plan.game.horizon != first.game.horizon:
            raise ValueError(f"games must share one horizon, got {first.game.horizon} and {plan.game.horizon}")
        outcome = play(plan.task(seed, options), stop, report)
        if outcome is None:
            return None
        try:
            return plans.measure(seed, plan, outcome, stop)
        except Stopped:
            return None

    total = len(chosen) * first.game.horizon
    measured, interrupted = _in_threads(run, chosen, workers, progress, total)
    record = Record.build(first.game, first.player, measured) if measured else None
    if interrupted or record is None:
        kept = "are kept in .record" if measured else "so nothing is kept"
        raise Interrupted(f"interrupted: {len(measured)} of {len(chosen)} seeds were finished, {kept}", record)
    for warning in record.warnings:
        logger.warning(warning)
    return record


def _seed_list(seeds: int | Iterable[int]) -> list[int]:
    if isinstance(seeds, (int, float, np.number)):
        return list(range(as_whole(seeds, "seeds", 1)))
    listed = list(seeds)
    if not listed:
        raise ValueError("seeds is empty: give a number of seeds or a list of them")
    for seed in listed:
        if not isinstance(seed, (int, np.integer)) or isinstance(seed, bool):
            raise ValueError(f"seeds must be whole numbers, got {seed!r}")
    if len(set(listed)) != len(listed):
        raise ValueError("seeds repeat: every seed gives the same run again")
    return [int(seed) for seed in listed]


def _in_threads(
    run: Run, seeds: list[int], threads: int, progress: Progress | None, total: int
) -> tuple[list[Measured], bool]:
    """Run every seed; what was finished, in the order of the seeds, and whether an interrupt came."""
    stop, lock, done, interrupted = Stop(), threading.Lock(), [0], False

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


def _wait(futures: list[Future[Measured | None]]) -> None:
    """Wait for all, raising the first error; in short sleeps, so that an interrupt is heard on every system."""
    pending: set[Future[Measured | None]] = set(futures)
    while pending:
        finished, pending = wait(pending, timeout=HEARING, return_when=FIRST_EXCEPTION)
        for future in finished:
            future.result()
