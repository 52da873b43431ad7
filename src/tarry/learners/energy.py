"""Rates and radii for values that follow the tracking set: the follow-up's conditional energy (**unreviewed**).

Xiang, Yang, Shen, *Beyond Peak Backlog*, unreviewed and not checked here. The rate may look at the scheduler's side
only, |S_t| and p, never at the weights, plays or values that came of it: with those its proof fails. Rate, radius and
scheduler must speak of the same coin, which :class:`tarry.Player` checks.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, Self

from tarry.checks import as_int, as_positive
from tarry.kernel import Parameters, step
from tarry.learners.rules import MAGNITUDE, SUM, count_tracked, first_rate, last_rate, next_rate, radius


class EnergyRadius(Parameters, init=False):
    """δ = r min{1, c √(νk) (T·p)^(−1/4)} throughout an epoch, p = min{1, C/(safety·magnitude)} (**unreviewed**).

    Goes with ``Doubling("backlog", unit=max(1, C//8))`` and the scheduler ``DoublingBernoulli(safety)``, up to the
    horizon T; ``factor`` is c, which the notes we have leave open.

    >>> import numpy as np
    >>> rule = EnergyRadius(1.0, spread=1.0, capacity=8, horizon=10_000)
    >>> round(float(radius(rule, np.array([0.0, 1.0]), 1)), 6)
    0.1
    """

    inner_radius: float
    spread: float
    capacity: float
    horizon: float
    factor: float
    safety: float

    follows_backlog = True

    def __new__(
        cls,
        inner_radius: float,
        spread: float,
        capacity: int,
        horizon: int,
        *,
        factor: float = 1.0,
        safety: float = 8.0,
    ) -> Self:
        return cls.make(
            as_positive(inner_radius, "inner_radius"),
            as_positive(spread, "spread"),
            float(as_int(capacity, "capacity", 1)),
            float(as_int(horizon, "horizon", 1)),
            as_positive(factor, "factor"),
            as_positive(safety, "safety"),
        )

    @property
    def tuning(self) -> tuple[float, ...]:
        """What a rate must share with it: νk, C, T, c and the safety."""
        return tuple(self)[1:]


class EnergyRate(Parameters, init=False):
    """η_t = D/(G√A_t), A_t = A_0 + Σ_{s≤t} h_s over the rounds of the epoch (**unreviewed**), where

        h_t = 1{c_t < C} (z² + z√c_t + c_t)/p,   A_0 = 2(z² + min(C−1, H) + 1)/p,

    c_t = |S_t| before round t asks for a slot, z = νk/(δ/r) with the δ and p of ``smoothing``, the learner's
    :class:`EnergyRadius`, and H + 1 the epoch's magnitude.

    >>> import numpy as np
    >>> rule = EnergyRate(2.0, 1.0, EnergyRadius(1.0, spread=1.0, capacity=8, horizon=10_000))
    >>> round(float(first_rate(rule, np.array([0.0, 1.0]))), 4)  # z = 10, p = 1, H = 0
    0.1407
    """

    scale: float
    spread: float
    capacity: float
    horizon: float
    factor: float
    safety: float

    follows_backlog = True

    def __new__(cls, diameter: float, gradient_bound: float, smoothing: EnergyRadius) -> Self:
        if not isinstance(smoothing, EnergyRadius):
            raise TypeError(f"smoothing must be the learner's own radius, an EnergyRadius, got {smoothing!r}")
        scale = as_positive(diameter, "diameter") / as_positive(gradient_bound, "gradient_bound")
        return cls.make(scale, *smoothing.tuning)

    @property
    def tuning(self) -> tuple[float, ...]:
        """What it shares with its radius."""
        return tuple(self)[1:]


@step
def _chance(rule: Any, memory: Any) -> Any:
    """p of the epoch."""
    return min(1.0, rule.capacity / (rule.safety * max(memory[MAGNITUDE], 1.0)))


@step
def _ratio(rule: Any, memory: Any) -> Any:
    """δ/r of the epoch."""
    return min(1.0, rule.factor * sqrt(rule.spread) * (rule.horizon * _chance(rule, memory)) ** -0.25)


@radius.on(EnergyRadius)
def _radius(rule: Any, memory: Any, t: Any) -> Any:
    return rule.inner_radius * _ratio(rule, memory)


@step
def _rate(rule: Any, memory: Any) -> Any:
    length = rule.spread / _ratio(rule, memory)
    most = min(rule.capacity - 1.0, max(memory[MAGNITUDE], 1.0) - 1.0)
    start = 2.0 * (length * length + most + 1.0) / _chance(rule, memory)
    return rule.scale / sqrt(start + memory[SUM])


@count_tracked.on(EnergyRate)
def _count(rule: Any, memory: Any, tracked: Any) -> None:
    if tracked < rule.capacity:
        length = rule.spread / _ratio(rule, memory)
        memory[SUM] += (length * length + length * sqrt(tracked) + tracked) / _chance(rule, memory)


@first_rate.on(EnergyRate)
def _first(rule: Any, memory: Any) -> Any:
    return _rate(rule, memory)


@next_rate.on(EnergyRate)
def _next(rule: Any, memory: Any, t: Any, pending: Any) -> Any:
    return _rate(rule, memory)


@last_rate.on(EnergyRate)
def _last(rule: Any, memory: Any, in_force: Any, t: Any) -> Any:
    return _rate(rule, memory)
