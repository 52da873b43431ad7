"""A learner that plays nothing and learns nothing: for tracking labels alone."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from tarry.kernel import Parameters
from tarry.learners.base import absorb, advance, allocate, predict, restart


class Idle(Parameters):
    """No plays, no updates; the labels and their weights go to a model elsewhere.

    >>> allocate(Idle(), 1000).unused.size
    1
    """

    feedback = "label"
    dimension = 0

    def __new__(cls) -> Self:
        return cls.make()


class IdleState(NamedTuple):
    """One unused cell."""

    unused: np.ndarray


@allocate.on(Idle)
def _allocate(learner: Any, slots: int) -> IdleState:
    return IdleState(np.zeros(1))


@restart.on(Idle)
def _restart(learner: Any, state: Any, t: Any, magnitude: Any) -> None:
    pass


@predict.on(Idle)
def _predict(learner: Any, state: Any, directions: Any, t: Any, play: Any) -> None:
    pass


@absorb.on(Idle)
def _absorb(learner: Any, state: Any, directions: Any, slot: Any, s: Any, weight: Any, feedback: Any) -> None:
    pass


@advance.on(Idle)
def _advance(learner: Any, state: Any, t: Any, pending: Any) -> None:
    pass
