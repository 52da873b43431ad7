"""simulate: a game, a player, many seeds, in threads."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from tarry.errors import Interrupted
from tarry.game.draws import Recorded, draws_for
from tarry.game.engine import Outcome, Task, play
from tarry.game.memory import refuse_if_large
from tarry.game.problem import Game, WeightedGame, check_grants, setting_of
from tarry.game.record import Record
from tarry.game.regret import Comparator, comparator
from tarry.schedulers.given import Given
from tarry.tracking import Player

logger = logging.getLogger("tarry")

Progress = Callable[[int, int], None]


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
    function of the seed, draws the game too (give ``game=None``); ``player`` may then be a function
    of the game. ``draws`` replaces random draws by recorded ones. ``keep_rounds`` keeps every play,
    loss, weight and event (memory grows with the horizon). ``bound`` keeps the parts of the pathwise
    bound, at O(capacity) per observed label. ``progress(done, total)`` is called with rounds.

    Interrupting raises :class:`tarry.errors.Interrupted` within a second, with the finished seeds.
    """
    chosen = _seed_list(seeds)
    build = games if games is not None else (game if callable(game) else None)
    plans = _Plans(game, build, player, checkpoints)
    if keep_rounds and not allow_large:
        first, _, _ = plans.of(chosen[0])
        refuse_if_large(len(chosen) * first.horizon * 8 * (first.dimension + 22), "keeping every round")

    def run(seed: int, stop: threading.Event, report: Callable[[int], None]) -> Outcome | None:
        one, actor, rounds = plans.of(seed)
        capacity, information = (
            getattr(one, "capacity", None),
            getattr(one, "information", "semi-clairvoyant"),
        )
        task = Task(
            player=actor,
            setting=setting_of(capacity, information, bound),
            draws=draws_for(seed, draws, one.horizon, one.dimension),
            losses=one.losses,
            delays=one.delays,
            feedback=one.feedback,
            rounds=rounds,
            keep_rounds=keep_rounds,
            allow_large=allow_large,
        )
        return play(task, stop, report)

    total = len(chosen) * plans.of(chosen[0])[0].horizon
    outcomes = _in_threads(run, chosen, threads, progress, total)
    finished = {seed: outcome for seed, outcome in outcomes.items() if outcome is not None}
    kept = [seed for seed in chosen if seed in finished]
    record = plans.record(kept, finished) if kept else None
    if len(kept) < len(chosen):
        raise Interrupted(
            f"interrupted: {len(kept)} of {len(chosen)} seeds were finished and are kept in .record",
            record,
        )
    assert record is not None
    return record


class _Plans:
    """Games, players and comparators by seed; one of each where the game does not depend on it."""

    def __init__(self, game: Any, build: Callable[[int], Any] | None, player: Any, checkpoints: int) -> None:
        self._game, self._build, self._player = game, build, player
        if checkpoints < 1:
            raise ValueError(f"checkpoints must be at least 1, got {checkpoints}")
        self._checkpoints = checkpoints
        self._made: dict[int | None, tuple[Any, Player, np.ndarray]] = {}
        self._lock = threading.Lock()

    def of(self, seed: int) -> tuple[Any, Player, np.ndarray]:
        """The game, player and checkpoint rounds of a seed."""
        key = seed if self._build is not None else None
        with self._lock:
            if key not in self._made:
                game = self._build(seed) if self._build is not None else self._game
                self._made[key] = (
                    game,
                    _actor(game, self._player),
                    _checkpoints(game.horizon, self._checkpoints),
                )
            return self._made[key]

    def record(self, seeds: list[int], outcomes: dict[int, Outcome]) -> Record:
        """Everything measured, with regret against each game's best fixed action."""
        best: dict[int | None, Comparator] = {}
        rows = []
        for seed in seeds:
            key = seed if self._build is not None else None
            game, _, rounds = self.of(seed)
            if key not in best:
                best[key] = comparator(game.domain, game.losses, game.horizon, rounds)
            rows.append(best[key])
        games = [self.of(seed)[0] for seed in seeds]
        return Record.build(seeds, games, [self.of(s)[1] for s in seeds], [outcomes[s] for s in seeds], rows)


def _actor(game: Any, player: Any) -> Player:
    if not isinstance(game, (Game, WeightedGame)):
        raise TypeError(f"game must be a Game or a WeightedGame, got {type(game).__name__}")
    chosen = player(game) if callable(player) else player
    if isinstance(game, WeightedGame):
        learner = chosen.learner if isinstance(chosen, Player) else chosen
        actor = Player(learner, Given(np.asarray(game.weights)))
        check_grants(actor, feedback=game.feedback, capacity=None, information="semi-clairvoyant", preemption=True)
    else:
        actor = chosen if isinstance(chosen, Player) else Player(chosen)
        check_grants(
            actor,
            feedback=game.feedback,
            capacity=game.capacity,
            information=game.information,
            preemption=game.preemption,
        )
    if actor.learner.dimension != game.dimension:
        raise ValueError(f"the learner plays in R^{actor.learner.dimension}, the game in R^{game.dimension}")
    return actor


def _seed_list(seeds: int | Iterable[int]) -> list[int]:
    if isinstance(seeds, (int, np.integer)):
        if seeds < 1:
            raise ValueError(f"seeds must be at least 1, got {seeds}")
        return list(range(int(seeds)))
    listed = [int(seed) for seed in seeds]
    if not listed:
        raise ValueError("seeds is empty: give a number of seeds or a list of them")
    if len(set(listed)) != len(listed):
        raise ValueError("seeds repeat: every seed gives the same run again")
    return listed


def _checkpoints(horizon: int, most: int) -> np.ndarray:
    """Log-spaced rounds, the last one always."""
    return np.unique(np.round(np.geomspace(1, horizon, min(most, horizon))).astype(np.int64))


def _in_threads(
    run: Callable[[int, threading.Event, Callable[[int], None]], Outcome | None],
    seeds: list[int],
    threads: int | None,
    progress: Progress | None,
    total: int,
) -> dict[int, Outcome | None]:
    stop, lock, done = threading.Event(), threading.Lock(), [0]

    def report(rounds: int) -> None:
        if progress is not None:
            with lock:
                done[0] += rounds
                progress(done[0], total)

    workers = min(threads or os.cpu_count() or 1, len(seeds))
    with ThreadPoolExecutor(workers) as pool:
        futures: dict[int, Future[Outcome | None]] = {s: pool.submit(run, s, stop, report) for s in seeds}
        try:
            _wait(list(futures.values()))
        except KeyboardInterrupt:
            logger.info("interrupted: waiting for the running blocks to end")
        finally:
            stop.set()
    return {seed: None if f.cancelled() else f.result() for seed, f in futures.items()}


def _wait(futures: list[Future[Outcome | None]]) -> None:
    finished, _ = wait(futures, return_when=FIRST_EXCEPTION)
    for future in finished:
        future.result()
