"""Delayed gradient descent: one projected step a round, with the sum of what arrived in it."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import Any, Self

from tarry.checks import Positive, as_int, as_positive
from tarry.domains.base import Domain, as_domain
from tarry.kernel import KW_ONLY, field, step
from tarry.learners.base import GRADIENT, Directions, absorb, advance, notice
from tarry.learners.ogd import BEFORE, CHANGED, Descending, DescentState, descend
from tarry.learners.states import AnyDomain, AnyPoint, Array, add_weighted
from tarry.rates.base import SUM, AnyRate, Constant, Facts, count_tracked, next_rate, warn_if_less_convex


class DOGD(Descending):
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

    domain: AnyDomain
    rate: AnyRate
    _: KW_ONLY
    start: AnyPoint = field(default=None)

    feedback = GRADIENT

    @classmethod
    def tuned(cls, domain: Any, gradient_bound: float, horizon: int, total_delay: int) -> Self:
        """Set η = D/(G√(T + 2·total delay)), the explicit one."""
        rounds = as_int(horizon, "horizon", 1) + 2 * as_int(total_delay, "total_delay")
        return cls(domain, _step(domain, gradient_bound, rounds))

    @classmethod
    def original(cls, domain: Any, gradient_bound: float, horizon: int, total_delay: int) -> Self:
        """Set η = D/(G√(T + total delay)): the order 1/√(T + total delay) of the source, D/G in front."""
        rounds = as_int(horizon, "horizon", 1) + as_int(total_delay, "total_delay")
        return cls(domain, _step(domain, gradient_bound, rounds))


def _step(domain: Any, gradient_bound: float, rounds: int) -> Constant:
    scale = as_domain(domain, "domain").diameter / as_positive(gradient_bound, "gradient_bound")
    return Constant(scale / sqrt(rounds))


@step
def _apply_total(domain: Domain, state: DescentState, rate: float) -> None:
    """Make one step with all that has come, and forget it."""
    descend(domain, state, rate, 1.0, state.total)
    for i in range(state.total.size):
        state.total[i] = 0.0
    state.clock[CHANGED] = 0


@notice.on(DOGD)
def _notice(learner: DOGD, state: DescentState, t: int, tracked: int) -> None:
    count_tracked(learner.rate, state.memory, tracked)


@absorb.on(DOGD)
def _absorb(
    learner: DOGD, state: DescentState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
) -> None:
    add_weighted(state.total, weight, feedback)
    state.clock[CHANGED] = 1


@advance.on(DOGD)
def _advance(learner: DOGD, state: DescentState, t: int, pending: int) -> None:
    # Also in quiet rounds: a rate that counts the backlog must see every one.
    rate = next_rate(learner.rate, state.memory, t - state.clock[BEFORE], pending)
    if state.clock[CHANGED] == 0:
        return
    _apply_total(learner.domain, state, rate)


class DOGDSC(Descending):
    """DOGD-SC for λ-strongly convex losses: h counts cλ per feedback, ``share`` = c.

        h ← h + c λ Σ_{s∈A_t} w_s,   x_{t+1} = Π( x_t − (1/h) Σ_{s∈A_t} w_s g_s ),   A_t = {s : s + d_s = t}

    h starts at 0; nothing moves where nothing came.

    c = 1 makes it Hazan's descent where nothing is late; the source has, we believe, c = 1/2. Regret of the order
    (G²/λ)·max delay·ln T for unit weights. A weight w makes w f, which is wλ-strongly convex, so it enters h and
    the gradient alike: a zero weight changes nothing. Knows λ only.

    Wan, Tu, Zhang, *Online Strongly Convex Optimization with Unknown Delays*, Machine Learning 111, 2022
    (arXiv 2103.11354).

    >>> from tarry.domains import Ball
    >>> DOGDSC(Ball(2), strong_convexity=2.0).share
    1.0
    """

    domain: AnyDomain
    strong_convexity: Positive
    _: KW_ONLY
    share: Positive = 1.0
    start: AnyPoint = field(default=None)

    feedback = GRADIENT

    def doubts(self, facts: Facts) -> Iterator[str]:
        """Yield a warning about losses that are flatter than λ."""
        return warn_if_less_convex(self, facts, "DOGD or DWFTRL")


@absorb.on(DOGDSC)
def _absorb_curved(
    learner: DOGDSC, state: DescentState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
) -> None:
    state.memory[SUM] += learner.share * learner.strong_convexity * weight
    add_weighted(state.total, weight, feedback)
    state.clock[CHANGED] = 1


@advance.on(DOGDSC)
def _advance_curved(learner: DOGDSC, state: DescentState, t: int, pending: int) -> None:
    if state.clock[CHANGED] == 0:
        return
    _apply_total(learner.domain, state, 1.0 / state.memory[SUM])
