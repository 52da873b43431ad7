"""Online gradient descent, one projected step per feedback, as if nothing were late."""

from __future__ import annotations

from math import sqrt
from typing import Annotated, Any, NamedTuple, Self

import numpy as np

from tarry.checks import as_int, as_positive
from tarry.domains.base import Domain, as_domain, project
from tarry.kernel import KW_ONLY, field, step
from tarry.learners.base import GRADIENT, Directions, Learner, absorb, restart
from tarry.learners.states import AnyDomain, AnyPoint, Array, Memory, Vector, starting_point
from tarry.rates.base import MAGNITUDE, SUM, Constant, Power, RateOfTime, at, inverse_time

COUNT, BEFORE, CHANGED, CLOCKS = range(4)


class DescentState(NamedTuple):
    """``point`` = the iterate, ``total`` = Σ w_s g_s of what has not been applied, ``clock`` = (feedbacks counted,
    rounds of earlier epochs, whether anything came since the last step).
    """

    point: Vector
    total: Vector
    scratch: Vector
    memory: Memory
    clock: Annotated[np.ndarray, (CLOCKS,), np.int64]


class Descending(Learner):
    """Base of projected gradient descents: on a ``domain``, from a ``start``, with a :class:`DescentState`."""

    state = DescentState
    is_movable = True

    @classmethod
    def complete(cls, fields: dict[str, Any]) -> None:
        fields["start"] = starting_point(fields["domain"], fields["start"])


@step
def restart_descent(start: Array, state: DescentState, t: int, magnitude: float) -> None:
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
def descend(domain: Domain, state: DescentState, rate: float, weight: float, gradient: Array) -> None:
    """Step: x ← Π(x − rate · weight · gradient)."""
    # The weight first: then a weighted gradient is the same number here and where sums of them are kept.
    for i in range(state.point.size):
        state.point[i] -= rate * (weight * gradient[i])
    project(domain, state.point, state.scratch)


@restart.on(Descending)
def _restart(learner: Descending, state: DescentState, t: int, magnitude: float) -> None:
    restart_descent(learner.start, state, t, magnitude)


class OGD(Descending):
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

    domain: AnyDomain
    rate: RateOfTime
    _: KW_ONLY
    start: AnyPoint = field(default=None)

    feedback = GRADIENT

    @classmethod
    def falling(cls, domain: Any, gradient_bound: float) -> Self:
        """Set η_n = D/(G√n), Zinkevich's, for any horizon."""
        scale = as_domain(domain, "domain").diameter / as_positive(gradient_bound, "gradient_bound")
        return cls(domain, Power(scale, 0.5))

    @classmethod
    def fixed(cls, domain: Any, gradient_bound: float, horizon: int) -> Self:
        """Set η = D/(G√T)."""
        level = as_positive(gradient_bound, "gradient_bound") * sqrt(as_int(horizon, "horizon", 1))
        return cls(domain, Constant(as_domain(domain, "domain").diameter / level))

    @classmethod
    def strongly_convex(cls, domain: Any, strong_convexity: float) -> Self:
        """Set η_n = 1/(λn), Hazan's."""
        return cls(domain, inverse_time(strong_convexity))

    @classmethod
    def langford(cls, domain: Any, gradient_bound: float, delay: int) -> Self:
        """Set η_n = F/(G√(2τn)), F² = D²/2, for one fixed delay τ ≥ 1: regret at most 4FG√(τT) from T = τ² on.

        With a fixed delay the n-th feedback comes in round n + τ, so this is η_t = F/(G√(2τ(t − τ))). The constant is
        quoted from memory. Langford, Smola, Zinkevich, *Slow Learners are Fast*, NIPS 2009.
        """
        late, steepest = as_int(delay, "delay", 1), as_positive(gradient_bound, "gradient_bound")
        return cls(domain, Power(as_domain(domain, "domain").diameter / (2 * steepest * sqrt(late)), 0.5))


@absorb.on(OGD)
def _absorb(
    learner: OGD, state: DescentState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
) -> None:
    state.clock[COUNT] += 1
    descend(learner.domain, state, at(learner.rate, state.clock[COUNT]), weight, feedback)
