"""Regret matching that forgets negative regrets: DORM+."""

from __future__ import annotations

from typing import Any, Self

from tarry.domains import Simplex
from tarry.kernel import Parameters
from tarry.learners.actions import OnSimplex, simplex_of
from tarry.learners.base import GRADIENT, absorb, advance, allocate, enter, predict, restart
from tarry.learners.dorm import (
    MatchingState,
    add_regrets,
    fresh_matching,
    keep_play,
    match_positive,
    restart_matching,
)
from tarry.learners.hints import Hinted, as_hint, guess_missing


class DORMPlus(Parameters, OnSimplex, Hinted, init=False):
    """Delayed regret matching+ over ``dimension`` experts; nothing to tune.

        P ← max(0, P + Σ_{s arrives in t} w_s r_s + h_{t+1} − h_t),   r_s = ⟨g_s, x_s⟩ 1 − g_s,   x_{t+1} ∝ P

    with a hint h of the regrets still missing; x_{t+1} is uniform where P = 0.

    Like :class:`DORM`, with the same bound, but regrets never fall below zero, so an expert that was poor for long is
    taken up as soon as it is good. Arrivals of one round are summed before that. Flaspohler et al., Online Learning
    with Optimism and Delay (ICML 2021), with q = 2.

    >>> import numpy as np
    >>> from tarry import WeightedGame, delays, domains, losses, simulate
    >>> space, rows = domains.Simplex(2), np.eye(2)[[0, 1, 0]]
    >>> game = WeightedGame(space, losses.Linear(rows), delays.fixed(horizon=3, delay=1), np.ones(3))
    >>> simulate(game, DORMPlus(2), keep_rounds=True).plays()[-1].round(4).tolist()
    [0.0, 1.0]
    """

    domain: Simplex
    hint: int

    feedback = GRADIENT

    def __new__(cls, dimension: int, *, hint: str = "none") -> Self:
        return cls.make(simplex_of(dimension), as_hint(hint))


@allocate.on(DORMPlus)
def _allocate(learner: DORMPlus, slots: int) -> MatchingState:
    return fresh_matching(learner.dimension, slots)


@restart.on(DORMPlus)
def _restart(learner: Any, state: Any, t: Any, magnitude: Any) -> None:
    restart_matching(state)


@predict.on(DORMPlus)
def _predict(learner: Any, state: Any, directions: Any, t: Any, play: Any) -> None:
    for i in range(play.size):
        play[i] = state.point[i]


@enter.on(DORMPlus)
def _enter(learner: Any, state: Any, slot: Any, t: Any) -> None:
    keep_play(state.point, state.plays, slot)


@absorb.on(DORMPlus)
def _absorb(learner: Any, state: Any, directions: Any, slot: Any, s: Any, weight: Any, feedback: Any) -> None:
    add_regrets(state, learner.hint, slot, weight, feedback)


@advance.on(DORMPlus)
def _advance(learner: Any, state: Any, t: Any, pending: Any) -> None:
    for i in range(state.point.size):
        state.regrets[i] += state.fresh[i] - state.hint[i]
        state.fresh[i] = 0.0
    guess_missing(learner.hint, state.guess, pending, state.hint)
    for i in range(state.point.size):
        state.regrets[i] = max(0.0, state.regrets[i] + state.hint[i])
        state.point[i] = state.regrets[i]
    match_positive(state.point)
