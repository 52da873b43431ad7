"""Find out which rounds would have been heard, from delays alone.

Which rounds are tracked depends on delays and draws, never on plays or losses. So the one loop plays a game in which
nothing is at stake: an idle learner, losses that are zero, feedback that says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarry.errors import Interrupted
from tarry.game.blocks import Crew, Part
from tarry.game.grants import check_grants, check_sizes
from tarry.game.problem import as_sizes, check_delays
from tarry.game.record import SeedResults
from tarry.game.run import Played, Stop, make_run, refuse_if_large
from tarry.game.simulate import in_threads, seed_list, worker_count
from tarry.kernel import Parameters
from tarry.learners.base import Idle
from tarry.losses.base import value_in
from tarry.tracking import Player, keyed_draws


class NoRows(Parameters):
    """Rows that are never read."""

    width = 1
    horizon = None


class Zero(Parameters):
    """f_t = 0 in every round."""

    rows: NoRows = NoRows()


@value_in.on(NoRows)
def _value_in(rows: NoRows, loss: Zero, t: int, scratch: np.ndarray, x: np.ndarray) -> float:
    return 0.0


class Unplayed(NamedTuple):
    """A game of delays alone."""

    delays: Any
    capacity: int | None
    information: str
    losses: Zero = Zero()
    feedback: str = "label"
    sizes: np.ndarray | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Replay(SeedResults):
    """Which rounds were heard."""

    _made_by = "replay"

    def heard(self, seed: int | None = None) -> NDArray[np.float64]:
        """Return the weight of each round's feedback of a seed, 0 where not used; needs ``keep_rounds=True``."""
        return np.asarray(self._log(seed).weights)

    def __repr__(self) -> str:
        return f"Replay({len(self.seeds)} seeds × {self.horizon} rounds: {self.observed.mean():.1%} of labels seen)"


def replay(
    scheduler: Any,
    delays: Any,
    *,
    capacity: int | None,
    information: str = "semi-clairvoyant",
    preemption: bool = True,
    sizes: Any = None,
    seeds: int | Iterable[int] = 1,
    keep_rounds: bool = False,
    threads: int | None = None,
) -> Replay:
    """Track recorded or modelled delays with a scheduler, without a learner; once per seed, compiled, in threads.

    A game with the same delays, capacity, information and seed tracks the same rounds with the same weights.
    ``keep_rounds`` keeps every event (memory grows with the horizon). ``sizes``, for VarOpt, are an array or a
    function of t.

    >>> from tarry import delays, schedulers
    >>> run = replay(schedulers.VarOpt(), delays.fixed(horizon=100, delay=9), capacity=5, seeds=2)
    >>> run.weights.mean.round(12).tolist(), run.occupancy.peak.tolist()
    ([1.0, 1.0], [5.0, 5.0])
    """
    numbers = seed_list(seeds)
    check_delays(delays, may_react=False)
    player = Player(Idle(), scheduler)
    check_grants(player, feedback="label", capacity=capacity, information=information, preemption=preemption)
    if sizes is not None:
        check_sizes(player)
        sizes = as_sizes(sizes, delays.horizon)
    run = make_run(
        Unplayed(delays, capacity, information, sizes=sizes),
        player,
        checkpoints=np.array([delays.horizon], np.int64),
        keep_rounds=keep_rounds,
        threads=worker_count(numbers, threads),
    )
    if keep_rounds:
        refuse_if_large(8 * 22 * len(numbers) * run.horizon, "keeping every round")
    part = Part(run, numbers[:1], run.start(keyed_draws(0)))
    crew = Crew(part, len(numbers))

    def play(seeds: Sequence[int], stop: Stop, report: Callable[[int], None]) -> list[Played]:
        return crew.play([part._replace(seeds=seeds)], stop, report)

    played, interrupted = in_threads(play, numbers, run.threads, crew.next_size)
    result = Replay(**Replay.books(played)) if played else None
    if interrupted or result is None:
        finished = sum(len(piece.seeds) for piece in played)
        raise Interrupted(f"interrupted: {finished} of {len(numbers)} seeds were replayed", result)
    return result
