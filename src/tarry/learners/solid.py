"""SOLID: one instance of a learner for immediate feedback, fed with late feedback in the order of arrival.

play the base's point;  for every feedback, in the order observed:  base ← update(feedback), one round of its clock
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from tarry.kernel import Parameters
from tarry.learners.base import GRADIENT, absorb, advance, allocate, predict, restart
from tarry.learners.dogd import DOGD
from tarry.learners.dogdsc import DOGDSC
from tarry.learners.dwftrl import DWFTRL
from tarry.learners.ogd import OGD, by_time

IMMEDIATE = (OGD, DOGD, DWFTRL, DOGDSC)


class _SOLIDFields(NamedTuple):
    base: Any


class SOLID(Parameters, _SOLIDFields):
    """A base learner that takes each feedback as a round of its own.

    ``base`` is a learner of gradients with a rate of time alone: OGD, DOGD, DWFTRL or DOGDSC. ``SOLID(OGD(…))`` is
    ``OGD(…)``, which counts feedbacks already; ``SOLID(DWFTRL(…))`` regularises by feedbacks, not rounds. The regret
    is the base's on the sequence as it arrived, plus the drift Σ ⟨g_s, x_s − z_s⟩, z_s the base's point when g_s is
    taken; with OGD of the order √(T + total delay). Feedback of one round comes in increasing s, and that order
    matters. Weights are the base's.

    Joulani, György, Szepesvári, *Delay-Tolerant Online Convex Optimization: Unified Analysis and Adaptive-Gradient
    Algorithms*, AAAI 2016 (whose adaptive steps are not built here).

    >>> from tarry.domains import Ball
    >>> from tarry.learners import DWFTRL
    >>> SOLID(DWFTRL(Ball(2), rate=0.1)).dimension
    2
    """

    __slots__ = ()

    feedback = GRADIENT

    def __new__(cls, base: Any) -> Self:
        return cls.make(as_immediate(base))

    @property
    def domain(self) -> Any:
        return self.base.domain

    @property
    def dimension(self) -> int:
        return int(self.base.dimension)

    def check_horizon(self, horizon: int | None) -> None:
        """Refuse games longer than the base's sequence (None: a session, which has no end)."""
        check_base(self.base, horizon)


def as_immediate(base: Any) -> Any:
    """A learner whose next play needs the feedback of gradients and nothing else, or a sentence saying why not.

    Others keep something by slot, or follow the game's rounds and its backlog: a base hears of neither.
    """
    if isinstance(base, type) or getattr(base, "feedback", None) != GRADIENT:
        raise TypeError(f"base must be a learner of gradients such as OGD(domain, rate=…), got {base!r}")
    if hasattr(base, "rate"):
        by_time(base.rate)
    if hasattr(base, "base"):
        raise TypeError(f"base must be a learner for immediate feedback, got {base!r}, which wraps another")
    if not isinstance(base, IMMEDIATE):
        raise TypeError(
            "base must need gradients and nothing else of the game, which is known of OGD, DOGD, DWFTRL and DOGDSC: "
            f"use one of these, got {type(base).__name__}"
        )
    return base


def check_base(base: Any, horizon: int | None) -> None:
    """Let the base refuse a horizon, if it minds."""
    if hasattr(base, "check_horizon"):
        base.check_horizon(horizon)


class SOLIDState(NamedTuple):
    """The base's state and how many feedbacks it has had."""

    base: Any
    turns: np.ndarray


@allocate.on(SOLID)
def _allocate(learner: SOLID, slots: int) -> SOLIDState:
    return SOLIDState(allocate(learner.base, slots), np.zeros(1, np.int64))


@restart.on(SOLID)
def _restart(learner: Any, state: Any, t: Any, magnitude: Any) -> None:
    restart(learner.base, state.base, 1, magnitude)
    state.turns[0] = 0


@predict.on(SOLID)
def _predict(learner: Any, state: Any, directions: Any, t: Any, play: Any) -> None:
    predict(learner.base, state.base, directions, t, play)


@absorb.on(SOLID)
def _absorb(learner: Any, state: Any, directions: Any, slot: Any, s: Any, weight: Any, feedback: Any) -> None:
    state.turns[0] += 1
    absorb(learner.base, state.base, directions, slot, s, weight, feedback)
    advance(learner.base, state.base, state.turns[0], 0)


@advance.on(SOLID)
def _advance(learner: Any, state: Any, t: Any, pending: Any) -> None:
    pass
