"""simulate: a game, a player, many seeds, in threads."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from tarry.errors import Interrupted
from tarry.game.hindsight import Stopped, compare, compile_passes
from tarry.game.record import Record
from tarry.game.run import Buffers, Played, Run, Stop, prepare, refuse_if_large
from tarry.game.seeds import Progress, Recorded, draws_for, in_threads, seed_list, worker_count

logger = logging.getLogger("tarry")
_said: set[tuple[str, str]] = set()  # what was logged: a sweep plays a thousand records


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
    of, at O(capacity) per observed label, and asks supervised losses for their gradient bound, one pass over the
    rounds of a game. ``progress(done, total)`` is called with rounds.

    Interrupting raises :class:`tarry.errors.Interrupted` within a second, with the finished seeds.
    """
    if game is not None and games is not None:
        raise ValueError("give a game or games, a function of the seed, and not both")
    chosen = seed_list(seeds)
    workers = worker_count(chosen, threads)
    ready = partial(
        prepare,
        player=player,
        checkpoints=checkpoints,
        bound=bound,
        keep_rounds=keep_rounds,
        allow_large=allow_large,
        threads=workers,
    )
    first = ready(game if games is None else games(chosen[0]))
    if keep_rounds and not allow_large:
        cells = len(chosen) * first.horizon * (first.game.dimension + 22)
        refuse_if_large(8 * cells, "keeping every round")

    def start(run: Run, seed: int) -> Buffers:
        return run.start(draws_for(seed, draws, run.player, run.horizon))

    begun = start(first, chosen[0])
    first.compile(begun)
    compile_passes(first.game)

    def play(seed: int, stop: Stop, report: Callable[[int], None]) -> Played | None:
        if stop.is_set():
            return None
        run = first if games is None or seed == chosen[0] else ready(games(seed))
        if run.horizon != first.horizon:
            raise ValueError(f"games must share one horizon, got {first.horizon} and {run.horizon}")
        buffers = begun if seed == chosen[0] else start(run, seed)
        played = run.play(seed, buffers, stop, report)
        try:
            return played and played._replace(best=compare(run.game, run.checkpoints, stop.is_set))
        except Stopped:
            return None

    played, interrupted = in_threads(play, chosen, workers, progress, len(chosen) * first.horizon)
    record = Record.of(played) if played else None
    if interrupted or record is None:
        kept = "are kept in .record" if played else "so nothing is kept"
        raise Interrupted(f"interrupted: {len(played)} of {len(chosen)} seeds were finished, {kept}", record)
    _say_once(record)
    return record


def _say_once(record: Record) -> None:
    """Log the record's warnings under the player's name, each kind once."""
    name = f"{type(record.player.learner).__name__} with {type(record.player.scheduler).__name__}"
    for warning in record.warnings:
        kind = (name, warning.rpartition(": ")[2])  # the way out: what comes before it has numbers of the run
        if kind not in _said:
            _said.add(kind)
            logger.warning("%s: %s", name, warning)
