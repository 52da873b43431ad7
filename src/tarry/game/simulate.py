"""simulate: a game, a player, many seeds, in threads."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tarry.errors import Interrupted
from tarry.game.draws import Recorded
from tarry.game.engine import Stop, compile_for, play
from tarry.game.memory import refuse_if_large
from tarry.game.plans import Measured, Options, Plans
from tarry.game.record import Record
from tarry.game.regret import Stopped, comparator
from tarry.game.seeds import Progress, in_threads, seed_list, worker_count

logger = logging.getLogger("tarry")


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

    ``seeds`` is a number (0, 1, …) or the seeds themselves; they draw the player only, so where it draws nothing all
    seeds are alike and ± is 0. ``games``, a function of the seed, draws the game too (give ``game=None``); ``player``
    may be a function of the game. ``draws`` replaces random draws by recorded ones. ``keep_rounds`` keeps every play,
    loss, weight and event (memory grows with the horizon). ``bound`` keeps what certificates are made
    of, at O(capacity) per observed label. ``progress(done, total)`` is called with rounds.

    Interrupting raises :class:`tarry.errors.Interrupted` within a second, with the finished seeds.
    """
    chosen = seed_list(seeds)
    workers = worker_count(chosen, threads)
    plans = Plans(game, games, player, checkpoints, bound)
    options = Options(draws, checkpoints, keep_rounds, allow_large, workers)
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
    measured, interrupted = in_threads(run, chosen, workers, progress, total)
    record = Record.build(first, measured) if measured else None
    if interrupted or record is None:
        kept = "are kept in .record" if measured else "so nothing is kept"
        raise Interrupted(f"interrupted: {len(measured)} of {len(chosen)} seeds were finished, {kept}", record)
    for warning in record.warnings:
        logger.warning(warning)
    return record
