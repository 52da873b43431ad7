"""Delayed online gradient descent: one projected step a round, with the sum of what arrived in it."""

from __future__ import annotations

from math import sqrt
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_int, as_positive
from tarry.domains import as_domain
from tarry.kernel import Parameters
from tarry.learners.base import GRADIENT, absorb, advance, allocate, notice, predict, restart
from tarry.learners.dwftrl import starting_point
from tarry.learners.ogd import BEFORE, CHANGED, DescentState, descend, fresh_descent, restart_descent, show_point
from tarry.learners.rules import Constant, as_rule, check_length, count_tracked, next_rate


class DOGD(Parameters, init=False):
    """Delayed online gradient descent.

        x_{t+1} = Π( x_t − η_t Σ_{s∈A_t} w_s g_s ),   A_t = {s : s + d_s = t}

    A_t is what arrives in round t: one projected step with its sum, and x_{t+1} = x_t where nothing came.

    ``rate`` is a number, a sequence, a function of t or a rule, of the round of arrival. With a constant η and unit
    weights the regret is at most D²/(2η) + ηG²(T/2 + d_tot), so GD√(T + 2d_tot) for :meth:`tuned`; proved in
    docs/methods.md, and attained by worst cases up to T = 6. Where no projection is active it *is* DWFTRL. Weights
    multiply gradients, as there.

    Quanrud, Khashabi, *Online Learning with Adversarial Delays*, NIPS 2015.

    >>> from tarry.domains import Ball
    >>> DOGD.tuned(Ball(2), gradient_bound=1.0, horizon=100, total_delay=150).rate
    Constant(value=0.1)
    """

    domain: Any
    rate: Any
    start: np.ndarray

    feedback = GRADIENT

    def __new__(cls, domain: Any, rate: Any, *, start: ArrayLike | None = None) -> Self:
        as_domain(domain, "domain")
        return cls.make(domain, as_rule(rate, "rate"), starting_point(domain, start))

    @classmethod
    def tuned(cls, domain: Any, gradient_bound: float, horizon: int, total_delay: int) -> Self:
        """η = D/(G√(T + 2·total delay)), the explicit one."""
        rounds = as_int(horizon, "horizon", 1) + 2 * as_int(total_delay, "total_delay")
        return cls(domain, _step(domain, gradient_bound, rounds))

    @classmethod
    def original(cls, domain: Any, gradient_bound: float, horizon: int, total_delay: int) -> Self:
        """η = D/(G√(T + total delay)): the order 1/√(T + total delay) of the source, D/G in front."""
        rounds = as_int(horizon, "horizon", 1) + as_int(total_delay, "total_delay")
        return cls(domain, _step(domain, gradient_bound, rounds))

    @property
    def dimension(self) -> int:
        return int(self.start.size)

    @property
    def needs_acknowledgements(self) -> bool:
        return getattr(self.rate, "needs_acknowledgements", False)

    def check_horizon(self, horizon: int | None) -> None:
        """Refuse games longer than the sequence given (None: a session, which has no end)."""
        check_length(self.rate, horizon, "rate")


def _step(domain: Any, gradient_bound: float, rounds: int) -> Constant:
    scale = as_domain(domain, "domain").diameter / as_positive(gradient_bound, "gradient_bound")
    return Constant(scale / sqrt(rounds))


@allocate.on(DOGD)
def _allocate(learner: DOGD, slots: int) -> DescentState:
    return fresh_descent(learner.start)


@restart.on(DOGD)
def _restart(learner: Any, state: Any, t: Any, magnitude: Any) -> None:
    restart_descent(learner.start, state, t, magnitude)


@predict.on(DOGD)
def _predict(learner: Any, state: Any, directions: Any, t: Any, play: Any) -> None:
    show_point(state.point, play)


@notice.on(DOGD)
def _notice(learner: Any, state: Any, t: Any, tracked: Any) -> None:
    count_tracked(learner.rate, state.memory, tracked)


@absorb.on(DOGD)
def _absorb(learner: Any, state: Any, directions: Any, slot: Any, s: Any, weight: Any, feedback: Any) -> None:
    for i in range(state.total.size):
        state.total[i] += weight * feedback[i]
    state.clock[CHANGED] = 1


@advance.on(DOGD)
def _advance(learner: Any, state: Any, t: Any, pending: Any) -> None:
    rate = next_rate(learner.rate, state.memory, t - state.clock[BEFORE], pending)
    if state.clock[CHANGED] == 0:
        return
    descend(learner.domain, state, rate, 1.0, state.total)
    for i in range(state.total.size):
        state.total[i] = 0.0
    state.clock[CHANGED] = 0
