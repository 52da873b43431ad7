"""Delayed gradient descent for strongly convex losses: the step falls with the feedback received."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_positive
from tarry.domains import as_domain
from tarry.kernel import Parameters
from tarry.learners.base import GRADIENT, absorb, advance, allocate, predict, restart
from tarry.learners.doubts import Facts, flatter
from tarry.learners.dwftrl import starting_point
from tarry.learners.ogd import CHANGED, DescentState, descend, fresh_descent, restart_descent, show_point
from tarry.learners.rules import SUM


class DOGDSC(Parameters, init=False):
    """DOGD-SC for λ-strongly convex losses: h counts cλ per feedback, ``share`` = c.

        h ← h + c λ Σ_{s∈A_t} w_s,   x_{t+1} = Π( x_t − (1/h) Σ_{s∈A_t} w_s g_s ),   A_t = {s : s + d_s = t}

    h starts at 0; nothing moves where nothing came.

    c = 1 makes it Hazan's descent where nothing is late; the source has, we believe, c = 1/2. Regret of the order
    (G²/λ)·max delay·ln T for unit weights. A weight w makes w f, which is wλ-strongly convex, so it enters h and
    the gradient alike: a zero weight changes nothing. Knows λ only.

    Wan, Tu, Zhang, *Online Strongly Convex Optimization with Unknown Delays*, Machine Learning 111, 2022
    (arXiv 2103.11354).

    >>> import numpy as np
    >>> from tarry import WeightedGame, delays, domains, losses, simulate
    >>> space, rows = domains.Ball(2), np.eye(2)[[0, 1, 0]]
    >>> game = WeightedGame(space, losses.Quadratic(rows, 2.0), delays.fixed(horizon=3, delay=1), np.ones(3))
    >>> simulate(game, DOGDSC(space, strong_convexity=2.0), keep_rounds=True).plays()[-1].round(4).tolist()
    [1.0, 0.0]
    """

    domain: Any
    strong_convexity: float
    share: float
    start: np.ndarray

    feedback = GRADIENT

    def __new__(
        cls, domain: Any, strong_convexity: float, *, share: float = 1.0, start: ArrayLike | None = None
    ) -> Self:
        as_domain(domain, "domain")
        curvature = as_positive(strong_convexity, "strong_convexity")
        return cls.make(domain, curvature, as_positive(share, "share"), starting_point(domain, start))

    @property
    def dimension(self) -> int:
        return int(self.start.size)

    def doubts(self, facts: Facts) -> Iterator[str]:
        """Losses that are flatter than λ."""
        return flatter(self, facts, "DOGD or DWFTRL")


@allocate.on(DOGDSC)
def _allocate(learner: DOGDSC, slots: int) -> DescentState:
    return fresh_descent(learner.start)


@restart.on(DOGDSC)
def _restart(learner: Any, state: Any, t: Any, magnitude: Any) -> None:
    restart_descent(learner.start, state, t, magnitude)


@predict.on(DOGDSC)
def _predict(learner: Any, state: Any, directions: Any, t: Any, play: Any) -> None:
    show_point(state.point, play)


@absorb.on(DOGDSC)
def _absorb(learner: Any, state: Any, directions: Any, slot: Any, s: Any, weight: Any, feedback: Any) -> None:
    state.memory[SUM] += learner.share * learner.strong_convexity * weight
    for i in range(state.total.size):
        state.total[i] += weight * feedback[i]
    state.clock[CHANGED] = 1


@advance.on(DOGDSC)
def _advance(learner: Any, state: Any, t: Any, pending: Any) -> None:
    if state.clock[CHANGED] == 0:
        return
    descend(learner.domain, state, 1.0 / state.memory[SUM], 1.0, state.total)
    for i in range(state.total.size):
        state.total[i] = 0.0
    state.clock[CHANGED] = 0
