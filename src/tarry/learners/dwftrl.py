"""DW-FTRL: follow the regularised leader on delayed and weighted gradients, at a given rate or one that adapts."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import Any, ClassVar, NamedTuple, Self

from numpy.typing import ArrayLike

from tarry.checks import as_positive
from tarry.domains.base import Domain, as_domain
from tarry.kernel import KW_ONLY, step, verb_with_default
from tarry.learners import base as verbs
from tarry.learners import states
from tarry.learners.base import GRADIENT, Directions, Learner
from tarry.learners.norms import Euclidean, Norm, as_norm, dual_size, project_in, raise_dual
from tarry.learners.states import AnyDomain, AnyPoint, Array, Integer, Memory, Number, Vector, VectorBySlot
from tarry.rates import base as rates
from tarry.rates.base import MAGNITUDE, SUM, Rate


class LeaderState(NamedTuple):
    """Hold the leader ``point``, ``anchor`` = Σ α_s x_s, ``total`` = Σ w_s g_s; ``before`` = rounds of earlier epochs.

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
    """Share the verbs of learners with a ``rate``, a ``start`` and a leader in their state."""

    feedback = GRADIENT
    state: ClassVar[Any] = LeaderState

    def restart(self, state: Any, t: int, magnitude: float) -> None:
        restart_leader(self.start, leader_of(state), t, magnitude)

    def predict(self, state: Any, directions: Directions, t: int, play: Array) -> None:
        # ``play`` is the same array every round, so a quiet round costs nothing.
        leader = leader_of(state)
        if leader.moved[0] == 0:
            return
        for i in range(play.size):
            play[i] = leader.point[i]
        leader.moved[0] = 0

    def advance(self, state: Any, t: int, pending: float) -> None:
        follow(self.domain, self.norm, self.rate, leader_of(state), t, pending)

    def rate_in_force(self, state: Any, t: int) -> float:
        leader = leader_of(state)
        return rates.first_rate(self.rate, leader.memory) if t <= leader.before[0] + 1 else leader.rate[0]

    def closing_rate(self, state: Any, t: int) -> float:
        leader, in_force = leader_of(state), verbs.rate_in_force(self, state, t)
        return rates.last_rate(self.rate, leader.memory, in_force, t - leader.before[0])


@verb_with_default
def leader_of(state: Any) -> LeaderState:
    """Return the leader inside a state."""
    return state.leader


@leader_of.on(LeaderState)
def _itself(state: LeaderState) -> LeaderState:
    return state


@step
def restart_leader(start: Array, state: LeaderState, t: int, magnitude: float) -> None:
    """Forget everything: round t is the first."""
    states.show_point(start, state.point)
    states.clear(state.anchor)
    states.clear(state.total)
    states.clear(state.rate)
    states.clear(state.inverse_rate)
    states.clear(state.memory)
    state.memory[MAGNITUDE] = magnitude
    state.changed[0] = 0
    state.moved[0] = 1
    state.before[0] = t - 1


@step
def follow(domain: Domain, norm: Norm, rule: Rate, state: LeaderState, t: int, pending: float) -> None:
    """Move the leader to its place after round t."""
    rate = rates.next_rate(rule, state.memory, t - state.before[0], pending)
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


class DWFTRL(Leading):
    """Delayed-weighted FTRL for gradients.

        x_{t+1} = argmin_x ⟨x, Σ_{s∈O_{t+1}} w_s g_s⟩ + Σ_{s≤t} (α_s/2) ‖x − x_s‖²
                = Π( η_t ( Σ_{s≤t} α_s x_s − Σ_{s∈O_{t+1}} w_s g_s ) ),   α_1 + … + α_t = 1/η_t

    over O_{t+1}, what has arrived before round t + 1. ``rate`` is η_t: a number, a sequence, a function of t or a rule;
    it may not increase. ``norm`` is Euclidean, or Mahalanobis on an ellipsoid of that norm. The bound is (A′) of
    docs/theory.md. Ryabchenko, Attias, Roy, *Capacity-Constrained Online Convex Optimization with Delayed Feedback*,
    2026.

    >>> import numpy as np
    >>> from tarry import WeightedGame, delays, domains, losses, simulate
    >>> space, rows = domains.Ball(2), np.eye(2)[[0, 1, 0]]
    >>> game = WeightedGame(space, losses.Linear(rows), delays.fixed(horizon=3, delay=1), np.ones(3))
    >>> simulate(game, DWFTRL(space, rate=0.5), keep_rounds=True).plays()[-1].round(4).tolist()
    [-0.5, 0.0]
    """

    domain: AnyDomain
    rate: rates.AnyRate
    _: KW_ONLY
    start: AnyPoint = None
    norm: Any = None

    @classmethod
    def complete(cls, fields: dict[str, Any]) -> None:
        fields["norm"] = as_norm(fields["norm"], fields["domain"])
        fields["start"] = states.starting_point(fields["domain"], fields["start"])

    @property
    def is_movable(self) -> bool:
        return isinstance(self.norm, Euclidean)

    def absorb(
        self, state: LeaderState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
    ) -> None:
        raise_dual(self.norm, feedback, weight, state.total)
        state.changed[0] = 1

    def feedback_size(self, feedback: Array) -> float:
        return dual_size(self.norm, feedback)


class Growing(rates.Following):
    """Set η = D / √(2(A₀ + A)), A kept by the learner in the rate's memory."""

    diameter: float
    floor: float

    follows_feedback = True  # and nothing else of the game

    def first_rate(self, memory: Array) -> float:
        return self.diameter / sqrt(2.0 * self.floor)

    def next_rate(self, memory: Array, t: int, pending: float) -> float:
        return self.diameter / sqrt(2.0 * (self.floor + memory[SUM]))


class AdaptiveState(NamedTuple):
    """Hold the leader, and θ as each tracked round saw it."""

    leader: LeaderState
    seen: VectorBySlot


class Adaptive(Leading, init=False):
    """DW-FTRL with a rate that follows what arrivals cost.

    The rate is η = D/√(2(A₀ + A)), A₀ = G²/2, where each arrival adds

        A += w‖g‖ (w‖g‖/2 + ‖θ_now − θ_when_played‖),

    θ the running weighted sum of gradients, kept once per tracked round. Needs neither horizon nor delays nor
    acknowledgements. This project's own: weights stay unbiased, **no regret bound is proved**.

    >>> from tarry.domains import Ball
    >>> Adaptive(Ball(2), gradient_bound=1.0).rate
    Growing(diameter=2, floor=0.5)
    """

    domain: Any
    rate: Growing
    start: Array
    norm: Euclidean

    state = AdaptiveState

    def __new__(cls, domain: Any, gradient_bound: float, *, start: ArrayLike | None = None) -> Self:
        as_domain(domain, "domain")
        floor = as_positive(gradient_bound, "gradient_bound") ** 2 / 2
        rate = Growing.make(float(domain.diameter), floor)
        return cls.make(domain, rate, states.starting_point(domain, start), Euclidean())

    def doubts(self, facts: rates.Facts) -> Iterator[str]:
        steep, bound = facts.gradient_bound, sqrt(2.0 * self.rate.floor)
        if steep is not None and steep > bound * (1 + rates.SLACK):
            yield (
                f"Adaptive was given gradient_bound={bound:g}, and gradients may be as long as {steep:g} here: give "
                f"gradient_bound={steep:g}"
            )

    def enter(self, state: AdaptiveState, slot: int, t: int) -> None:
        states.keep_play(state.leader.total, state.seen, slot)

    def absorb(
        self, state: AdaptiveState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
    ) -> None:
        leader = state.leader
        squares = 0.0
        drift = 0.0
        for i in range(leader.total.size):
            squares += feedback[i] * feedback[i]
            moved = leader.total[i] - state.seen[slot, i]
            drift += moved * moved
        # Before the gradient joins the sum: its own length is not drift.
        size = weight * sqrt(squares)
        leader.memory[SUM] += size * (0.5 * size + sqrt(drift))
        states.add_weighted(leader.total, weight, feedback)
        leader.changed[0] = 1
