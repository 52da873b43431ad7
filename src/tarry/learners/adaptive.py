"""DW-FTRL whose rate follows the gradients it has seen (this project's own; no regret bound is proved)."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import Any, NamedTuple, Self

from numpy.typing import ArrayLike

from tarry.checks import as_positive
from tarry.domains.base import as_domain
from tarry.learners.base import (
    GRADIENT,
    Directions,
    Learner,
    absorb,
    advance,
    closing_rate,
    enter,
    predict,
    rate_in_force,
    restart,
)
from tarry.learners.dwftrl import LeaderState, follow, leading_rate, restart_leader, show_play
from tarry.learners.norms import Euclidean
from tarry.learners.states import Array, VectorBySlot, add_weighted, keep_play, starting_point
from tarry.rates.base import SLACK, SUM, Facts, Rate, first_rate, last_rate, next_rate


class Growing(Rate):
    """Set η = D / √(2(A₀ + A)), A kept by the learner in the rule's memory."""

    diameter: float
    floor: float

    follows_feedback = True  # and nothing else of the game


@first_rate.on(Growing)
def _first(rate: Growing, memory: Array) -> float:
    return rate.diameter / sqrt(2.0 * rate.floor)


@next_rate.on(Growing)
def _next(rate: Growing, memory: Array, t: int, pending: int) -> float:
    return rate.diameter / sqrt(2.0 * (rate.floor + memory[SUM]))


@last_rate.on(Growing)
def _last(rate: Growing, memory: Array, in_force: float, t: int) -> float:
    return in_force


class AdaptiveState(NamedTuple):
    """The leader, and θ as each tracked round saw it."""

    leader: LeaderState
    seen: VectorBySlot


class Adaptive(Learner, init=False):
    """DW-FTRL with η = D/√(2(A₀ + A)), A₀ = G²/2, where each arrival adds

        A += w‖g‖ (w‖g‖/2 + ‖θ_now − θ_when_played‖),

    θ the running weighted sum of gradients, kept once per tracked round. It needs neither horizon nor
    delays nor acknowledgements, and on easy data it learns several times faster than a rate fixed in
    advance. Weights stay unbiased under it; **no regret bound is proved**.

    >>> from tarry.domains import Ball
    >>> Adaptive(Ball(2), gradient_bound=1.0).rate
    Growing(diameter=2, floor=0.5)
    """

    domain: Any
    rate: Growing
    start: Array
    norm: Euclidean

    feedback = GRADIENT
    state = AdaptiveState

    def __new__(cls, domain: Any, gradient_bound: float, *, start: ArrayLike | None = None) -> Self:
        as_domain(domain, "domain")
        floor = as_positive(gradient_bound, "gradient_bound") ** 2 / 2
        rate = Growing.make(float(domain.diameter), floor)
        return cls.make(domain, rate, starting_point(domain, start), Euclidean())

    def doubts(self, facts: Facts) -> Iterator[str]:
        """Yield a warning about gradients above the bound given."""
        steep, given = facts.gradient_bound, sqrt(2.0 * self.rate.floor)
        if steep is not None and steep > given * (1 + SLACK):
            yield (
                f"Adaptive was given gradient_bound={given:g}, and gradients may be as long as {steep:g} here: give "
                f"gradient_bound={steep:g}"
            )


@restart.on(Adaptive)
def _restart(learner: Adaptive, state: AdaptiveState, t: int, magnitude: float) -> None:
    restart_leader(learner.start, state.leader, t, magnitude)


@predict.on(Adaptive)
def _predict(learner: Adaptive, state: AdaptiveState, directions: Directions, t: int, play: Array) -> None:
    show_play(state.leader, play)


@enter.on(Adaptive)
def _enter(learner: Adaptive, state: AdaptiveState, slot: int, t: int) -> None:
    keep_play(state.leader.total, state.seen, slot)


@absorb.on(Adaptive)
def _absorb(
    learner: Adaptive, state: AdaptiveState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
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
    add_weighted(leader.total, weight, feedback)
    leader.changed[0] = 1


@advance.on(Adaptive)
def _advance(learner: Adaptive, state: AdaptiveState, t: int, pending: int) -> None:
    follow(learner.domain, learner.norm, learner.rate, state.leader, t, pending)


@rate_in_force.on(Adaptive)
@closing_rate.on(Adaptive)
def _in_force(learner: Adaptive, state: AdaptiveState, t: int) -> float:
    return leading_rate(learner.rate, state.leader, t)
