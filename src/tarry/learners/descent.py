"""Gradient descent: one projected step per feedback (OGD), or one a round with the sum of what arrived (DOGD)."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import Annotated, Any, NamedTuple, Self

import numpy as np

from tarry.checks import Positive, as_int, as_nonnegative, as_positive
from tarry.domains.base import Domain, as_domain, project
from tarry.kernel import KW_ONLY, step
from tarry.learners.base import Directions, Starting
from tarry.learners.states import AnyDomain, AnyPoint, Array, Memory, Vector, add_weighted, clear, show_point
from tarry.rates import base as rates
from tarry.rates.base import MAGNITUDE, SUM

COUNT, BEFORE, CHANGED, CLOCKS = range(4)  # of ``DescentState.clock``


class DescentState(NamedTuple):
    """Hold the iterate ``point`` and ``total`` = Σ w_s g_s of what has not been applied.

    ``clock`` = (feedbacks counted, rounds of earlier epochs, whether anything came since the last step).
    """

    point: Vector
    total: Vector
    scratch: Vector
    memory: Memory
    clock: Annotated[np.ndarray, (CLOCKS,), np.int64]


class Descending(Starting):
    """Share state and start among projected gradient descents on a ``domain``."""

    state = DescentState
    is_movable = True

    def restart(self, state: DescentState, t: int, magnitude: float) -> None:
        restart_descent(self.start, state, t, magnitude)


@step
def restart_descent(start: Array, state: DescentState, t: int, magnitude: float) -> None:
    """Forget everything: round t is the first."""
    show_point(start, state.point)
    clear(state.total)
    clear(state.memory)
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


class OGD(Descending):
    """Projected online gradient descent, applied to feedback as it comes.

        x ← Π( x − η_n w_s g_s )        at the n-th feedback, n = 1, 2, …

    ``rate`` is η_n: a number, a sequence, a function or a rule of time alone. Without delay and with unit weights
    :meth:`falling` has regret at most 1.5·GD√T, :meth:`fixed` GD√T (attained) and :meth:`strongly_convex`
    (G²/(2λ))(1 + ln T). With delays a constant η has the bounds of :class:`DOGD`, and :meth:`langford` its own.
    Zinkevich, *Online Convex Programming and Generalized Infinitesimal Gradient Ascent*, ICML 2003; Hazan, Agarwal,
    Kale, *Logarithmic Regret Algorithms for Online Convex Optimization*, Machine Learning 69, 2007.

    >>> from tarry.domains import Ball
    >>> OGD.fixed(Ball(2), gradient_bound=1.0, horizon=100).rate
    Constant(value=0.2)
    """

    domain: AnyDomain
    rate: rates.RateOfTime
    _: KW_ONLY
    start: AnyPoint = None

    @classmethod
    def falling(cls, domain: Any, gradient_bound: float) -> Self:
        """Set η_n = D/(G√n), Zinkevich's, for any horizon."""
        scale = as_domain(domain, "domain").diameter / as_positive(gradient_bound, "gradient_bound")
        return cls(domain, rates.Power(scale, 0.5))

    @classmethod
    def fixed(cls, domain: Any, gradient_bound: float, horizon: int) -> Self:
        """Set η = D/(G√T)."""
        level = as_positive(gradient_bound, "gradient_bound") * sqrt(as_int(horizon, "horizon", 1))
        return cls(domain, rates.Constant(as_domain(domain, "domain").diameter / level))

    @classmethod
    def strongly_convex(cls, domain: Any, strong_convexity: float) -> Self:
        """Set η_n = 1/(λn), Hazan's."""
        return cls(domain, rates.inverse_time(strong_convexity))

    @classmethod
    def langford(cls, domain: Any, gradient_bound: float, delay: int) -> Self:
        """Set η_n = F/(G√(2τn)), F² = D²/2, for one fixed delay τ ≥ 1: regret at most (2 + 1/(2τ))·GD√(τT).

        The rate is quoted from memory, the constant proved in docs/bounds.md. Langford, Smola, Zinkevich, *Slow
        Learners are Fast*, NIPS 2009.
        """
        # The n-th feedback comes in round n + τ, so this is the source's η_t = F/(G√(2τ(t − τ))) with F² = D²/2.
        late, steepest = as_int(delay, "delay", 1), as_positive(gradient_bound, "gradient_bound")
        return cls(domain, rates.Power(as_domain(domain, "domain").diameter / (2 * steepest * sqrt(late)), 0.5))

    def absorb(
        self, state: DescentState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
    ) -> None:
        state.clock[COUNT] += 1
        descend(self.domain, state, rates.at(self.rate, state.clock[COUNT]), weight, feedback)


class DOGD(Descending):
    """Delayed online gradient descent.

        x_{t+1} = Π( x_t − η_t Σ_{s∈A_t} w_s g_s ),   A_t = {s : s + d_s = t} what arrives in round t

    With a constant η and unit weights the regret is at most D²/(2η) + ηG²(T/2 + d_tot), so GD√(T + 2d_tot) for
    :meth:`tuned`; proved in docs/bounds.md, and attained by worst cases up to T = 6. With VarOpt the same holds in
    expectation at every capacity, also against comparators that move (``theory.dynamic_bound``). Where no projection is
    active the plays are DWFTRL's. Quanrud, Khashabi, *Online Learning with Adversarial Delays*, NIPS 2015.

    >>> from tarry.domains import Ball
    >>> DOGD.tuned(Ball(2), gradient_bound=1.0, horizon=100, total_delay=150).rate
    Constant(value=0.1)
    """

    domain: AnyDomain
    rate: rates.AnyRate
    _: KW_ONLY
    start: AnyPoint = None

    @classmethod
    def tuned(
        cls, domain: Any, gradient_bound: float, horizon: int, total_delay: int, *, path_length: float = 0.0
    ) -> Self:
        """Set η = √(D² + 2DP)/(G√(T + 2·total delay)), which makes the bound least.

        P = ``path_length`` = Σ|u_{t+1} − u_t| is how far the comparators move, 0 for one fixed action.
        """
        rounds: float = as_int(horizon, "horizon", 1) + 2 * as_int(total_delay, "total_delay")
        moved = as_nonnegative(path_length, "path_length")
        if moved > 0:
            rounds /= 1.0 + 2.0 * moved / as_domain(domain, "domain").diameter
        return cls(domain, _step(domain, gradient_bound, rounds))

    @classmethod
    def original(cls, domain: Any, gradient_bound: float, horizon: int, total_delay: int) -> Self:
        """Set η = D/(G√(T + total delay)): the order 1/√(T + total delay) of the source, D/G in front."""
        rounds = as_int(horizon, "horizon", 1) + as_int(total_delay, "total_delay")
        return cls(domain, _step(domain, gradient_bound, rounds))

    def absorb(
        self, state: DescentState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
    ) -> None:
        add_weighted(state.total, weight, feedback)
        state.clock[CHANGED] = 1

    def advance(self, state: DescentState, t: int, pending: float) -> None:
        # Also in quiet rounds: a rate that counts the backlog must see every one.
        rate = rates.next_rate(self.rate, state.memory, t - state.clock[BEFORE], pending)
        if state.clock[CHANGED] == 0:
            return
        _apply_total(self.domain, state, rate)


def _step(domain: Any, gradient_bound: float, rounds: float) -> rates.Constant:
    scale = as_domain(domain, "domain").diameter / as_positive(gradient_bound, "gradient_bound")
    return rates.Constant(scale / sqrt(rounds))


@step
def _apply_total(domain: Domain, state: DescentState, rate: float) -> None:
    """Make one step with all that has come, and forget it."""
    descend(domain, state, rate, 1.0, state.total)
    clear(state.total)
    state.clock[CHANGED] = 0


class DOGDSC(Descending):
    """DOGD-SC for λ-strongly convex losses; ``share`` = c, and h starts at 0.

        h ← h + c λ Σ_{s∈A_t} w_s,   x_{t+1} = Π( x_t − (1/h) Σ_{s∈A_t} w_s g_s ),   A_t = {s : s + d_s = t}

    c = 1 is Hazan's descent where nothing is late, c = 1/2 the source's (:meth:`original`). For c ≤ 1 and unit weights
    the regret is at most (1/c)(G²/(2λ) + (G(G + cλD)/λ)σ_max)(1 + ln T), proved in docs/bounds.md. Wan, Tu, Zhang,
    *Online Strongly Convex Optimization with Unknown Delays*, Machine Learning 111, 2022 (arXiv 2103.11354; the share
    from memory).
    """

    domain: AnyDomain
    strong_convexity: Positive
    _: KW_ONLY
    share: Positive = 1.0
    start: AnyPoint = None

    @classmethod
    def original(cls, domain: Any, strong_convexity: float, *, start: Any = None) -> Self:
        """Set the share 1/2 of the source, twice the step of the default."""
        return cls(domain, strong_convexity, share=0.5, start=start)

    def doubts(self, facts: rates.Facts) -> Iterator[str]:
        return rates.warn_if_less_convex(self, facts, "DOGD or DWFTRL")

    def absorb(
        self, state: DescentState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
    ) -> None:
        # w f is wλ-strongly convex, so a weight enters h and the gradient alike: a zero weight changes nothing.
        state.memory[SUM] += self.share * self.strong_convexity * weight
        add_weighted(state.total, weight, feedback)
        state.clock[CHANGED] = 1

    def advance(self, state: DescentState, t: int, pending: float) -> None:
        if state.clock[CHANGED] == 0:
            return
        _apply_total(self.domain, state, 1.0 / state.memory[SUM])
