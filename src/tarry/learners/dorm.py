"""Regret matching on delayed and weighted gradients: DORM."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from tarry.domains import Simplex
from tarry.kernel import Parameters, step
from tarry.learners.actions import OnSimplex, even_weights, simplex_of
from tarry.learners.base import GRADIENT, absorb, advance, allocate, enter, predict, restart
from tarry.learners.hints import Hinted, as_hint, guess_missing, likened, share_of


class DORM(Parameters, OnSimplex, Hinted, init=False):
    """Delayed regret matching over ``dimension`` experts; nothing to tune.

        r_s = ⟨g_s, x_s⟩ 1 − g_s,   R = Σ_{s∈O_{t+1}} w_s r_s,   x_{t+1} ∝ max(0, R + h_{t+1})

    over O_{t+1}, what has arrived before round t + 1, with a hint h of the regrets still missing; x_{t+1} is uniform
    where no entry is positive. No rate, no horizon, no bound on gradients. The plays of tracked rounds are kept, since
    r_s needs x_s.

    With m_t = w_t‖r_t‖₂ and no hint the weighted regret is, on every path, at most √Σ_t (m_t² + 2 m_t Σ_{s∈B_t} m_s),
    B_t the rounds out when t begins (docs/methods.md). ``hint`` guesses the missing regrets: "recent", "previous" or
    "mean" (:mod:`tarry.learners.hints`).

    Flaspohler et al., Online Learning with Optimism and Delay (ICML 2021), with q = 2.

    >>> import numpy as np
    >>> from tarry import WeightedGame, delays, domains, losses, simulate
    >>> space, rows = domains.Simplex(2), np.eye(2)[[0, 1, 0]]
    >>> game = WeightedGame(space, losses.Linear(rows), delays.fixed(horizon=3, delay=1), np.ones(3))
    >>> simulate(game, DORM(2), keep_rounds=True).plays()[-1].round(4).tolist()
    [0.0, 1.0]
    """

    domain: Simplex
    hint: int

    feedback = GRADIENT

    def __new__(cls, dimension: int, *, hint: str = "none") -> Self:
        return cls.make(simplex_of(dimension), as_hint(hint))


class MatchingState(NamedTuple):
    """The play, summed regrets, those of this round, the guess of one round, the hint, Σ w_s, and by slot the plays."""

    point: np.ndarray
    regrets: np.ndarray
    fresh: np.ndarray
    guess: np.ndarray
    hint: np.ndarray
    mass: np.ndarray
    plays: np.ndarray


def fresh_matching(dimension: int, slots: int) -> MatchingState:
    """The state before the first round."""
    return MatchingState(
        point=even_weights(dimension),
        regrets=np.zeros(dimension),
        fresh=np.zeros(dimension),
        guess=np.zeros(dimension),
        hint=np.zeros(dimension),
        mass=np.zeros(1),
        plays=np.zeros((slots, dimension)),
    )


@step
def restart_matching(state: MatchingState) -> None:
    """Forget everything."""
    for i in range(state.point.size):
        state.point[i] = 1.0 / state.point.size
        state.regrets[i] = 0.0
        state.fresh[i] = 0.0
        state.guess[i] = 0.0
        state.hint[i] = 0.0
    state.mass[0] = 0.0


@step
def add_regrets(state: MatchingState, hint: int, slot: int, weight: float, gradient: Any) -> None:
    """Add w_s r_s of the round in this slot."""
    own = 0.0
    for i in range(gradient.size):
        own += gradient[i] * state.plays[slot, i]
    share = share_of(hint, state.mass, weight)
    for i in range(gradient.size):
        state.guess[i] = likened(hint, share, weight, state.guess[i], own - gradient[i])
        state.fresh[i] += weight * (own - gradient[i])


@step
def match_positive(point: Any) -> None:
    """Keep positive entries, in proportion; even ones where there is none."""
    mass = 0.0
    for i in range(point.size):
        mass += max(0.0, point[i])
    for i in range(point.size):
        point[i] = max(0.0, point[i]) / mass if mass > 0.0 else 1.0 / point.size


@step
def keep_play(point: Any, plays: Any, slot: int) -> None:
    """Keep the play of the round that enters this slot."""
    for i in range(point.size):
        plays[slot, i] = point[i]


@allocate.on(DORM)
def _allocate(learner: DORM, slots: int) -> MatchingState:
    return fresh_matching(learner.dimension, slots)


@restart.on(DORM)
def _restart(learner: Any, state: Any, t: Any, magnitude: Any) -> None:
    restart_matching(state)


@predict.on(DORM)
def _predict(learner: Any, state: Any, directions: Any, t: Any, play: Any) -> None:
    for i in range(play.size):
        play[i] = state.point[i]


@enter.on(DORM)
def _enter(learner: Any, state: Any, slot: Any, t: Any) -> None:
    keep_play(state.point, state.plays, slot)


@absorb.on(DORM)
def _absorb(learner: Any, state: Any, directions: Any, slot: Any, s: Any, weight: Any, feedback: Any) -> None:
    add_regrets(state, learner.hint, slot, weight, feedback)


@advance.on(DORM)
def _advance(learner: Any, state: Any, t: Any, pending: Any) -> None:
    guess_missing(learner.hint, state.guess, pending, state.hint)
    for i in range(state.point.size):
        state.regrets[i] += state.fresh[i]
        state.fresh[i] = 0.0
        state.point[i] = state.regrets[i] + state.hint[i]
    match_positive(state.point)
