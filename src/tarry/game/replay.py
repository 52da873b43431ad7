"""replay: who would have been heard, from delays alone.

Who is tracked depends on delays and draws, never on plays or losses. So the one loop plays a game in which nothing
is at stake: an idle learner, losses that are zero, feedback that says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from tarry.errors import Interrupted
from tarry.game.books import Books, Occupancy, books_of, events_of
from tarry.game.engine import Outcome, Stop, Task, compile_for, play
from tarry.game.memory import refuse_if_large
from tarry.game.problem import check_grants, setting_of
from tarry.game.seeds import in_threads, seed_list, worker_count
from tarry.game.world import Log
from tarry.kernel import Parameters
from tarry.learners.base import Idle
from tarry.losses.base import value_in
from tarry.results import FATES, Weights
from tarry.tracking import Player, keyed_draws

if TYPE_CHECKING:
    import polars as pl


class NoRows(Parameters):
    """Rows that nobody reads."""

    width = 1
    horizon = None

    def __new__(cls) -> Self:
        return cls.make()


class Zero(Parameters, init=False):
    """f_t = 0 in every round."""

    rows: NoRows

    def __new__(cls) -> Self:
        return cls.make(NoRows())


@value_in.on(NoRows)
def _value_in(rows: Any, loss: Any, t: Any, scratch: Any, x: Any) -> Any:
    return 0.0


@dataclass(frozen=True)
class Replay:
    """Who was heard: ``fates`` (a row per seed, a column per Fate), and per seed moments of weights and the set."""

    seeds: list[int]
    horizon: int
    capacity: int | None
    fates: NDArray[np.int64]
    weights: Weights
    occupancy: Occupancy
    _logs: list[Log | None] = field(default_factory=list, repr=False)

    @classmethod
    def build(cls, seeds: list[int], horizon: int, capacity: int | None, outcomes: list[Outcome]) -> Replay:
        """From finished seeds."""
        books: Books = books_of(outcomes, horizon)
        return cls(seeds, horizon, capacity, *books, _logs=[outcome.log for outcome in outcomes])

    @property
    def observed(self) -> NDArray[np.float64]:
        """The share of rounds whose feedback was used, per seed."""
        return np.asarray(self.fates[:, 0] / self.horizon)

    @property
    def ledger(self) -> pl.DataFrame:
        """Rounds by fate, per seed; each row sums to the horizon."""
        import polars as pl

        return pl.DataFrame({"seed": self.seeds, **{name: self.fates[:, i] for i, name in enumerate(FATES)}})

    def events(self, seed: int | None = None) -> pl.DataFrame:
        """What happened under a seed (default: the first), in order; needs ``keep_rounds=True``.

        Columns t, event, s, weight; who was heard, when and with what weight are the "feedback" events.
        """
        return events_of(self._log(seed))

    def heard(self, seed: int | None = None) -> NDArray[np.float64]:
        """The weight of each round's feedback under a seed (default: the first), 0 where it was not used.

        Needs ``keep_rounds=True``.
        """
        return np.asarray(self._log(seed).weights)

    def _log(self, seed: int | None) -> Log:
        if seed is not None and seed not in self.seeds:
            raise ValueError(f"there is no seed {seed} in this replay, only {self.seeds}")
        log = self._logs[0 if seed is None else self.seeds.index(seed)]
        if log is None:
            raise ValueError("rounds were not kept: run replay(…, keep_rounds=True)")
        return log


def replay(
    scheduler: Any,
    delays: Any,
    *,
    capacity: int | None,
    information: str = "semi-clairvoyant",
    preemption: bool = True,
    seeds: int | Iterable[int] = 1,
    keep_rounds: bool = False,
    threads: int | None = None,
) -> Replay:
    """Track recorded or modelled delays with a scheduler, without a learner; once per seed, compiled, in threads.

    A game with the same delays, capacity, information and seed tracks the same rounds with the same weights.
    ``keep_rounds`` keeps every event (memory grows with the horizon).

    >>> from tarry import delays, schedulers
    >>> run = replay(schedulers.VarOpt(), delays.fixed(horizon=100, delay=9), capacity=5, seeds=2)
    >>> run.weights.mean.round(12).tolist(), run.occupancy.peak.tolist()
    ([1.0, 1.0], [5.0, 5.0])
    """
    chosen = seed_list(seeds)
    workers = worker_count(chosen, threads)
    task = _task(scheduler, delays, capacity, information, preemption, workers)._replace(keep_rounds=keep_rounds)
    if keep_rounds:
        refuse_if_large(8 * 22 * len(chosen) * int(delays.horizon), "keeping every round")
    compile_for(task)

    def run(seed: int, stop: Stop, report: Callable[[int], None]) -> tuple[int, Outcome] | None:
        outcome = None if stop.is_set() else play(task._replace(draws=keyed_draws(seed)), stop, report)
        return None if outcome is None else (seed, outcome)

    finished, interrupted = in_threads(run, chosen, workers)
    horizon = int(delays.horizon)
    made = Replay.build([s for s, _ in finished], horizon, capacity, [o for _, o in finished]) if finished else None
    if interrupted or made is None:
        raise Interrupted(f"interrupted: {len(finished)} of {len(chosen)} seeds were replayed", made)
    return made


def _task(scheduler: Any, delays: Any, capacity: int | None, information: str, preemption: bool, workers: int) -> Task:
    if not hasattr(delays, "horizon"):
        raise TypeError("delays must be made by tarry.delays, for example tarry.delays.array(values)")
    player = Player(Idle(), scheduler)
    check_grants(player, feedback="label", capacity=capacity, information=information, preemption=preemption)
    return Task(
        player=player,
        setting=setting_of(capacity, information, certify=False, hears=player.scheduler.needs_acknowledgements),
        draws=keyed_draws(0),
        losses=Zero(),
        delays=delays,
        feedback="label",
        rounds=np.array([delays.horizon], np.int64),
        keep_rounds=False,
        allow_large=False,
        threads=workers,
    )
