"""SOLID: one instance of a learner for immediate feedback, fed with late feedback in the order of arrival."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from tarry.learners.base import GRADIENT, Directions, absorb, advance, allocate, enter, predict, restart
from tarry.learners.reductions import Reducing, as_immediate
from tarry.learners.states import Array, show_point


def _as_base(base: Any, name: str) -> Any:
    return as_immediate(base, GRADIENT)


class SOLID(Reducing):
    """A base learner that takes each feedback as a round of its own.

        x_t = the base's point;   for every feedback, in the order observed:   base ← its update, one round of its clock

    ``base`` is a learner of gradients, yours too, but for rates that follow the game and what is a reduction itself. It
    plays a game without delay, in which g_s is the gradient at z_s, its point when g_s is taken: nothing is ever
    pending, and what it remembers of a play it remembers of z_s. ``SOLID(OGD(…))`` is ``OGD(…)``, which counts
    feedbacks already; ``SOLID(DWFTRL(…))`` regularises by feedbacks, not rounds. The regret is the base's on the
    sequence as it arrived, plus the drift Σ ⟨g_s, x_s − z_s⟩; with OGD of the order √(T + total delay). Feedback of
    one round comes in increasing s, and that order matters. Weights are the base's. Values are of the point played,
    not of z_s: for them wrap the other way round, ``OnePoint(SOLID(…))``.

    Joulani, György, Szepesvári, *Delay-Tolerant Online Convex Optimization: Unified Analysis and Adaptive-Gradient
    Algorithms*, AAAI 2016 (whose adaptive steps are not built here).

    >>> from tarry.domains import Ball
    >>> from tarry.learners import DWFTRL
    >>> SOLID(DWFTRL(Ball(2), rate=0.1)).dimension
    2
    """

    base: Annotated[Any, _as_base]

    feedback = GRADIENT


class SOLIDState(NamedTuple):
    """The base's state, its point as it was shown last, and how many feedbacks it has had."""

    base: Any
    point: np.ndarray
    turns: np.ndarray


@allocate.on(SOLID)
def _allocate(learner: SOLID, slots: int) -> SOLIDState:
    return SOLIDState(allocate(learner.base, slots), np.zeros(learner.dimension), np.zeros(1, np.int64))


@restart.on(SOLID)
def _restart(learner: SOLID, state: SOLIDState, t: int, magnitude: float) -> None:
    restart(learner.base, state.base, 1, magnitude)
    state.turns[0] = 0


@predict.on(SOLID)
def _predict(learner: SOLID, state: SOLIDState, directions: Directions, t: int, play: Array) -> None:
    predict(learner.base, state.base, directions, t, state.point)
    show_point(state.point, play)


@absorb.on(SOLID)
def _absorb(
    learner: SOLID, state: SOLIDState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
) -> None:
    state.turns[0] += 1
    predict(learner.base, state.base, directions, s, state.point)
    enter(learner.base, state.base, slot, s)
    absorb(learner.base, state.base, directions, slot, s, weight, feedback)
    advance(learner.base, state.base, state.turns[0], 0)
