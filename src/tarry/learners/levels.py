"""Rates and radii for values that know how large the weights' moments may get (this project's own).

A *level* ρ bounds E[w_t²] and E[w_t w_s²]; νk = kM/(Gr) is the game's *spread* (:func:`tarry.theory.spread_of`).
"""

from __future__ import annotations

from math import log, sqrt
from typing import Any, Self

from tarry.checks import as_bool, as_positive
from tarry.kernel import Parameters, step
from tarry.learners.rules import SUM, at, first_rate, last_rate, next_rate


@step
def level_ratio(spread: float, level: float, curved: int, t: Any) -> Any:
    """δ_t/r = min{1, √(νk) (ρ/t)^(1/4)}, or min{1, ((νk)²ρ ln(t+1)/t)^(1/3)} if ``curved``."""
    if curved:
        return min(1.0, (spread * spread * level * log(t + 1.0) / t) ** (1.0 / 3.0))
    return min(1.0, sqrt(spread) * (level / t) ** 0.25)


def as_level(level: float) -> float:
    """A level, which is at least 1."""
    if as_positive(level, "level") < 1:
        raise ValueError(f"level bounds second moments of weights with mean one and is at least 1, got {level}")
    return float(level)


class LevelRadius(Parameters, init=False):
    """δ_t = r min{1, √(νk) (ρ/t)^(1/4)}; ``curved``, for strongly convex losses: r min{1, ((νk)²ρ ln(t+1)/t)^(1/3)}.

    Theorem 5 (b) and (d) of this project; with ρ = 1 + σ_max/C the radii of the paper's bandit theorem.

    >>> round(float(at(LevelRadius(1.0, spread=1.0, level=16.0), 81)), 6)
    0.666667
    """

    inner_radius: float
    spread: float
    level: float
    curved: int

    def __new__(cls, inner_radius: float, spread: float, level: float, *, curved: bool = False) -> Self:
        return cls.make(
            as_positive(inner_radius, "inner_radius"),
            as_positive(spread, "spread"),
            as_level(level),
            int(as_bool(curved, "curved")),
        )


@at.on(LevelRadius)
def _radius(rule: Any, t: Any) -> Any:
    return rule.inner_radius * level_ratio(rule.spread, rule.level, rule.curved, t)


class LevelRate(Parameters, init=False):
    """η_{t−1} = D / (2G √Σ_{s≤t} (1.5σ_s + a_s²ρ)), a_s = νk/(δ_s/r) with the δ_s of :class:`LevelRadius`.

    For convex losses and values, any scheduler whose moments are at most ρ: neither the horizon nor the total delay
    need be known. Needs acknowledgements. Proved by this project: docs/theory.md, Theorem 5 (b).

    >>> import numpy as np
    >>> round(float(next_rate(LevelRate(2.0, 1.0, spread=1.0, level=1.0), np.zeros(2), 1, 2)), 4)  # σ_2 = 2
    0.4298
    """

    scale: float
    spread: float
    level: float

    needs_acknowledgements = True

    def __new__(cls, diameter: float, gradient_bound: float, spread: float, level: float) -> Self:
        scale = as_positive(diameter, "diameter") / (2.0 * as_positive(gradient_bound, "gradient_bound"))
        return cls.make(scale, as_positive(spread, "spread"), as_level(level))


@step
def _noise(rule: LevelRate, t: Any) -> Any:
    """a_t²ρ."""
    length = rule.spread / level_ratio(rule.spread, rule.level, 0, t)
    return length * length * rule.level


@first_rate.on(LevelRate)
def _first(rule: Any, memory: Any) -> Any:
    return rule.scale / sqrt(_noise(rule, 1))


@next_rate.on(LevelRate)
def _next(rule: Any, memory: Any, t: Any, pending: Any) -> Any:
    # The sum is over the rounds after the first, whose backlog is empty.
    memory[SUM] += 1.5 * pending + _noise(rule, t + 1)
    return rule.scale / sqrt(_noise(rule, 1) + memory[SUM])


@last_rate.on(LevelRate)
def _last(rule: Any, memory: Any, in_force: Any, t: Any) -> Any:
    return in_force
