"""Rates for gradients that follow the game: its backlog, or the guesses of a doubling trick."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import Self

import numpy as np

from tarry.checks import as_positive
from tarry.rates.base import (
    MAGNITUDE,
    SUM,
    Facts,
    Rate,
    first_rate,
    last_rate,
    next_rate,
    scale_of,
    warn_if_less_convex,
)


class Anytime(Rate, init=False):
    """η_{t−1} = D / (G √Σ_{s≤t} (own + waiting·σ_s)), σ_s the backlog when round s begins.

    Needs neither the horizon nor the total delay: with Priority or VarOpt the regret is of the order
    GD√(T + 2·total delay), up to a logarithm at small capacities; without a limit it is at most
    1.5·GD√(T + 2·total delay). ``waiting`` = 2 + ε serves Morris, ``own`` = 1/p one coin p for all; with
    the Pareto scheduler it is not valid. Needs acknowledgements. Proved by this project: docs/theory.md.

    >>> import numpy as np
    >>> round(float(next_rate(Anytime(diameter=2.0, gradient_bound=1.0), np.zeros(2), 1, 1)), 6)  # σ_2 = 1: 2/√(1 + 3)
    1.0
    """

    scale: float
    own: float
    waiting: float

    needs_acknowledgements = True

    def __new__(cls, diameter: float, gradient_bound: float, *, own: float = 1.0, waiting: float = 2.0) -> Self:
        scale = scale_of(diameter, gradient_bound)
        return cls.make(scale, as_positive(own, "own"), as_positive(waiting, "waiting"))

    def doubts(self, facts: Facts) -> Iterator[str]:
        """Yield a warning about a scheduler whose weights the rate does not serve."""
        if not facts.scheduler.fits_anytime_rates:
            name = type(facts.scheduler).__name__
            yield f"the rate Anytime is not valid with the scheduler {name}: use VarOpt or Priority, or a fixed rate"


@first_rate.on(Anytime)
def _first_anytime(rate: Anytime, memory: np.ndarray) -> float:
    return rate.scale / sqrt(rate.own)


@next_rate.on(Anytime)
def _next_anytime(rate: Anytime, memory: np.ndarray, t: int, pending: int) -> float:
    # The sum is over the rounds after the first, whose backlog is empty.
    memory[SUM] += rate.own + rate.waiting * pending
    return rate.scale / sqrt(rate.own + memory[SUM])


class BestOfBoth(Rate, init=False):
    """1/η_t = λt + β_t, where β grows by (√(a² + 4c) − a)/2, a = λt + β_{t−1}, c = 2G²σ_{t+1}/D².

    For strongly convex losses, and no worse than the convex rate. With DWFTRL and unit weights, where every round is
    tracked, the regret is at most 2 min{(G²/λ) Σ σ_t/(t−1), GD√(2·total delay)} + (G²/(2λ))(1 + H_{T−1}). ``diameter``
    defaults to 2G/λ, which no domain of λ-strongly convex losses exceeds. Needs acknowledgements.

    Qiu, Esposito, Zhang, *Exploiting Curvature in Online Convex Optimization with Delayed Feedback*, ICML 2025, reach
    min{σ_max ln T, √d_tot} + ln T with another regulariser; this project's form balances both by the lemma of Bartlett,
    Hazan, Rakhlin.

    >>> BestOfBoth(strong_convexity=1.0, gradient_bound=1.0, diameter=2.0).waiting
    0.5
    """

    strong_convexity: float
    waiting: float

    needs_acknowledgements = True

    def __new__(cls, strong_convexity: float, gradient_bound: float, diameter: float | None = None) -> Self:
        curvature = as_positive(strong_convexity, "strong_convexity")
        steep = as_positive(gradient_bound, "gradient_bound")
        across = 2 * steep / curvature if diameter is None else as_positive(diameter, "diameter")
        return cls.make(curvature, 2.0 * (steep / across) ** 2)

    def doubts(self, facts: Facts) -> Iterator[str]:
        """Yield a warning about losses that are flatter than λ."""
        return warn_if_less_convex(self, facts, "Anytime")


@first_rate.on(BestOfBoth)
def _first_of_both(rate: BestOfBoth, memory: np.ndarray) -> float:
    return 1.0 / rate.strong_convexity


@next_rate.on(BestOfBoth)
def _next_of_both(rate: BestOfBoth, memory: np.ndarray, t: int, pending: int) -> float:
    # The growth that makes the cost of waiting, c/(a + growth), equal to the growth itself: a quadratic's root.
    level = rate.strong_convexity * t + memory[SUM]
    growth = 0.5 * (sqrt(level * level + 4.0 * rate.waiting * pending) - level)
    memory[SUM] += growth
    return 1.0 / (level + growth)


class DoublingRate(Rate, init=False):
    """η = (D/G)/√magnitude, constant within an epoch of :class:`tarry.Doubling` (over "total" or "pair").

    The magnitude stands for T + total delay in the paper's convex rate.

    >>> import numpy as np
    >>> float(first_rate(DoublingRate(diameter=2.0, gradient_bound=1.0), np.array([0.0, 16.0])))  # of an epoch for 16
    0.5
    """

    scale: float

    follows_epochs = ("total", "pair")

    def __new__(cls, diameter: float, gradient_bound: float) -> Self:
        return cls.make(scale_of(diameter, gradient_bound))


@first_rate.on(DoublingRate)
def _first_doubling(rate: DoublingRate, memory: np.ndarray) -> float:
    # The magnitude is 0 before the first epoch is told.
    return rate.scale / sqrt(max(memory[MAGNITUDE], 1.0))


@next_rate.on(DoublingRate)
def _next_doubling(rate: DoublingRate, memory: np.ndarray, t: int, pending: int) -> float:
    return rate.scale / sqrt(max(memory[MAGNITUDE], 1.0))


@last_rate.on(Anytime, BestOfBoth, DoublingRate)
def _last(rate: Rate, memory: np.ndarray, in_force: float, t: int) -> float:
    return in_force
