"""AdaptiveRevision: per-coordinate steps that are revised when late gradients show they were too long."""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_positive
from tarry.domains import as_domain, project
from tarry.kernel import Parameters
from tarry.learners.base import GRADIENT, absorb, advance, allocate, enter, predict, restart
from tarry.learners.dwftrl import starting_point
from tarry.learners.ogd import show_point


class AdaptiveRevision(Parameters, init=False):
    """Delay-tolerant AdaGrad, coordinate by coordinate; ``scale`` is a, ``floor`` the first z = z′.

        m = b − b_s,   η₀ = a/√z′,   z ← z + g² + 2gm,   z′ ← max(z′, z),   η = a/√z′
        x ← x − ηg + (η₀ − η)m,   b ← b + g          in every coordinate, at the feedback g = w_s g_s of round s

    b is the sum of gradients applied so far, b_s as it was when round s was played; z sums what they have cost, and z′
    is the most that has been.

    Nothing late: AdaGrad. The method lives in the whole space, and projecting its iterate would break the revision;
    so x moves freely and its projection is played, for which no bound is proved. In the whole space, with feedback in
    order, regret of the order |u|√(Σ g² + 2 g·(gradients applied while g was out)) per coordinate, a of the order of
    |u|; the source's constants are not at hand. Weights multiply gradients, in z too. Keeps b_s for every tracked
    round.

    McMahan, Streeter, *Delay-Tolerant Algorithms for Asynchronous Distributed Online Learning*, NIPS 2014.

    >>> import numpy as np
    >>> from tarry import WeightedGame, delays, domains, losses, simulate
    >>> space, rows = domains.Ball(2), np.eye(2)[[0, 1, 0]]
    >>> game = WeightedGame(space, losses.Linear(rows), delays.fixed(horizon=3, delay=1), np.ones(3))
    >>> simulate(game, AdaptiveRevision(space, scale=1.0), keep_rounds=True).plays()[-1].round(4).tolist()
    [-0.7071, 0.0]
    """

    domain: Any
    scale: float
    floor: float
    start: np.ndarray

    feedback = GRADIENT

    def __new__(cls, domain: Any, scale: float, *, floor: float = 1.0, start: ArrayLike | None = None) -> Self:
        as_domain(domain, "domain")
        return cls.make(domain, as_positive(scale, "scale"), as_positive(floor, "floor"), starting_point(domain, start))

    @property
    def dimension(self) -> int:
        return int(self.start.size)


class RevisionState(NamedTuple):
    """``point`` = the play, ``free`` = x, ``applied`` = b, ``level`` = z, ``peak`` = z′, ``seen`` = b_s by slot."""

    point: np.ndarray
    free: np.ndarray
    applied: np.ndarray
    level: np.ndarray
    peak: np.ndarray
    seen: np.ndarray
    scratch: np.ndarray


@allocate.on(AdaptiveRevision)
def _allocate(learner: AdaptiveRevision, slots: int) -> RevisionState:
    k = learner.dimension
    return RevisionState(
        point=np.array(learner.start),
        free=np.array(learner.start),
        applied=np.zeros(k),
        level=np.full(k, learner.floor),
        peak=np.full(k, learner.floor),
        seen=np.zeros((slots, k)),
        scratch=np.zeros(k),
    )


@restart.on(AdaptiveRevision)
def _restart(learner: Any, state: Any, t: Any, magnitude: Any) -> None:
    for i in range(state.point.size):
        state.point[i] = learner.start[i]
        state.free[i] = learner.start[i]
        state.applied[i] = 0.0
        state.level[i] = learner.floor
        state.peak[i] = learner.floor


@predict.on(AdaptiveRevision)
def _predict(learner: Any, state: Any, directions: Any, t: Any, play: Any) -> None:
    show_point(state.point, play)


@enter.on(AdaptiveRevision)
def _enter(learner: Any, state: Any, slot: Any, t: Any) -> None:
    for i in range(state.applied.size):
        state.seen[slot, i] = state.applied[i]


@absorb.on(AdaptiveRevision)
def _absorb(learner: Any, state: Any, directions: Any, slot: Any, s: Any, weight: Any, feedback: Any) -> None:
    for i in range(state.free.size):
        g = weight * feedback[i]
        missed = state.applied[i] - state.seen[slot, i]
        before = learner.scale / sqrt(state.peak[i])
        state.level[i] += g * g + 2.0 * g * missed
        state.peak[i] = max(state.peak[i], state.level[i])
        rate = learner.scale / sqrt(state.peak[i])
        state.free[i] += (before - rate) * missed - rate * g
        state.applied[i] += g


@advance.on(AdaptiveRevision)
def _advance(learner: Any, state: Any, t: Any, pending: Any) -> None:
    for i in range(state.point.size):
        state.point[i] = state.free[i]
    project(learner.domain, state.point, state.scratch)
