"""Regret matching on delayed and weighted gradients: DORM, and DORM+, which forgets negative regrets."""

from __future__ import annotations

from typing import NamedTuple

from tarry.kernel import step
from tarry.learners.base import Directions, absorb, advance, enter, restart
from tarry.learners.hints import HintedExperts, guess_missing, likened, share_of
from tarry.learners.states import Array, Number, Vector, VectorBySlot, keep_play


class MatchingState(NamedTuple):
    """The play, summed regrets, those of this round, the guess of one round, the hint, Σ w_s, and by slot the plays."""

    point: Vector
    regrets: Vector
    fresh: Vector
    guess: Vector
    hint: Vector
    mass: Number
    plays: VectorBySlot


class Matching(HintedExperts, init=False):
    """Base of regret matching: what DORM and DORM+ share."""

    state = MatchingState


@restart.on(Matching)
def _restart(learner: Matching, state: MatchingState, t: int, magnitude: float) -> None:
    for i in range(state.point.size):
        state.point[i] = 1.0 / state.point.size
        state.regrets[i] = 0.0
        state.fresh[i] = 0.0
        state.guess[i] = 0.0
        state.hint[i] = 0.0
    state.mass[0] = 0.0


@enter.on(Matching)
def _enter(learner: Matching, state: MatchingState, slot: int, t: int) -> None:
    keep_play(state.point, state.plays, slot)


@absorb.on(Matching)
def _absorb(
    learner: Matching, state: MatchingState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
) -> None:
    own = 0.0
    for i in range(feedback.size):
        own += feedback[i] * state.plays[slot, i]
    share = share_of(learner.hint, state.mass, weight)
    for i in range(feedback.size):
        state.guess[i] = likened(learner.hint, share, weight, state.guess[i], own - feedback[i])
        state.fresh[i] += weight * (own - feedback[i])


@step
def match_positive(point: Array) -> None:
    """Keep positive entries, in proportion; even ones where there is none."""
    mass = 0.0
    for i in range(point.size):
        mass += max(0.0, point[i])
    for i in range(point.size):
        point[i] = max(0.0, point[i]) / mass if mass > 0.0 else 1.0 / point.size


class DORM(Matching, init=False):
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


@advance.on(DORM)
def _advance(learner: DORM, state: MatchingState, t: int, pending: int) -> None:
    guess_missing(learner.hint, state.guess, pending, state.hint)
    for i in range(state.point.size):
        state.regrets[i] += state.fresh[i]
        state.fresh[i] = 0.0
        state.point[i] = state.regrets[i] + state.hint[i]
    match_positive(state.point)


class DORMPlus(Matching, init=False):
    """Delayed regret matching+ over ``dimension`` experts; nothing to tune.

        P ← max(0, P + Σ_{s arrives in t} w_s r_s + h_{t+1} − h_t),   r_s = ⟨g_s, x_s⟩ 1 − g_s,   x_{t+1} ∝ P

    with a hint h of the regrets still missing; x_{t+1} is uniform where P = 0.

    Like :class:`DORM`, with the same bound, but regrets never fall below zero, so an expert that was poor for long is
    taken up as soon as it is good. Arrivals of one round are summed before that. Flaspohler et al., Online Learning
    with Optimism and Delay (ICML 2021), with q = 2.

    >>> DORMPlus(2, hint="recent").needs_acknowledgements
    True
    """


@advance.on(DORMPlus)
def _advance_plus(learner: DORMPlus, state: MatchingState, t: int, pending: int) -> None:
    for i in range(state.point.size):
        state.regrets[i] += state.fresh[i] - state.hint[i]
        state.fresh[i] = 0.0
    guess_missing(learner.hint, state.guess, pending, state.hint)
    for i in range(state.point.size):
        state.regrets[i] = max(0.0, state.regrets[i] + state.hint[i])
        state.point[i] = state.regrets[i]
    match_positive(state.point)
