"""Exp3 on delayed and weighted values: exponential weights over arms of which only the played one is seen."""

from __future__ import annotations

from collections.abc import Iterator
from math import log, sqrt
from typing import Any, NamedTuple, Self

import numpy as np

from tarry.checks import as_int, as_nonnegative, as_positive
from tarry.domains import Simplex
from tarry.kernel import Parameters, step
from tarry.learners.actions import Rated, draw_action, even_weights, show_vertex, simplex_of
from tarry.learners.base import (
    VALUE,
    absorb,
    advance,
    allocate,
    closing_rate,
    enter,
    notice,
    predict,
    rate_in_force,
    restart,
)
from tarry.learners.doubts import Facts, outside_unit
from tarry.learners.dwftrl import LeaderState, final_rate, fresh_leader, leading_rate, restart_leader
from tarry.learners.entropic import follow_entropy
from tarry.learners.rules import as_rule, count_tracked

RARE = 2.0**-53  # draws come in steps of this size: an arm less probable is drawn by rounding if at all


class Exp3(Parameters, Rated, init=False):
    """Exponential weights over ``dimension`` arms, from delayed and weighted losses of the arms played.

        A_t ~ x_t, the play is the vertex e_{A_t}
        L_i = Σ_{s∈O_{t+1}} w_s f_s 1{A_s = i} / (x_{s,i} + γ),   x_{t+1} ∝ exp(−η_t L_i)

    over O_{t+1}, what has arrived before round t + 1. The arm and its probability are kept for each tracked round: two
    numbers. γ > 0 is implicit exploration.

    Plays are vertices of the simplex, so the value that comes back is the arm's own loss, which should not be negative.
    ``rate`` is a number, a sequence, a function of t or a rule; it may not increase. For losses in [0, 1] and a
    constant rate the expected weighted regret is at most

        ln K/η + η Σ_t (K E[w_t²] + Σ_{s∈B_t} E[w_t w_s]) + γK Σ_t E[w_t],

    so with unit weights and γ = 0 η = √(ln K/(K·T + total delay)) is best (:meth:`tuned`);
    ``Anytime(√(ln K), 1.0, own=K, waiting=1.0)`` follows the backlog instead. ``exploration`` is γ, at least 0: with
    γ > 0 no estimate exceeds w_s f_s/γ, and regret seldom strays far from its mean (η/2 is usual: :meth:`exploring`).
    With γ = 0 probabilities count as 2^−53 at least, so that all stays finite.

    Exp3 with delays: Cesa-Bianchi, Gentile and Mansour, Delay and Cooperation in Nonstochastic Bandits (JMLR 2019);
    implicit exploration with them: György and Joulani, Adapting to Delays and Data in Adversarial Multi-Armed Bandits
    (ICML 2021); the weights are this project's addition, proved in docs/methods.md.

    >>> round(Exp3.tuned(3, horizon=100, total_delay=400).rate.value, 4)
    0.0396
    """

    domain: Simplex
    rate: Any
    exploration: float
    start: np.ndarray

    feedback = VALUE

    def __new__(cls, dimension: int, rate: Any, *, exploration: float = 0.0) -> Self:
        domain = simplex_of(dimension)
        share = as_nonnegative(exploration, "exploration")
        return cls.make(domain, as_rule(rate, "rate"), share, even_weights(domain.dimension))

    @classmethod
    def tuned(cls, dimension: int, *, horizon: int, total_delay: int, level: float = 1.0) -> Self:
        """η = √(ln K/(level·K·T + total delay)), ``level`` a bound on E[w_t²]: regret 2√(ln K·(level·K·T + …))."""
        actions = simplex_of(dimension).dimension
        rounds = as_positive(level, "level") * actions * as_int(horizon, "horizon", 1)
        return cls(actions, sqrt(log(actions) / (rounds + as_int(total_delay, "total_delay"))))

    @classmethod
    def exploring(cls, dimension: int, *, horizon: int, total_delay: int, level: float = 1.0) -> Self:
        """:meth:`tuned`, with γ = η/2: the bound grows by ηK·T/2, and regret strays less from its mean."""
        rate = cls.tuned(dimension, horizon=horizon, total_delay=total_delay, level=level).rate
        return cls(dimension, rate, exploration=rate.value / 2)

    def doubts(self, facts: Facts) -> Iterator[str]:
        """Losses of arms outside [0, 1]."""
        return outside_unit("Exp3", facts)


class ArmsState(NamedTuple):
    """The leader; the arm drawn last; how many are tracked; by slot the arm of a tracked round and its probability."""

    leader: LeaderState
    drawn: np.ndarray
    tracked: np.ndarray
    arm: np.ndarray
    chance: np.ndarray


def fresh_arms(start: np.ndarray, slots: int) -> ArmsState:
    """The state before the first round."""
    one = np.zeros(1, np.int64)
    return ArmsState(fresh_leader(start), one, one.copy(), np.zeros(slots, np.int64), np.ones(slots))


@step
def play_arm(state: ArmsState, directions: Any, t: int, play: Any) -> None:
    """Draw the arm of round t and play it."""
    state.drawn[0] = draw_action(directions, t, state.leader.point)
    show_vertex(state.drawn[0], play)


@step
def keep_arm(state: ArmsState, slot: int) -> None:
    """Keep the arm just drawn and its probability."""
    state.arm[slot] = state.drawn[0]
    state.chance[slot] = max(RARE, state.leader.point[state.drawn[0]])


@step
def add_loss(state: ArmsState, slot: int, weight: float, loss: float, exploration: float) -> None:
    """Add the loss of the arm in this slot, weighted by how seldom it would have been seen."""
    state.leader.total[state.arm[slot]] += weight * loss / (state.chance[slot] + exploration)
    state.leader.changed[0] = 1


@allocate.on(Exp3)
def _allocate(learner: Exp3, slots: int) -> ArmsState:
    return fresh_arms(learner.start, slots)


@restart.on(Exp3)
def _restart(learner: Any, state: Any, t: Any, magnitude: Any) -> None:
    restart_leader(learner.start, state.leader, t, magnitude)


@predict.on(Exp3)
def _predict(learner: Any, state: Any, directions: Any, t: Any, play: Any) -> None:
    play_arm(state, directions, t, play)


@notice.on(Exp3)
def _notice(learner: Any, state: Any, t: Any, tracked: Any) -> None:
    count_tracked(learner.rate, state.leader.memory, tracked)


@enter.on(Exp3)
def _enter(learner: Any, state: Any, slot: Any, t: Any) -> None:
    keep_arm(state, slot)


@absorb.on(Exp3)
def _absorb(learner: Any, state: Any, directions: Any, slot: Any, s: Any, weight: Any, feedback: Any) -> None:
    add_loss(state, slot, weight, feedback[0], learner.exploration)


@advance.on(Exp3)
def _advance(learner: Any, state: Any, t: Any, pending: Any) -> None:
    follow_entropy(learner.rate, state.leader, t, pending)


@rate_in_force.on(Exp3)
def _in_force(learner: Any, state: Any, t: Any) -> Any:
    return leading_rate(learner.rate, state.leader, t)


@closing_rate.on(Exp3)
def _closing(learner: Any, state: Any, t: Any) -> Any:
    return final_rate(learner.rate, state.leader, t)
