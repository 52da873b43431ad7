"""Games set up for timing: everything prepared, so that what is timed is the compiled round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

import tarry
from tarry.game.engine import kind_of
from tarry.game.problem import setting_of
from tarry.game.world import make_log, make_world, run_rounds
from tarry.kernel import Parameters
from tarry.learners.base import queries_of
from tarry.losses.base import fetch
from tarry.tracking import fresh_state, keyed_draws

DIMENSION = 10
SEED = 7


class Cycle(Parameters, init=False):
    """Rows that come round again, so that a longer game reads no more memory than a shorter one."""

    values: np.ndarray

    def __new__(cls, values: np.ndarray) -> Self:
        length = values.shape[0]
        if length & (length - 1):
            raise ValueError(f"a cycle needs a power of two of rows, got {length}")
        return cls.make(values)

    @property
    def width(self) -> int:
        return int(self.values.shape[1])

    @property
    def horizon(self) -> None:
        return None


@fetch.on(Cycle)
def _fetch(rows: Any, t: Any, row: Any) -> None:
    at = (t - 1) & (rows.values.shape[0] - 1)
    for i in range(row.size):
        row[i] = rows.values[at, i]


def some_rows(count: int) -> np.ndarray:
    """Unit vectors with a drift, so that the leader both moves and is projected."""
    rows = np.random.default_rng(SEED).normal(size=(count, DIMENSION)) + 0.1
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def cyclic_losses() -> tarry.losses.Linear:
    return tarry.losses.Linear(Cycle(some_rows(4096)))


def learner(rate: float = 0.01) -> tarry.learners.DWFTRL:
    return tarry.learners.DWFTRL(tarry.domains.Ball(DIMENSION), rate=rate)


class Stage:
    """One game at the compiled loop's door: ``ready()`` is a fresh run, to be timed when called."""

    def __init__(
        self, scheduler: Any, losses: Any, delays: Any, capacity: int, hears: bool = False, chosen: Any = None
    ) -> None:
        self.player = tarry.Player(learner() if chosen is None else chosen, scheduler)
        is_gradient = self.player.learner.feedback == "gradient"
        self.width = DIMENSION if is_gradient else queries_of(self.player.learner)
        self.kind = kind_of(self.player.learner, self.player.learner.feedback)
        self.losses, self.delays, self.capacity = losses, delays, capacity
        self.horizon = int(delays.horizon)
        self.nodes = int(delays.max_backlog) + 2
        self.setting = setting_of(capacity, "semi-clairvoyant", certify=False, hears=hears)
        self.run = run_rounds.dispatcher_for(self.player, losses, delays)

    def ready(self) -> Callable[[], tuple[Any, Any]]:
        """A run from the first round on; call it once for the state and world it leaves."""
        state = fresh_state(self.player, self.capacity, self.capacity)
        world = make_world(DIMENSION, self.width, self.capacity, self.nodes, np.array([self.horizon]))
        arguments = (self.player, self.setting, keyed_draws(SEED), state, self.losses, self.delays)

        def play() -> tuple[Any, Any]:
            self.run(*arguments, self.kind, world, make_log(0, DIMENSION), np.zeros(1, np.int64), 1, self.horizon)
            return state, world

        return play
