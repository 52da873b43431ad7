"""A rate that learns the backlog while it plays (this project's own)."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import Any, Self

from tarry.checks import as_positive
from tarry.kernel import Parameters
from tarry.learners.doubts import Facts
from tarry.learners.rules import SUM, first_rate, last_rate, next_rate


class Anytime(Parameters, init=False):
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
        scale = as_positive(diameter, "diameter") / as_positive(gradient_bound, "gradient_bound")
        return cls.make(scale, as_positive(own, "own"), as_positive(waiting, "waiting"))

    def doubts(self, facts: Facts) -> Iterator[str]:
        """A scheduler whose weights it does not serve."""
        if not facts.scheduler.fits_anytime_rates:
            name = type(facts.scheduler).__name__
            yield f"the rate Anytime is not valid with the scheduler {name}: use VarOpt or Priority, or a fixed rate"


@first_rate.on(Anytime)
def _first(rule: Any, memory: Any) -> Any:
    return rule.scale / sqrt(rule.own)


@next_rate.on(Anytime)
def _next(rule: Any, memory: Any, t: Any, pending: Any) -> Any:
    # The sum is over the rounds after the first, whose backlog is empty.
    memory[SUM] += rule.own + rule.waiting * pending
    return rule.scale / sqrt(rule.own + memory[SUM])


@last_rate.on(Anytime)
def _last(rule: Any, memory: Any, in_force: Any, t: Any) -> Any:
    return in_force
