"""AdaDelay: delayed dual averaging whose rate follows the products of gradients that were out together."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_int, as_positive
from tarry.domains.base import as_domain, project
from tarry.learners.base import GRADIENT, Directions, Learner, absorb, advance, enter, restart
from tarry.learners.states import Array, NumberBySlot, Vector, starting_point
from tarry.rates.base import SLACK, Facts

NORMS, PRODUCTS, SUMS = range(3)


class AveragingState(NamedTuple):
    """``total`` = Σ w_s g_s, ``sums`` = (Σ n_s, Λ less the allowance), ``seen`` = Σ n_s when a slot's round played."""

    point: Vector
    total: Vector
    sums: Annotated[np.ndarray, (SUMS,)]
    seen: NumberBySlot
    scratch: Vector


class AdaDelay(Learner, init=False):
    """Delayed dual averaging that adapts to the gradients, for delays of at most ``max_delay`` = τ.

        x_{t+1} = Π( x_1 − η_t Σ_s w_s g_s ),   η_t = D/√(2Λ_t),
        Λ_t = Σ_s n_s² + 2 Σ_{r<s out together} n_r n_s + G²(τ + 1)(3τ + 1),   n_s = w_s|g_s|

    Sums are over what came by the end of round t; D is the diameter, G = ``gradient_bound``.

    A pair counts when its later member arrives, from one number kept for each tracked round. The allowance
    G²(τ + 1)(3τ + 1) covers what is still out (at most τ + 1 rounds, and 1.5·τ(τ + 1) pairs), so that Λ_t is never
    below what the analysis sums: with unit weights and every round tracked the regret is at most √2·D√Λ_T. The form
    is the source's, the allowance and the constant are this project's. Weights multiply gradients; above 1 they may
    exceed the allowance, and then the bound is not promised.

    Hsieh, Iutzeler, Malick, Mertikopoulos, *Multi-Agent Online Optimization with Delays: Asynchronicity, Adaptivity,
    and Optimism*, JMLR 23, 2022.

    >>> from tarry.domains import Ball
    >>> AdaDelay(Ball(2), gradient_bound=1.0, max_delay=3).allowance
    40.0
    """

    domain: Any
    scale: float
    allowance: float
    start: Array

    feedback = GRADIENT
    state = AveragingState

    def __new__(cls, domain: Any, gradient_bound: float, max_delay: int, *, start: ArrayLike | None = None) -> Self:
        as_domain(domain, "domain")
        tau = as_int(max_delay, "max_delay")
        allowance = allowance_for(as_positive(gradient_bound, "gradient_bound"), tau)
        return cls.make(domain, domain.diameter / sqrt(2.0), allowance, starting_point(domain, start))

    def doubts(self, facts: Facts) -> Iterator[str]:
        """Yield a warning if more may be out than the allowance covers."""
        steep, late = facts.gradient_bound, facts.max_delay
        if steep is not None and allowance_for(steep, late) > self.allowance * (1 + 2 * SLACK):
            yield (
                f"AdaDelay allows G²(τ + 1)(3τ + 1) = {self.allowance:g} for what is out, but with gradients of up to "
                f"{steep:g} and delays of up to {late} that is {allowance_for(steep, late):g}: give "
                f"gradient_bound={steep:g}, max_delay={late}"
            )


def allowance_for(gradient_bound: float, max_delay: int) -> float:
    """Return G²(τ + 1)(3τ + 1)."""
    return gradient_bound**2 * (max_delay + 1) * (3 * max_delay + 1)


@restart.on(AdaDelay)
def _restart(learner: AdaDelay, state: AveragingState, t: int, magnitude: float) -> None:
    for i in range(state.point.size):
        state.point[i] = learner.start[i]
        state.total[i] = 0.0
    state.sums[NORMS] = 0.0
    state.sums[PRODUCTS] = 0.0


@enter.on(AdaDelay)
def _enter(learner: AdaDelay, state: AveragingState, slot: int, t: int) -> None:
    state.seen[slot] = state.sums[NORMS]


@absorb.on(AdaDelay)
def _absorb(
    learner: AdaDelay, state: AveragingState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
) -> None:
    squares = 0.0
    for i in range(feedback.size):
        squares += feedback[i] * feedback[i]
        state.total[i] += weight * feedback[i]
    size = weight * sqrt(squares)
    # Σ n of what arrived since round s played: these were out together with it, and each pair counts once.
    state.sums[PRODUCTS] += size * (size + 2.0 * (state.sums[NORMS] - state.seen[slot]))
    state.sums[NORMS] += size


@advance.on(AdaDelay)
def _advance(learner: AdaDelay, state: AveragingState, t: int, pending: int) -> None:
    rate = learner.scale / sqrt(learner.allowance + state.sums[PRODUCTS])
    for i in range(state.point.size):
        state.point[i] = learner.start[i] - rate * state.total[i]
    project(learner.domain, state.point, state.scratch)
