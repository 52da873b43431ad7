"""Follow the leader of the quadratics that have arrived, each centred at its own play."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_positive
from tarry.domains import as_domain, project
from tarry.kernel import Parameters
from tarry.learners.base import GRADIENT, absorb, advance, allocate, enter, predict, restart
from tarry.learners.dorm import keep_play
from tarry.learners.doubts import Facts, flatter
from tarry.learners.dwftrl import starting_point
from tarry.learners.ogd import show_point


class FTL(Parameters, init=False):
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

    domain: Any
    strong_convexity: float
    start: np.ndarray

    feedback = GRADIENT

    def __new__(cls, domain: Any, strong_convexity: float, *, start: ArrayLike | None = None) -> Self:
        as_domain(domain, "domain")
        curvature = as_positive(strong_convexity, "strong_convexity")
        return cls.make(domain, curvature, starting_point(domain, start))

    @property
    def dimension(self) -> int:
        return int(self.start.size)

    def doubts(self, facts: Facts) -> Iterator[str]:
        """Losses that are flatter than λ."""
        return flatter(self, facts, "DOGD or DWFTRL")


class FTLState(NamedTuple):
    """``total`` = Σ w_s g_s, ``anchor`` = Σ w_s x_s, ``mass`` = Σ w_s, ``plays`` by slot."""

    point: np.ndarray
    total: np.ndarray
    anchor: np.ndarray
    mass: np.ndarray
    scratch: np.ndarray
    plays: np.ndarray


@allocate.on(FTL)
def _allocate(learner: FTL, slots: int) -> FTLState:
    k = learner.dimension
    return FTLState(
        point=np.array(learner.start),
        total=np.zeros(k),
        anchor=np.zeros(k),
        mass=np.zeros(1),
        scratch=np.zeros(k),
        plays=np.zeros((slots, k)),
    )


@restart.on(FTL)
def _restart(learner: Any, state: Any, t: Any, magnitude: Any) -> None:
    for i in range(state.point.size):
        state.point[i] = learner.start[i]
        state.total[i] = 0.0
        state.anchor[i] = 0.0
    state.mass[0] = 0.0


@predict.on(FTL)
def _predict(learner: Any, state: Any, directions: Any, t: Any, play: Any) -> None:
    show_point(state.point, play)


@enter.on(FTL)
def _enter(learner: Any, state: Any, slot: Any, t: Any) -> None:
    keep_play(state.point, state.plays, slot)


@absorb.on(FTL)
def _absorb(learner: Any, state: Any, directions: Any, slot: Any, s: Any, weight: Any, feedback: Any) -> None:
    state.mass[0] += weight
    for i in range(state.total.size):
        state.total[i] += weight * feedback[i]
        state.anchor[i] += weight * state.plays[slot, i]


@advance.on(FTL)
def _advance(learner: Any, state: Any, t: Any, pending: Any) -> None:
    if state.mass[0] == 0.0:
        return
    for i in range(state.point.size):
        state.point[i] = (state.anchor[i] - state.total[i] / learner.strong_convexity) / state.mass[0]
    project(learner.domain, state.point, state.scratch)
