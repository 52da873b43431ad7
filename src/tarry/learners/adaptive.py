"""DW-FTRL whose rate follows the gradients it has seen (this project's own; no regret bound is proved)."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_positive
from tarry.domains import as_domain
from tarry.kernel import Parameters
from tarry.learners.base import (
    GRADIENT,
    absorb,
    advance,
    allocate,
    closing_rate,
    enter,
    predict,
    rate_in_force,
    restart,
)
from tarry.learners.doubts import CLOSE, Facts
from tarry.learners.dwftrl import (
    LeaderState,
    follow,
    fresh_leader,
    leading_rate,
    restart_leader,
    show_play,
    starting_point,
)
from tarry.learners.norms import Euclidean
from tarry.learners.rules import SUM, first_rate, last_rate, next_rate


class Growing(Parameters):
    """η = D / √(2(A₀ + A)), A kept by the learner in the rule's memory."""

    diameter: float
    floor: float

    follows_feedback = True  # and nothing else of the game


@first_rate.on(Growing)
def _first(rule: Any, memory: Any) -> Any:
    return rule.diameter / sqrt(2.0 * rule.floor)


@next_rate.on(Growing)
def _next(rule: Any, memory: Any, t: Any, pending: Any) -> Any:
    return rule.diameter / sqrt(2.0 * (rule.floor + memory[SUM]))


@last_rate.on(Growing)
def _last(rule: Any, memory: Any, in_force: Any, t: Any) -> Any:
    return in_force


class Adaptive(Parameters, init=False):
    """DW-FTRL with η = D/√(2(A₀ + A)), A₀ = G²/2, where each arrival adds

        A += w‖g‖ (w‖g‖/2 + ‖θ_now − θ_when_played‖),

    θ the running weighted sum of gradients, kept once per tracked round. It needs neither horizon nor
    delays nor acknowledgements, and on easy data it learns several times faster than a rate fixed in
    advance. Weights stay unbiased under it; **no regret bound is proved**.

    >>> import numpy as np
    >>> from tarry import WeightedGame, delays, domains, losses, simulate
    >>> space, rows = domains.Ball(2), np.eye(2)[[0, 1, 0]]
    >>> game = WeightedGame(space, losses.Linear(rows), delays.fixed(horizon=3, delay=1), np.ones(3))
    >>> simulate(game, Adaptive(space, gradient_bound=1.0), keep_rounds=True).plays()[-1].round(4).tolist()
    [-1.0, 0.0]
    """

    domain: Any
    rate: Growing
    start: np.ndarray
    norm: Euclidean

    feedback = GRADIENT

    def __new__(cls, domain: Any, gradient_bound: float, *, start: ArrayLike | None = None) -> Self:
        as_domain(domain, "domain")
        floor = as_positive(gradient_bound, "gradient_bound") ** 2 / 2
        rate = Growing.make(float(domain.diameter), floor)
        return cls.make(domain, rate, starting_point(domain, start), Euclidean())

    @property
    def dimension(self) -> int:
        return int(self.start.size)

    def doubts(self, facts: Facts) -> Iterator[str]:
        """Gradients above the bound it was given."""
        steep, given = facts.gradient_bound, sqrt(2.0 * self.rate.floor)
        if steep is not None and steep > given * (1 + CLOSE):
            yield (
                f"Adaptive was given gradient_bound={given:g}, and gradients may be as long as {steep:g} here: give "
                f"gradient_bound={steep:g}"
            )


class AdaptiveState(NamedTuple):
    """The leader, and θ as each tracked round saw it."""

    leader: LeaderState
    seen: np.ndarray


@allocate.on(Adaptive)
def _allocate(learner: Adaptive, slots: int) -> AdaptiveState:
    return AdaptiveState(fresh_leader(learner.start), np.zeros((slots, learner.dimension)))


@restart.on(Adaptive)
def _restart(learner: Any, state: Any, t: Any, magnitude: Any) -> None:
    restart_leader(learner.start, state.leader, t, magnitude)


@predict.on(Adaptive)
def _predict(learner: Any, state: Any, directions: Any, t: Any, play: Any) -> None:
    show_play(state.leader, play)


@enter.on(Adaptive)
def _enter(learner: Any, state: Any, slot: Any, t: Any) -> None:
    for i in range(state.leader.total.size):
        state.seen[slot, i] = state.leader.total[i]


@absorb.on(Adaptive)
def _absorb(learner: Any, state: Any, directions: Any, slot: Any, s: Any, weight: Any, feedback: Any) -> None:
    leader = state.leader
    squares = 0.0
    drift = 0.0
    for i in range(leader.total.size):
        squares += feedback[i] * feedback[i]
        moved = leader.total[i] - state.seen[slot, i]
        drift += moved * moved
    size = weight * sqrt(squares)
    leader.memory[SUM] += size * (0.5 * size + sqrt(drift))
    for i in range(leader.total.size):
        leader.total[i] += weight * feedback[i]
    leader.changed[0] = 1


@advance.on(Adaptive)
def _advance(learner: Any, state: Any, t: Any, pending: Any) -> None:
    follow(learner.domain, learner.norm, learner.rate, state.leader, t, pending)


@rate_in_force.on(Adaptive)
def _in_force(learner: Any, state: Any, t: Any) -> Any:
    return leading_rate(learner.rate, state.leader, t)


@closing_rate.on(Adaptive)
def _closing(learner: Any, state: Any, t: Any) -> Any:
    return leading_rate(learner.rate, state.leader, t)
