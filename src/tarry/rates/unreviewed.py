"""Rates and radii for values that follow the tracking set: the follow-up's conditional energy (**unreviewed**).

Xiang, Yang, Shen, *Beyond Peak Backlog*: unreviewed, not in public records, not checked here. The rate may look at the
scheduler's side only, |S_t| and p, never at weights, plays or values that came of it: its proof fails with them. Rate,
radius and scheduler must speak of the same coin, which :class:`tarry.Player` checks.
"""

from __future__ import annotations

from math import sqrt
from typing import Annotated, Any, Self

import numpy as np

from tarry.checks import Positive, as_int
from tarry.kernel import KW_ONLY, step
from tarry.rates.base import MAGNITUDE, SUM, Rate, scale_of


def _as_count(value: Any, name: str) -> float:
    return float(as_int(value, name, 1))  # a float: the formulas divide by it


class _Energy(Rate):
    """Share what the rate and the radius are tuned to: after the first field, both have the same."""

    follows_backlog = True

    @property
    def tuning(self) -> tuple[float, ...]:
        """Return what the rate must share with the radius: νk, C, T, c and the safety."""
        return tuple(self)[1:]

    @property
    def tuned_horizon(self) -> float:
        return self.tuning[2]

    @property
    def tuned_capacity(self) -> float:
        return self.tuning[1]


class EnergyRadius(_Energy):
    """A radius of exploration for one value a round, constant within an epoch.

    δ = r min{1, c √(νk) (T·p)^(−1/4)} throughout an epoch, p = min{1, C/(safety·magnitude)}.

    **Unreviewed, not in public records.** Goes with ``Doubling("backlog", unit=max(1, C//8))`` and the scheduler
    ``DoublingBernoulli(safety)``, up to the horizon T; ``factor`` is c, which the notes we have leave open.

    >>> rule = EnergyRadius(1.0, spread=1.0, capacity=8, horizon=10_000)
    >>> round(float(rule.radius(np.array([0.0, 1.0]), 1)), 6)
    0.1
    """

    inner_radius: Positive
    spread: Positive
    capacity: Annotated[float, _as_count]
    horizon: Annotated[float, _as_count]
    _: KW_ONLY
    factor: Positive = 1.0
    safety: Positive = 8.0  # as in the scheduler's coin, whose default it is

    def radius(self, memory: np.ndarray, t: int) -> float:
        return self.inner_radius * _ratio(self, memory)


class EnergyRate(_Energy, init=False):
    """A rate from one value a round that follows the tracked rounds of the epoch.

    It is η_t = D/(G√A_t), A_t = A_0 + Σ_{s≤t} h_s over the rounds of the epoch, where

        h_t = 1{c_t < C} (z² + z√c_t + c_t)/p,   A_0 = 2(z² + min(C−1, H) + 1)/p,

    c_t = |S_t| before round t asks for a slot, z = νk/(δ/r) with the δ and p of ``smoothing``, the learner's
    :class:`EnergyRadius`, and H + 1 the epoch's magnitude. **Unreviewed, not in public records.**

    >>> rule = EnergyRate(2.0, 1.0, EnergyRadius(1.0, spread=1.0, capacity=8, horizon=10_000))
    >>> round(float(rule.first_rate(np.array([0.0, 1.0]))), 4)  # z = 10, p = 1, H = 0
    0.1407
    """

    scale: float
    spread: float
    capacity: float
    horizon: float
    factor: float
    safety: float

    def __new__(cls, diameter: float, gradient_bound: float, smoothing: EnergyRadius) -> Self:
        if not isinstance(smoothing, EnergyRadius):
            raise TypeError(f"smoothing must be the learner's own radius, an EnergyRadius, got {smoothing!r}")
        return cls.make(scale_of(diameter, gradient_bound), *smoothing.tuning)

    def count_tracked(self, memory: np.ndarray, tracked: int) -> None:
        # A full set admits no round, so such a round has no energy.
        if tracked < self.capacity:
            length = self.spread / _ratio(self, memory)
            memory[SUM] += (length * length + length * sqrt(tracked) + tracked) / _chance(self, memory)

    def first_rate(self, memory: np.ndarray) -> float:
        return _rate(self, memory)

    def next_rate(self, memory: np.ndarray, first: float, second: int) -> float:
        return _rate(self, memory)  # neither the round nor the backlog: the sum alone

    last_rate = next_rate


@step
def _chance(rate: EnergyRadius | EnergyRate, memory: np.ndarray) -> float:
    """Return p of the epoch."""
    return min(1.0, rate.capacity / (rate.safety * max(memory[MAGNITUDE], 1.0)))


@step
def _ratio(rate: EnergyRadius | EnergyRate, memory: np.ndarray) -> float:
    """Return δ/r of the epoch."""
    return min(1.0, rate.factor * sqrt(rate.spread) * (rate.horizon * _chance(rate, memory)) ** -0.25)


@step
def _rate(rate: EnergyRate, memory: np.ndarray) -> float:
    length = rate.spread / _ratio(rate, memory)
    most = min(rate.capacity - 1.0, max(memory[MAGNITUDE], 1.0) - 1.0)
    start = 2.0 * (length * length + most + 1.0) / _chance(rate, memory)
    return rate.scale / sqrt(start + memory[SUM])
