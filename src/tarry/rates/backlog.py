"""Rates and radii that follow the game: its backlog, a bound on it, or the guesses of a doubling trick.

For values a *level* ρ bounds E[w_t²] and E[w_t w_s²]; at a largest backlog σ_max and a capacity C it is 1 + σ_max/C.
νk = kM/(Gr) is the game's *spread* (:func:`tarry.theory.spread_of`).
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, isnan, log, nan, sqrt
from typing import Any, Self

import numpy as np

from tarry.checks import as_bool, as_int, as_positive
from tarry.errors import ArgumentError
from tarry.kernel import step
from tarry.rates import base
from tarry.rates.base import MAGNITUDE, SUM, Facts, Following, Rate, scale_of

GUESSED = -1.0  # of ``max_backlog``: a doubling trick guesses it
NO_LEVEL = 0.0  # of ``level``, which is at least 1: it follows from the backlog


class Anytime(Following, init=False):
    """A rate for convex losses that follows the backlog, without a horizon.

    η_{t−1} = D / (G √Σ_{s≤t} (own + waiting·σ_s)), σ_s the backlog when round s begins.

    Needs neither the horizon nor the total delay. Where nothing acknowledges, VarOpt's held weight stands for σ_s. With
    VarOpt at any capacity, or no limit, the expected regret is at most 1.5·GD√(T + 2·total delay): docs/theory.md,
    Theorem 1b. ``waiting`` = 2 + ε serves Morris, ``own`` = 1/p one coin p for all. Where rounds have sizes the sum is
    Σ (b_s² + 2 b_s h_s), h_s what VarOpt holds, and |g_s| ≤ G b_s is assumed.

    >>> round(float(Anytime(diameter=2.0, gradient_bound=1.0).next_rate(np.zeros(2), 1, 1)), 6)  # σ_2 = 1: 2/√(1 + 3)
    1.0
    """

    scale: float
    own: float
    waiting: float

    needs_acknowledgements = True
    takes_held_weight = True

    @property
    def takes_sizes(self) -> bool:
        return self.own == 1.0 and self.waiting == 2.0

    def __new__(cls, diameter: float, gradient_bound: float, *, own: float = 1.0, waiting: float = 2.0) -> Self:
        scale = scale_of(diameter, gradient_bound)
        return cls.make(scale, as_positive(own, "own"), as_positive(waiting, "waiting"))

    def doubts(self, facts: Facts) -> Iterator[str]:
        if not facts.scheduler.fits_anytime_rates:
            name = type(facts.scheduler).__name__
            yield f"the rate Anytime is not valid with the scheduler {name}: use VarOpt or Priority, or a fixed rate"

    def first_rate(self, memory: np.ndarray) -> float:
        return self.scale / sqrt(self.own)

    def next_rate(self, memory: np.ndarray, t: int, pending: float) -> float:
        # The sum is over the rounds after the first, whose backlog is empty.
        memory[SUM] += self.own + self.waiting * pending
        return self.scale / sqrt(self.own + memory[SUM])


class BestOfBoth(Following, init=False):
    """A rate for strongly convex losses that aims at the better of two bounds.

    1/η_t = λt + β_t, where β grows by (√(a² + 4c) − a)/2, a = λt + β_{t−1}, c = 2G²σ_{t+1}/D².

    For strongly convex losses, and no worse than the convex rate. With DWFTRL and VarOpt at any capacity, or no limit,
    the expected regret is at most 2 min{(G²/λ) Σ σ_t/(t−1), GD√(2·total delay)} + (G²/(2λ))H_T: docs/theory.md, Theorem
    1d. ``diameter`` defaults to 2G/λ, which no domain of λ-strongly convex losses exceeds. σ as in :class:`Anytime`.
    Qiu, Esposito, Zhang, *Exploiting Curvature in Online Convex Optimization with Delayed Feedback*, ICML 2025, with
    another regulariser; this project's form balances both by the lemma of Bartlett, Hazan, Rakhlin.

    >>> BestOfBoth(strong_convexity=1.0, gradient_bound=1.0, diameter=2.0).waiting
    0.5
    """

    strong_convexity: float
    waiting: float

    needs_acknowledgements = True
    takes_held_weight = True

    def __new__(cls, strong_convexity: float, gradient_bound: float, diameter: float | None = None) -> Self:
        curvature = as_positive(strong_convexity, "strong_convexity")
        steep = as_positive(gradient_bound, "gradient_bound")
        across = 2 * steep / curvature if diameter is None else as_positive(diameter, "diameter")
        return cls.make(curvature, 2.0 * (steep / across) ** 2)

    def doubts(self, facts: Facts) -> Iterator[str]:
        return base.warn_if_less_convex(self, facts, "Anytime")

    def first_rate(self, memory: np.ndarray) -> float:
        return 1.0 / self.strong_convexity

    def next_rate(self, memory: np.ndarray, t: int, pending: float) -> float:
        # The growth that makes the cost of waiting, c/(a + growth), equal to the growth itself: a quadratic's root.
        level = self.strong_convexity * t + memory[SUM]
        growth = 0.5 * (sqrt(level * level + 4.0 * self.waiting * pending) - level)
        memory[SUM] += growth
        return 1.0 / (level + growth)


class DoublingRate(Following, init=False):
    """A rate for restarts by doubling.

    η = (D/G)/√magnitude, constant within an epoch of :class:`tarry.Doubling` (over "total" or "pair").

    The magnitude stands for T + total delay in the paper's convex rate.

    >>> float(DoublingRate(diameter=2.0, gradient_bound=1.0).first_rate(np.array([0.0, 16.0])))  # of an epoch for 16
    0.5
    """

    scale: float

    follows_epochs = ("total", "pair")

    def __new__(cls, diameter: float, gradient_bound: float) -> Self:
        return cls.make(scale_of(diameter, gradient_bound))

    def first_rate(self, memory: np.ndarray) -> float:
        # The magnitude is 0 before the first epoch is told.
        return self.scale / sqrt(max(memory[MAGNITUDE], 1.0))

    def next_rate(self, memory: np.ndarray, t: int, pending: float) -> float:
        return self.scale / sqrt(max(memory[MAGNITUDE], 1.0))


def _as_level(level: Any) -> float:
    """Return a level; raise ValueError if it is below 1."""
    if as_positive(level, "level") < 1:
        raise ArgumentError("level", "bounds second moments of weights with mean one and is at least 1", level)
    return float(level)


def _as_crowd(capacity: int | None, max_backlog: int | None) -> tuple[float, float]:
    """Return a capacity (infinite where there is no limit) and a largest backlog as the formulas read them."""
    room = inf if capacity is None else float(as_int(capacity, "capacity", 1))
    return room, GUESSED if max_backlog is None else float(as_int(max_backlog, "max_backlog"))


@step
def _ratio(spread: float, level: float, curved: int, t: int) -> float:
    """Return δ_t/r = min{1, √(νk) (ρ/t)^(1/4)}, or min{1, ((νk)²ρ ln(t+1)/t)^(1/3)} if ``curved``."""
    if curved:
        return min(1.0, (spread * spread * level * log(t + 1.0) / t) ** (1.0 / 3.0))
    return min(1.0, sqrt(spread) * (level / t) ** 0.25)


@step
def _guess(memory: np.ndarray) -> float:
    """Return the largest backlog that the epoch allows: its magnitude less one."""
    return max(memory[MAGNITUDE], 1.0) - 1.0


class BanditRadius(Rate, init=False):
    """A radius of exploration for one value a round, which shrinks with time.

    δ_t = r min{1, √(νk) (ρ/t)^(1/4)}; ``curved``, for strongly convex losses: r min{1, ((νk)²ρ ln(t+1)/t)^(1/3)}.

    ``level`` is ρ: Theorem 5 (b) and (d) of this project. :meth:`for_backlog` sets ρ = 1 + σ_max/C: the radii of the
    paper's theorem "Capacity-Constrained BCO with Delays" and of its doubling appendix.

    >>> round(float(BanditRadius(1.0, spread=1.0, level=16.0).radius(np.zeros(2), 81)), 6)
    0.666667
    >>> float(BanditRadius.for_backlog(1.0, spread=1.0, capacity=8, max_backlog=8).radius(np.zeros(2), 32))
    0.5
    """

    inner_radius: float
    spread: float
    level: float
    capacity: float
    curved: int

    def __new__(cls, inner_radius: float, spread: float, level: float, *, curved: bool = False) -> Self:
        radii = as_positive(inner_radius, "inner_radius"), as_positive(spread, "spread")
        return cls.make(*radii, _as_level(level), nan, int(as_bool(curved, "curved")))

    @classmethod
    def for_backlog(
        cls,
        inner_radius: float,
        spread: float,
        capacity: int | None,
        max_backlog: int | None = None,
        *,
        curved: bool = False,
    ) -> Self:
        """Return the radii at ρ = 1 + σ_max/C.

        Without ``max_backlog`` σ_max is 2^j − 1 in an epoch of ``Doubling("backlog")`` whose guess is 2^j, and t counts
        from the epoch's start.
        """
        radii = as_positive(inner_radius, "inner_radius"), as_positive(spread, "spread")
        room, backlog = _as_crowd(capacity, max_backlog)
        level = NO_LEVEL if backlog == GUESSED else 1.0 + backlog / room
        return cls.make(*radii, level, room, int(as_bool(curved, "curved")))

    @property
    def follows_backlog(self) -> bool:
        return self.level == NO_LEVEL

    @property
    def tuned_capacity(self) -> float | None:
        return None if isnan(self.capacity) else self.capacity

    def radius(self, memory: np.ndarray, t: int) -> float:
        level = self.level if self.level > NO_LEVEL else 1.0 + _guess(memory) / self.capacity
        return self.inner_radius * _ratio(self.spread, level, self.curved, t)


class BanditRate(Rate, init=False):
    """A rate for one value a round that follows the backlog.

    η_{t−1} = D / (2G √Σ_{s≤t} (1.5σ_s + a_s²ρ)), a_s = νk/(δ_s/r) with the δ_s of :class:`BanditRadius`.

    For convex losses and values, any scheduler whose moments are at most the ``level`` ρ. Needs acknowledgements,
    neither the horizon nor the total delay. Proved by this project: docs/theory.md, Theorem 5 (b). :meth:`for_backlog`
    knows the largest backlog instead of observing it. For strongly convex losses the rate is ``inverse_time(λ)``.

    >>> round(float(BanditRate(2.0, 1.0, spread=1.0, level=1.0).next_rate(np.zeros(2), 1, 2)), 4)  # σ_2 = 2
    0.4298
    """

    scale: float
    spread: float
    level: float
    capacity: float
    max_backlog: float

    def __new__(cls, diameter: float, gradient_bound: float, spread: float, level: float) -> Self:
        scale = as_positive(diameter, "diameter") / (2.0 * as_positive(gradient_bound, "gradient_bound"))
        return cls.make(scale, as_positive(spread, "spread"), _as_level(level), nan, GUESSED)

    @classmethod
    def for_backlog(
        cls, diameter: float, gradient_bound: float, spread: float, capacity: int | None, max_backlog: int | None = None
    ) -> Self:
        """Return η_t = (D/G) / (√t √(σ_max + a_t²ρ)), ρ = 1 + σ_max/C.

        ``max_backlog`` as in :meth:`BanditRadius.for_backlog`; needs no acknowledgements. The paper's theorem
        "Capacity-Constrained BCO with Delays" and its doubling appendix.
        """
        scale, noise = scale_of(diameter, gradient_bound), as_positive(spread, "spread")
        return cls.make(scale, noise, NO_LEVEL, *_as_crowd(capacity, max_backlog))

    @property
    def needs_acknowledgements(self) -> bool:
        return self.level > NO_LEVEL

    @property
    def follows_backlog(self) -> bool:
        return self.level == NO_LEVEL and self.max_backlog == GUESSED

    @property
    def tuned_capacity(self) -> float | None:
        return None if isnan(self.capacity) else self.capacity

    def first_rate(self, memory: np.ndarray) -> float:
        if self.level > NO_LEVEL:
            return self.scale / sqrt(_noise(self, self.level, 1))
        return _for_backlog(self, memory, 1)

    def next_rate(self, memory: np.ndarray, t: int, pending: float) -> float:
        if self.level > NO_LEVEL:
            # The sum is over the rounds after the first, whose backlog is empty.
            memory[SUM] += 1.5 * pending + _noise(self, self.level, t + 1)
            return self.scale / sqrt(_noise(self, self.level, 1) + memory[SUM])
        return _for_backlog(self, memory, t)

    def last_rate(self, memory: np.ndarray, in_force: float, t: int) -> float:
        return in_force if self.level > NO_LEVEL else _for_backlog(self, memory, t)


@step
def _noise(rate: BanditRate, level: float, t: int) -> float:
    """Return a_t²ρ."""
    length = rate.spread / _ratio(rate.spread, level, 0, t)
    return length * length * level


@step
def _for_backlog(rate: BanditRate, memory: np.ndarray, t: int) -> float:
    # The level is computed anew each time, since a guess of the backlog changes with the epoch.
    backlog = rate.max_backlog if rate.max_backlog >= 0.0 else _guess(memory)
    return rate.scale / sqrt(t * (backlog + _noise(rate, 1.0 + backlog / rate.capacity, t)))
