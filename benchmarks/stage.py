"""Games set up for timing: everything prepared, so that what is timed is the compiled round."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

import tarry
from tarry.game.run import Stop, make_run
from tarry.game.world import TURN
from tarry.losses.base import RowSource
from tarry.tracking import keyed_draws

DIMENSION = 10
SEED = 7


class Cycle(RowSource, init=False):
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

    def fetch(self, t: int, row: np.ndarray) -> None:
        at = (t - 1) & (self.values.shape[0] - 1)
        for i in range(row.size):
            row[i] = self.values[at, i]


def some_rows(count: int) -> np.ndarray:
    """Unit vectors with a drift, so that the leader both moves and is projected."""
    rows = np.random.default_rng(SEED).normal(size=(count, DIMENSION)) + 0.1
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def cyclic_losses() -> tarry.losses.Linear:
    return tarry.losses.Linear(Cycle(some_rows(4096)))


def learner(rate: float = 0.01) -> tarry.learners.DWFTRL:
    return tarry.learners.DWFTRL(tarry.domains.Ball(DIMENSION), rate=rate)


class Played(NamedTuple):
    """The rules and the tables of a game, without its checks."""

    losses: Any
    delays: Any
    feedback: str
    capacity: int
    information: str = "semi-clairvoyant"
    sizes: None = None


class Stage:
    """One game at the compiled loop's door: ``ready()`` is a fresh run, to be timed when called."""

    def __init__(
        self, scheduler: Any, losses: Any, delays: Any, capacity: int, hears: bool = False, chosen: Any = None
    ) -> None:
        self.player = tarry.Player(learner() if chosen is None else chosen, scheduler)
        self.losses, self.delays, self.capacity = losses, delays, capacity
        self.horizon = int(delays.horizon)
        self.nodes = int(delays.max_backlog) + 2
        game = Played(losses, delays, self.player.learner.feedback, capacity)
        self.run = make_run(game, self.player, checkpoints=np.array([self.horizon]), hears=hears)

    def ready(self) -> Callable[[], tuple[Any, Any]]:
        """A run from the first round on; call it once for the state and world it leaves."""
        buffers = self.run.start(keyed_draws(SEED), nodes=self.nodes + TURN)
        advance = partial(self.run.advance, buffers)

        def play() -> tuple[Any, Any]:
            advance(Stop(), 1, self.horizon)
            return buffers.state, buffers.world

        return play
