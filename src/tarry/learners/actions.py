"""What learners on the simplex share: finitely many actions, weights that fall with losses, drawing one action."""

from __future__ import annotations

from math import exp

import numpy as np

from tarry.checks import as_int
from tarry.domains import Simplex
from tarry.kernel import step, verb
from tarry.kernel.keyed import uniform
from tarry.learners.base import Directions, KeyedDirections, Learner, RecordedDirections
from tarry.learners.states import Array
from tarry.rates.base import counts_tracked


class OnSimplex(Learner):
    """Base of learners whose ``domain`` is the simplex of their actions."""


class Rated(OnSimplex):
    """Base of learners over actions with a ``rate``."""

    @property
    def watches_tracked(self) -> bool:
        return counts_tracked(self.rate)


def simplex_of(dimension: int) -> Simplex:
    """Return the probability simplex over this many actions, two at least."""
    if isinstance(dimension, Simplex):
        raise TypeError(f"dimension is the number of actions, got {dimension!r}: give {dimension.dimension}")
    return Simplex(as_int(dimension, "dimension, the number of actions,", 2))


def even_weights(dimension: int) -> np.ndarray:
    """Return the uniform distribution."""
    return np.full(dimension, 1.0 / dimension)


@step
def softmin(total: Array, temperature: float, out: Array) -> None:
    """Write weights proportional to exp(−total/temperature); at temperature 0 equal ones on the smallest entries.

    Measured from the smallest entry no exponential overflows and the largest is 1.
    """
    low = total[0]
    for i in range(1, total.size):
        low = min(low, total[i])
    mass = 0.0
    for i in range(total.size):
        if total[i] == low:
            out[i] = 1.0
        elif temperature > 0.0:
            out[i] = exp((low - total[i]) / temperature)
        else:
            out[i] = 0.0
        mass += out[i]
    for i in range(total.size):
        out[i] /= mass


@verb
def draw_action(source: Directions, t: int, weights: Array) -> int:
    """Return the action of round t, drawn from these weights, which add up to 1."""


@draw_action.on(KeyedDirections)
def _by_hash(source: KeyedDirections, t: int, weights: Array) -> int:
    left = uniform(source.key, t)
    chosen = 0
    for i in range(weights.size):
        if weights[i] > 0.0:
            chosen = i  # rounding may leave a little of the uniform: the last possible action takes it
            if left <= weights[i]:
                break
            left -= weights[i]
    return chosen


@draw_action.on(RecordedDirections)
def _by_record(source: RecordedDirections, t: int, weights: Array) -> int:
    chosen = 0  # a recorded direction is the vertex that was played
    for i in range(1, weights.size):
        if source.values[t - 1, i] > source.values[t - 1, chosen]:
            chosen = i
    return chosen


@step
def show_vertex(action: int, play: Array) -> None:
    """Write the vertex of an action as the play."""
    for i in range(play.size):
        play[i] = 0.0
    play[action] = 1.0
