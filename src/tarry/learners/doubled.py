"""A rate that is told by a doubling trick how large things have grown."""

from __future__ import annotations

from math import sqrt
from typing import Any, Self

from tarry.checks import as_positive
from tarry.kernel import Parameters
from tarry.learners.rules import MAGNITUDE, first_rate, last_rate, next_rate


class Doubled(Parameters, init=False):
    """η = (D/G)/√magnitude, constant within an epoch of :class:`tarry.Doubling` (over "total" or "pair").

    The magnitude stands for T + total delay in the paper's convex rate.

    >>> import numpy as np
    >>> float(first_rate(Doubled(diameter=2.0, gradient_bound=1.0), np.array([0.0, 16.0])))  # of an epoch for 16
    0.5
    """

    scale: float

    follows_epochs = ("total", "pair")

    def __new__(cls, diameter: float, gradient_bound: float) -> Self:
        return cls.make(as_positive(diameter, "diameter") / as_positive(gradient_bound, "gradient_bound"))


@first_rate.on(Doubled)
def _first(rule: Any, memory: Any) -> Any:
    return rule.scale / sqrt(max(memory[MAGNITUDE], 1.0))


@next_rate.on(Doubled)
def _next(rule: Any, memory: Any, t: Any, pending: Any) -> Any:
    return rule.scale / sqrt(max(memory[MAGNITUDE], 1.0))


@last_rate.on(Doubled)
def _last(rule: Any, memory: Any, in_force: Any, t: Any) -> Any:
    return in_force
