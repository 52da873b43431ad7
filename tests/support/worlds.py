"""Members of worlds that react: each small enough to be checked by hand."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from tarry.delays.base import Reacting as ReactingDelays
from tarry.losses.base import Reacting


class Mean(NamedTuple):
    mean: np.ndarray


class Chaser(Reacting):
    """Point against the player: the row of round t is the mean of the plays before it, scaled to norm 1."""

    dimension: int

    @property
    def width(self) -> int:
        return self.dimension

    def largest_norm(self) -> float:
        return 1.0

    def allocate(self) -> Mean:
        return Mean(np.zeros(self.dimension))

    def react(self, state: Mean, t: int, row: np.ndarray) -> None:
        squares = 0.0
        for i in range(row.size):
            squares += state.mean[i] * state.mean[i]
        for i in range(row.size):
            row[i] = state.mean[i] / sqrt(squares) if squares > 0.0 else 1.0 / sqrt(float(row.size))

    def see(self, state: Mean, t: int, play: np.ndarray, slot: int) -> None:
        for i in range(play.size):
            state.mean[i] += (play[i] - state.mean[i]) / t


class Seen(NamedTuple):
    longest: np.ndarray
    rounds: np.ndarray


class Stalling(ReactingDelays):
    """Keep tracked rounds waiting, the longer the more are tracked; longer still where the play moves right."""

    def allocate(self) -> Seen:
        return Seen(np.zeros(1), np.zeros(1, np.int64))

    def react(self, state: Seen, t: int, play: np.ndarray, slot: int, tracked: np.ndarray) -> int:
        state.rounds[0] += 1
        is_record = play[0] > state.longest[0]
        state.longest[0] = max(state.longest[0], play[0])
        if slot < 0:
            return state.rounds[0] % 3
        count = 0
        for i in range(tracked.size):
            if tracked[i] != 0:
                count += 1
        return 2 * count + (5 if is_record else 0)
