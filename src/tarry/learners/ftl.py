"""Follow the leader of the quadratics that have arrived, each centred at its own play."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from tarry.checks import Positive
from tarry.domains import project
from tarry.kernel import KW_ONLY, field
from tarry.learners.base import GRADIENT, Directions, Learner, absorb, advance, enter, restart
from tarry.learners.states import AnyDomain, AnyPoint, Array, Number, Vector, VectorBySlot, keep_play, starting_point
from tarry.rates.base import Facts, warn_if_less_convex


class FTLState(NamedTuple):
    """``total`` = Σ w_s g_s, ``anchor`` = Σ w_s x_s, ``mass`` = Σ w_s, ``plays`` by slot."""

    point: Vector
    total: Vector
    anchor: Vector
    mass: Number
    scratch: Vector
    plays: VectorBySlot


class FTL(Learner):
    """The reduction of late to immediate feedback for λ-strongly convex losses; knows λ only.

        x = argmin_x Σ w_s ( ⟨g_s, x⟩ + (λ/2) |x − x_s|² ) = Π( (Σ w_s x_s − (1/λ) Σ w_s g_s) / Σ w_s )

    over what has arrived. So time is counted in arrivals: nothing moves while nothing comes.

    A loss is at least f_s(x_s) + ⟨g_s, x − x_s⟩ + (λ/2)|x − x_s|², x_s where round s *played*. With unit weights and
    every round tracked the regret is at most ((G + λD)²/λ)(½ + σ_max)(1 + ln T), where λD ≤ 2G (docs/methods.md).
    ``SOLID(DWFTRL(…, inverse_time(λ)))`` centres them where the learner stands when s arrives, ``DWFTRL(…,
    inverse_time(λ))`` at all plays, heard or not; without delay the three are one. A weight w makes w f, which is
    wλ-strongly convex. Keeps the plays of tracked rounds. From values: ``OnePoint(FTL(…), δ)``.

    Ryabchenko, Attias, Roy, *A Reduction from Delayed to Immediate Feedback for Online Convex Optimization with
    Improved Guarantees*, 2026 (arXiv 2602.02634; the idea, from the abstract; the constants are this project's).

    >>> from tarry.domains import Ball
    >>> FTL(Ball(2), strong_convexity=0.5).dimension
    2
    """

    domain: AnyDomain
    strong_convexity: Positive
    _: KW_ONLY
    start: AnyPoint = field(default=None)

    feedback = GRADIENT
    state = FTLState
    is_movable = True

    @classmethod
    def complete(cls, fields: dict[str, Any]) -> None:
        fields["start"] = starting_point(fields["domain"], fields["start"])

    def doubts(self, facts: Facts) -> Iterator[str]:
        """Yield a warning about losses that are flatter than λ."""
        return warn_if_less_convex(self, facts, "DOGD or DWFTRL")


@restart.on(FTL)
def _restart(learner: FTL, state: FTLState, t: int, magnitude: float) -> None:
    for i in range(state.point.size):
        state.point[i] = learner.start[i]
        state.total[i] = 0.0
        state.anchor[i] = 0.0
    state.mass[0] = 0.0


@enter.on(FTL)
def _enter(learner: FTL, state: FTLState, slot: int, t: int) -> None:
    keep_play(state.point, state.plays, slot)


@absorb.on(FTL)
def _absorb(
    learner: FTL, state: FTLState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
) -> None:
    state.mass[0] += weight
    for i in range(state.total.size):
        state.total[i] += weight * feedback[i]
        state.anchor[i] += weight * state.plays[slot, i]


@advance.on(FTL)
def _advance(learner: FTL, state: FTLState, t: int, pending: int) -> None:
    if state.mass[0] == 0.0:
        return  # nothing has come: the start stands
    for i in range(state.point.size):
        state.point[i] = (state.anchor[i] - state.total[i] / learner.strong_convexity) / state.mass[0]
    project(learner.domain, state.point, state.scratch)
