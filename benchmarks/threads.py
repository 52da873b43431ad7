"""Seeds in two threads against one.

The best turn of each counts: a machine whose cores are busy elsewhere has but one to give.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import tarry
from benchmarks.measure import TURNS, Figure, Row, interleave
from benchmarks.stage import DIMENSION, learner, some_rows

HORIZON = 10**6
SEEDS = 4


def _play(threads: int) -> Callable[[], None]:
    game = tarry.Game(
        domain=tarry.domains.Ball(DIMENSION),
        losses=tarry.losses.Linear(some_rows(HORIZON)),
        delays=tarry.delays.geometric(horizon=HORIZON, mean=200, rng=1),
        capacity=16,
    )
    return lambda: tarry.simulate(game, tarry.Player(learner()), seeds=SEEDS, threads=threads, bound=False) and None


def _two_threads(_quick: bool) -> Figure:
    plays = {threads: _play(threads) for threads in (1, 2)}
    one, two = interleave([partial(plays.__getitem__, n) for n in plays], 3 * TURNS, time.perf_counter)
    rounds = SEEDS * HORIZON
    speeds = f"{rounds / min(one) / 1e6:.0f} and {rounds / min(two) / 1e6:.0f} million rounds a second"
    detail = f"{speeds}; two threads just now got {_cores(plays[2]):.1f} cores"
    return Figure(min(one) / min(two), detail)


def _cores(play: Callable[[], None]) -> float:
    wall, busy = time.perf_counter(), time.process_time()
    play()
    return (time.process_time() - busy) / (time.perf_counter() - wall)


ROWS = [Row("two threads", 1.7, _two_threads, at_least=True)]
