"""The paper's rates and radii for values, at a known largest backlog or at the one a doubling trick guesses."""

from __future__ import annotations

from math import inf, sqrt
from typing import Any, Self

from tarry.checks import as_bool, as_int, as_positive
from tarry.kernel import Parameters, step
from tarry.learners.levels import level_ratio
from tarry.learners.rules import MAGNITUDE, first_rate, last_rate, next_rate, radius

FOLLOWING = -1.0


def as_room(capacity: int | None) -> float:
    """Capacity as the formulas read it: infinite where there is no limit."""
    return inf if capacity is None else float(as_int(capacity, "capacity", 1))


def as_guess(max_backlog: int | None) -> float:
    """The largest backlog, or FOLLOWING where it is guessed."""
    return FOLLOWING if max_backlog is None else float(as_int(max_backlog, "max_backlog"))


@step
def guessed_backlog(rule: Any, memory: Any) -> Any:
    """σ_max as given, or the epoch's magnitude less one."""
    return rule.max_backlog if rule.max_backlog >= 0.0 else max(memory[MAGNITUDE], 1.0) - 1.0


class BacklogRadius(Parameters, init=False):
    """δ_t = r min{1, √(νk) (ρ/t)^(1/4)}, ρ = 1 + σ_max/C; ``curved``: r min{1, ((νk)²ρ ln(t+1)/t)^(1/3)}.

    Without ``max_backlog`` it is 2^j − 1 in an epoch of ``Doubling("backlog")`` whose guess is 2^j, and t counts
    from the epoch's start. The paper's theorem "Capacity-Constrained BCO with Delays" and its doubling appendix.

    >>> import numpy as np
    >>> float(radius(BacklogRadius(1.0, spread=1.0, capacity=8, max_backlog=8), np.zeros(2), 32))
    0.5
    """

    inner_radius: float
    spread: float
    capacity: float
    max_backlog: float
    curved: int

    def __new__(
        cls,
        inner_radius: float,
        spread: float,
        capacity: int | None,
        max_backlog: int | None = None,
        *,
        curved: bool = False,
    ) -> Self:
        room, guess = as_room(capacity), as_guess(max_backlog)
        return cls.make(
            as_positive(inner_radius, "inner_radius"),
            as_positive(spread, "spread"),
            room,
            guess,
            int(as_bool(curved, "curved")),
        )

    @property
    def follows_backlog(self) -> bool:
        return self.max_backlog == FOLLOWING


@radius.on(BacklogRadius)
def _radius(rule: Any, memory: Any, t: Any) -> Any:
    level = 1.0 + guessed_backlog(rule, memory) / rule.capacity
    return rule.inner_radius * level_ratio(rule.spread, level, rule.curved, t)


class BacklogRate(Parameters, init=False):
    """η_t = (D/G) / (√t √(σ_max + a_t²ρ)), ρ = 1 + σ_max/C, a_t = νk/(δ_t/r) with the δ_t of :class:`BacklogRadius`.

    For convex losses and values; ``max_backlog`` as there. For strongly convex losses the rate is ``inverse_time(λ)``,
    which needs no backlog. The paper's theorem "Capacity-Constrained BCO with Delays" and its doubling appendix.

    >>> import numpy as np
    >>> round(float(next_rate(BacklogRate(2.0, 1.0, spread=1.0, capacity=None, max_backlog=3), np.zeros(2), 4, -1)), 4)
    0.4472
    """

    scale: float
    spread: float
    capacity: float
    max_backlog: float

    def __new__(
        cls,
        diameter: float,
        gradient_bound: float,
        spread: float,
        capacity: int | None,
        max_backlog: int | None = None,
    ) -> Self:
        scale = as_positive(diameter, "diameter") / as_positive(gradient_bound, "gradient_bound")
        return cls.make(scale, as_positive(spread, "spread"), as_room(capacity), as_guess(max_backlog))

    @property
    def follows_backlog(self) -> bool:
        return self.max_backlog == FOLLOWING


@step
def _rate(rule: Any, memory: Any, t: Any) -> Any:
    backlog = guessed_backlog(rule, memory)
    level = 1.0 + backlog / rule.capacity
    length = rule.spread / level_ratio(rule.spread, level, 0, t)
    return rule.scale / sqrt(t * (backlog + length * length * level))


@first_rate.on(BacklogRate)
def _first(rule: Any, memory: Any) -> Any:
    return _rate(rule, memory, 1)


@next_rate.on(BacklogRate)
def _next(rule: Any, memory: Any, t: Any, pending: Any) -> Any:
    return _rate(rule, memory, t)


@last_rate.on(BacklogRate)
def _last(rule: Any, memory: Any, in_force: Any, t: Any) -> Any:
    return _rate(rule, memory, t)
