"""DUB: exponential weights whose temperature is an upper bound on what delays may have cost."""

from __future__ import annotations

from math import log, sqrt
from typing import Annotated, NamedTuple, Self

import numpy as np

from tarry.domains import Simplex
from tarry.kernel import step
from tarry.learners.actions import OnSimplex, simplex_of, softmin
from tarry.learners.adahedged import largest_entry
from tarry.learners.base import GRADIENT, Directions, absorb, advance, enter, restart
from tarry.learners.hints import Hinted, as_hint, guess_missing, liken
from tarry.learners.states import Array, Number, NumberBySlot, Vector, VectorBySlot

ARRIVED, LARGEST, SQUARES = range(3)


class DUBState(NamedTuple):
    """``sums`` = (Σ a, its largest part while a round was out, Σ (a² + 2b ln K)); by slot θ + h and Σ a at the play."""

    point: Vector
    total: Vector
    guess: Vector
    hint: Vector
    mass: Number
    scratch: Vector
    sums: Annotated[np.ndarray, (3,)]
    seen: VectorBySlot
    arrived: NumberBySlot


class DUB(OnSimplex, Hinted, init=False):
    """Exponential weights over ``dimension`` experts, tuned by the delayed upper bound; nothing to know.

        x_{t+1} ∝ exp(−(θ + h_{t+1})_i/λ),   θ = Σ w_s g_s over what has arrived,   h a hint
        λ = (2 max_s Σ_{r arrived while s was out} a_r + √Σ_s (a_s² + 2 ln K · b_s)) / ln K
        a_s = 2 min(‖g‖, ‖o‖),   b_s = ‖o‖²/2 − max(0, ‖o‖ − ‖g‖)²/2

    where, as s arrives, g = w_s g_s and o is the sum of what has arrived since x_s was made, g included, less the hint
    of then; sup norms.

    More careful than :class:`AdaHedgeD`, and cheaper: of each tracked round only θ and one number are kept. ``hint``
    guesses the missing gradients: "recent", "previous" or "mean" (:mod:`tarry.learners.hints`). Flaspohler et al.,
    Online Learning with Optimism and Delay (ICML 2021).

    >>> import numpy as np
    >>> from tarry import WeightedGame, delays, domains, losses, simulate
    >>> space, rows = domains.Simplex(2), np.eye(2)[[0, 1, 0]]
    >>> game = WeightedGame(space, losses.Linear(rows), delays.fixed(horizon=3, delay=1), np.ones(3))
    >>> simulate(game, DUB(2), keep_rounds=True).plays()[-1].round(4).tolist()
    [0.4207, 0.5793]
    """

    domain: Simplex
    hint: int

    feedback = GRADIENT
    state = DUBState

    def __new__(cls, dimension: int, *, hint: str = "none") -> Self:
        return cls.make(simplex_of(dimension), as_hint(hint))


@restart.on(DUB)
def _restart(learner: DUB, state: DUBState, t: int, magnitude: float) -> None:
    for i in range(state.point.size):
        state.point[i] = 1.0 / state.point.size
        state.total[i] = 0.0
        state.guess[i] = 0.0
        state.hint[i] = 0.0
    state.mass[0] = 0.0
    for i in range(state.sums.size):
        state.sums[i] = 0.0


@enter.on(DUB)
def _enter(learner: DUB, state: DUBState, slot: int, t: int) -> None:
    for i in range(state.total.size):
        state.seen[slot, i] = state.total[i] + state.hint[i]
    state.arrived[slot] = state.sums[ARRIVED]


@step
def temperature_of(sums: Array, dimension: int) -> float:
    """Return λ."""
    return (2.0 * sums[LARGEST] + sqrt(sums[SQUARES])) / log(dimension)


@absorb.on(DUB)
def _absorb(
    learner: DUB, state: DUBState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
) -> None:
    sums = state.sums
    for i in range(state.total.size):
        state.total[i] += weight * feedback[i]
        state.scratch[i] = state.total[i] - state.seen[slot, i]
    liken(learner.hint, state.mass, weight, feedback, state.guess)
    size, error = weight * largest_entry(feedback), largest_entry(state.scratch)
    beyond = max(0.0, error - size)
    own = 2.0 * min(size, error)
    sums[LARGEST] = max(sums[LARGEST], sums[ARRIVED] - state.arrived[slot])
    sums[ARRIVED] += own
    sums[SQUARES] += own * own + log(state.total.size) * (error * error - beyond * beyond)


@advance.on(DUB)
def _advance(learner: DUB, state: DUBState, t: int, pending: int) -> None:
    guess_missing(learner.hint, state.guess, pending, state.hint)
    for i in range(state.total.size):
        state.scratch[i] = state.total[i] + state.hint[i]
    softmin(state.scratch, temperature_of(state.sums, state.total.size), state.point)
