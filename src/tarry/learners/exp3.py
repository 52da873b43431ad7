"""Exp3 on delayed and weighted values: exponential weights over arms of which only the played one is seen."""

from __future__ import annotations

from collections.abc import Iterator
from math import log, sqrt
from typing import Any, NamedTuple, Self

from tarry.checks import as_int, as_nonnegative, as_positive
from tarry.domains import Simplex
from tarry.kernel import step
from tarry.learners.actions import OnSimplex, Rated, draw_action, even_weights, show_vertex, simplex_of
from tarry.learners.base import (
    VALUE,
    Directions,
    absorb,
    advance,
    closing_rate,
    enter,
    notice,
    predict,
    rate_in_force,
    restart,
    warn_if_outside_unit_interval,
)
from tarry.learners.dwftrl import LeaderState, final_rate, leading_rate, restart_leader
from tarry.learners.entropic_ftrl import follow_entropy
from tarry.learners.states import Array, IndexBySlot, Integer, NumberBySlot
from tarry.rates.base import Facts, as_rate, count_tracked

RARE = 2.0**-53  # draws come in steps of this size: an arm less probable is drawn by rounding if at all


class ArmsState(NamedTuple):
    """The leader; the arm drawn last; how many are tracked; by slot the arm of a tracked round and its probability."""

    leader: LeaderState
    drawn: Integer
    tracked: Integer
    arm: IndexBySlot
    chance: NumberBySlot


class Arms(OnSimplex):
    """Base of learners over arms: one is drawn from the leader and played, and only its loss is seen."""

    feedback = VALUE
    state = ArmsState

    def doubts(self, facts: Facts) -> Iterator[str]:
        """Yield a warning about losses of arms outside [0, 1]."""
        return warn_if_outside_unit_interval(type(self).__name__, facts)


@step
def keep_arm(state: ArmsState, slot: int) -> None:
    """Keep the arm just drawn and its probability."""
    state.arm[slot] = state.drawn[0]
    # The probability of now: by the time the loss comes the leader has moved.
    state.chance[slot] = max(RARE, state.leader.point[state.drawn[0]])


@step
def add_loss(state: ArmsState, slot: int, weight: float, loss: float, exploration: float) -> None:
    """Add the loss of the arm in this slot, weighted by how seldom it would have been seen."""
    state.leader.total[state.arm[slot]] += weight * loss / (state.chance[slot] + exploration)
    state.leader.changed[0] = 1


@restart.on(Arms)
def _restart(learner: Arms, state: ArmsState, t: int, magnitude: float) -> None:
    restart_leader(learner.start, state.leader, t, magnitude)


@predict.on(Arms)
def _predict(learner: Arms, state: ArmsState, directions: Directions, t: int, play: Array) -> None:
    state.drawn[0] = draw_action(directions, t, state.leader.point)
    show_vertex(state.drawn[0], play)


class Exp3(Arms, Rated, init=False):
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
    start: Array

    def __new__(cls, dimension: int, rate: Any, *, exploration: float = 0.0) -> Self:
        domain = simplex_of(dimension)
        share = as_nonnegative(exploration, "exploration")
        return cls.make(domain, as_rate(rate, "rate"), share, even_weights(domain.dimension))

    @classmethod
    def tuned(cls, dimension: int, *, horizon: int, total_delay: int, level: float = 1.0) -> Self:
        """Set η = √(ln K/(level·K·T + total delay)), ``level`` a bound on E[w_t²]: regret 2√(ln K·(level·K·T + …))."""
        actions = simplex_of(dimension).dimension
        rounds = as_positive(level, "level") * actions * as_int(horizon, "horizon", 1)
        return cls(actions, sqrt(log(actions) / (rounds + as_int(total_delay, "total_delay"))))

    @classmethod
    def exploring(cls, dimension: int, *, horizon: int, total_delay: int, level: float = 1.0) -> Self:
        """:meth:`tuned`, with γ = η/2: the bound grows by ηK·T/2, and regret strays less from its mean."""
        rate = cls.tuned(dimension, horizon=horizon, total_delay=total_delay, level=level).rate
        return cls(dimension, rate, exploration=rate.value / 2)


@notice.on(Exp3)
def _notice(learner: Exp3, state: ArmsState, t: int, tracked: int) -> None:
    count_tracked(learner.rate, state.leader.memory, tracked)


@enter.on(Exp3)
def _enter(learner: Exp3, state: ArmsState, slot: int, t: int) -> None:
    keep_arm(state, slot)


@absorb.on(Exp3)
def _absorb(
    learner: Exp3, state: ArmsState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
) -> None:
    add_loss(state, slot, weight, feedback[0], learner.exploration)


@advance.on(Exp3)
def _advance(learner: Exp3, state: ArmsState, t: int, pending: int) -> None:
    follow_entropy(learner.rate, state.leader, t, pending)


@rate_in_force.on(Exp3)
def _in_force(learner: Exp3, state: ArmsState, t: int) -> float:
    return leading_rate(learner.rate, state.leader, t)


@closing_rate.on(Exp3)
def _closing(learner: Exp3, state: ArmsState, t: int) -> float:
    return final_rate(learner.rate, state.leader, t)
