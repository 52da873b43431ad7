"""Online gradient descent, one projected step per feedback, as if nothing were late."""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_int, as_positive
from tarry.domains import as_domain, project
from tarry.kernel import Parameters, step
from tarry.learners.base import GRADIENT, absorb, advance, allocate, predict, restart
from tarry.learners.dwftrl import starting_point
from tarry.learners.rules import MAGNITUDE, MEMORY, SUM, Constant, Power, as_rule, at, check_length, inverse_time

COUNT, BEFORE, CHANGED, CLOCKS = range(4)


class OGD(Parameters, init=False):
    """Projected online gradient descent, applied to feedback as it comes.

        x ← Π( x − η_n w_s g_s )        at the n-th feedback, n = 1, 2, …

    Nothing late: Zinkevich's x_{t+1} = Π(x_t − η_t g_t). Late: the clock of the rate is the number of feedbacks, and
    feedback of one round is taken in increasing s, so its order matters where projections are active.

    ``rate`` is η_n of the n-th feedback: a number, a sequence, a function or a rule of time alone. Without delay and
    with unit weights :meth:`falling` has regret at most 1.5·GD√T, :meth:`fixed` GD√T (attained) and
    :meth:`strongly_convex` (G²/(2λ))(1 + ln T). With delays its theory is silent, but for :meth:`langford`. A weight
    multiplies its gradient: unbiased for linear losses, second moments E[w²] in place of 1.

    Zinkevich, *Online Convex Programming and Generalized Infinitesimal Gradient Ascent*, ICML 2003; Hazan, Agarwal,
    Kale, *Logarithmic Regret Algorithms for Online Convex Optimization*, Machine Learning 69, 2007.

    >>> from tarry.domains import Ball
    >>> OGD.fixed(Ball(2), gradient_bound=1.0, horizon=100).rate
    Constant(value=0.2)
    """

    domain: Any
    rate: Any
    start: np.ndarray

    feedback = GRADIENT

    def __new__(cls, domain: Any, rate: Any, *, start: ArrayLike | None = None) -> Self:
        as_domain(domain, "domain")
        return cls.make(domain, by_time(rate), starting_point(domain, start))

    @classmethod
    def falling(cls, domain: Any, gradient_bound: float) -> Self:
        """η_n = D/(G√n), Zinkevich's, for any horizon."""
        scale = as_domain(domain, "domain").diameter / as_positive(gradient_bound, "gradient_bound")
        return cls(domain, Power(scale, 0.5))

    @classmethod
    def fixed(cls, domain: Any, gradient_bound: float, horizon: int) -> Self:
        """η = D/(G√T)."""
        level = as_positive(gradient_bound, "gradient_bound") * sqrt(as_int(horizon, "horizon", 1))
        return cls(domain, Constant(as_domain(domain, "domain").diameter / level))

    @classmethod
    def strongly_convex(cls, domain: Any, strong_convexity: float) -> Self:
        """η_n = 1/(λn), Hazan's."""
        return cls(domain, inverse_time(strong_convexity))

    @classmethod
    def langford(cls, domain: Any, gradient_bound: float, delay: int) -> Self:
        """η_n = F/(G√(2τn)), F² = D²/2, for one fixed delay τ ≥ 1: regret at most 4FG√(τT) from T = τ² on.

        With a fixed delay the n-th feedback comes in round n + τ, so this is η_t = F/(G√(2τ(t − τ))). The constant is
        quoted from memory. Langford, Smola, Zinkevich, *Slow Learners are Fast*, NIPS 2009.
        """
        late, steepest = as_int(delay, "delay", 1), as_positive(gradient_bound, "gradient_bound")
        return cls(domain, Power(as_domain(domain, "domain").diameter / (2 * steepest * sqrt(late)), 0.5))

    @property
    def dimension(self) -> int:
        return int(self.start.size)

    def check_horizon(self, horizon: int | None) -> None:
        """Refuse games longer than the sequence given (None: a session, which has no end)."""
        check_length(self.rate, horizon, "rate")


def by_time(rate: Any, counts: str = "feedbacks") -> Any:
    """A rule that depends on its clock alone, which ``counts`` something, or a sentence saying why not."""
    rule = as_rule(rate, "rate")
    if not any(isinstance(rule, cls) for cls in at.registry.members):
        raise TypeError(
            f"a rate whose clock is the number of {counts} cannot follow the game as {type(rule).__name__} does: "
            "give a number, a sequence or a rule of time"
        )
    return rule


class DescentState(NamedTuple):
    """``point`` = the iterate, ``total`` = Σ w_s g_s of what has not been applied, ``clock`` as named above.

    Every descending learner keeps this: feedbacks counted, rounds of earlier epochs, whether anything came.
    """

    point: np.ndarray
    total: np.ndarray
    scratch: np.ndarray
    memory: np.ndarray
    clock: np.ndarray


def fresh_descent(start: np.ndarray) -> DescentState:
    """The state before the first round."""
    k = start.size
    return DescentState(np.array(start), np.zeros(k), np.zeros(k), np.zeros(MEMORY), np.zeros(CLOCKS, np.int64))


@step
def restart_descent(start: Any, state: DescentState, t: int, magnitude: float) -> None:
    """Forget everything: round t is the first."""
    for i in range(state.point.size):
        state.point[i] = start[i]
        state.total[i] = 0.0
    state.memory[SUM] = 0.0
    state.memory[MAGNITUDE] = magnitude
    state.clock[COUNT] = 0
    state.clock[BEFORE] = t - 1
    state.clock[CHANGED] = 0


@step
def show_point(point: Any, play: Any) -> None:
    """Write a point as the play."""
    for i in range(play.size):
        play[i] = point[i]


@step
def descend(domain: Any, state: DescentState, rate: float, weight: float, gradient: Any) -> None:
    """x ← Π(x − rate · weight · gradient)."""
    for i in range(state.point.size):
        state.point[i] -= rate * (weight * gradient[i])
    project(domain, state.point, state.scratch)


@allocate.on(OGD)
def _allocate(learner: OGD, slots: int) -> DescentState:
    return fresh_descent(learner.start)


@restart.on(OGD)
def _restart(learner: Any, state: Any, t: Any, magnitude: Any) -> None:
    restart_descent(learner.start, state, t, magnitude)


@predict.on(OGD)
def _predict(learner: Any, state: Any, directions: Any, t: Any, play: Any) -> None:
    show_point(state.point, play)


@absorb.on(OGD)
def _absorb(learner: Any, state: Any, directions: Any, slot: Any, s: Any, weight: Any, feedback: Any) -> None:
    state.clock[COUNT] += 1
    descend(learner.domain, state, at(learner.rate, state.clock[COUNT]), weight, feedback)


@advance.on(OGD)
def _advance(learner: Any, state: Any, t: Any, pending: Any) -> None:
    pass
