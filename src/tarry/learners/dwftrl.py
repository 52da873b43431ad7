"""DW-FTRL: follow the regularised leader on delayed and weighted gradients."""

from __future__ import annotations

from typing import Any, NamedTuple

from tarry.domains import Domain
from tarry.kernel import KW_ONLY, field, step
from tarry.learners.base import (
    GRADIENT,
    Directions,
    Learner,
    absorb,
    advance,
    closing_rate,
    feedback_size,
    notice,
    predict,
    rate_in_force,
    restart,
)
from tarry.learners.norms import Euclidean, Norm, as_norm, dual_size, project_in, raise_dual
from tarry.learners.states import AnyDomain, AnyPoint, Array, Integer, Memory, Number, Vector, starting_point
from tarry.rates.base import MAGNITUDE, SUM, AnyRate, Rate, count_tracked, first_rate, last_rate, next_rate


class LeaderState(NamedTuple):
    """``point`` = the leader, ``anchor`` = Σ α_s x_s, ``total`` = Σ w_s g_s; ``before`` = rounds of earlier epochs.

    ``changed`` = feedback came since the leader moved, ``moved`` = the leader moved since it was shown.
    """

    point: Vector
    anchor: Vector
    total: Vector
    scratch: Vector
    rate: Number
    inverse_rate: Number
    memory: Memory
    changed: Integer
    moved: Integer
    before: Integer


class Leading(Learner):
    """Base of learners that follow a regularised leader: with a ``rate``, a ``start`` and a :class:`LeaderState`."""

    state = LeaderState


@step
def restart_leader(start: Array, state: LeaderState, t: int, magnitude: float) -> None:
    """Forget everything: round t is the first."""
    for i in range(state.point.size):
        state.point[i] = start[i]
        state.anchor[i] = 0.0
        state.total[i] = 0.0
    state.rate[0] = 0.0
    state.inverse_rate[0] = 0.0
    state.memory[SUM] = 0.0
    state.memory[MAGNITUDE] = magnitude
    state.changed[0] = 0
    state.moved[0] = 1
    state.before[0] = t - 1


@step
def show_play(state: LeaderState, play: Array) -> None:
    """Write the leader as the play, unless it stands there already."""
    # ``play`` is the same array every round, so a quiet round costs nothing.
    if state.moved[0] == 0:
        return
    for i in range(play.size):
        play[i] = state.point[i]
    state.moved[0] = 0


@step
def leading_rate(rule: Rate, state: LeaderState, t: int) -> float:
    """Return η_{t−1}, the rate that made x_t."""
    return first_rate(rule, state.memory) if t <= state.before[0] + 1 else state.rate[0]


@step
def final_rate(rule: Rate, state: LeaderState, t: int) -> float:
    """Return η_t if the game ended after round t."""
    return last_rate(rule, state.memory, leading_rate(rule, state, t), t - state.before[0])


@step
def follow(domain: Domain, norm: Norm, rule: Rate, state: LeaderState, t: int, pending: int) -> None:
    """Move the leader to its place after round t."""
    rate = next_rate(rule, state.memory, t - state.before[0], pending)
    if rate != state.rate[0]:
        # α_t = 1/η_t − 1/η_{t−1}: the inverse is kept, so that the α add up to 1/η_t without rounding twice.
        increment = 1.0 / rate - state.inverse_rate[0]
        state.rate[0] = rate
        state.inverse_rate[0] = 1.0 / rate
        for i in range(state.point.size):
            state.anchor[i] += increment * state.point[i]
    elif state.changed[0] == 0:
        return  # same rate, no news: the leader stands
    for i in range(state.point.size):
        state.point[i] = rate * (state.anchor[i] - state.total[i])
    project_in(norm, domain, state.point, state.scratch)
    state.changed[0] = 0
    state.moved[0] = 1


@restart.on(Leading)
def _restart(learner: Leading, state: LeaderState, t: int, magnitude: float) -> None:
    restart_leader(learner.start, state, t, magnitude)


@predict.on(Leading)
def _predict(learner: Leading, state: LeaderState, directions: Directions, t: int, play: Array) -> None:
    show_play(state, play)


@notice.on(Leading)
def _notice(learner: Leading, state: LeaderState, t: int, tracked: int) -> None:
    count_tracked(learner.rate, state.memory, tracked)


@advance.on(Leading)
def _advance(learner: Leading, state: LeaderState, t: int, pending: int) -> None:
    follow(learner.domain, learner.norm, learner.rate, state, t, pending)


@rate_in_force.on(Leading)
def _in_force(learner: Leading, state: LeaderState, t: int) -> float:
    return leading_rate(learner.rate, state, t)


@closing_rate.on(Leading)
def _closing(learner: Leading, state: LeaderState, t: int) -> float:
    return final_rate(learner.rate, state, t)


@feedback_size.on(Leading)
def _size(learner: Leading, feedback: Array) -> float:
    return dual_size(learner.norm, feedback)


class DWFTRL(Leading):
    """Delayed-weighted FTRL for gradients.

        x_{t+1} = argmin_x ⟨x, Σ_{s∈O_{t+1}} w_s g_s⟩ + Σ_{s≤t} (α_s/2) ‖x − x_s‖²
                = Π( η_t ( Σ_{s≤t} α_s x_s − Σ_{s∈O_{t+1}} w_s g_s ) ),   α_1 + … + α_t = 1/η_t

    over O_{t+1}, what has arrived before round t + 1; so two running vectors are all it keeps.

    ``rate`` is a number, a sequence, a function of t or a rule; it may not increase.
    ``start`` defaults to the domain's centre. ``norm`` is Euclidean, or Mahalanobis on an ellipsoid
    of that norm. Without active projections it is delayed gradient descent with the step of the
    arrival round. The bound is (A) of docs/theory.md.

    Ryabchenko, Attias, Roy, *Capacity-Constrained Online Convex Optimization with Delayed Feedback*, 2026.

    >>> import numpy as np
    >>> from tarry import WeightedGame, delays, domains, losses, simulate
    >>> space, rows = domains.Ball(2), np.eye(2)[[0, 1, 0]]
    >>> game = WeightedGame(space, losses.Linear(rows), delays.fixed(horizon=3, delay=1), np.ones(3))
    >>> simulate(game, DWFTRL(space, rate=0.5), keep_rounds=True).plays()[-1].round(4).tolist()
    [-0.5, 0.0]
    """

    domain: AnyDomain
    rate: AnyRate
    _: KW_ONLY
    start: AnyPoint = field(default=None)
    norm: Any = field(default=None)

    feedback = GRADIENT

    @classmethod
    def complete(cls, fields: dict[str, Any]) -> None:
        fields["norm"] = as_norm(fields["norm"], fields["domain"])
        fields["start"] = starting_point(fields["domain"], fields["start"])

    @property
    def is_movable(self) -> bool:
        return isinstance(self.norm, Euclidean)


@absorb.on(DWFTRL)
def _absorb(
    learner: DWFTRL, state: LeaderState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
) -> None:
    raise_dual(learner.norm, feedback, weight, state.total)
    state.changed[0] = 1
