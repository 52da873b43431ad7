"""The paper's Bernoulli scheduler: one coin a round, the same for all."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarry.checks import as_positive
from tarry.kernel import Parameters
from tarry.schedulers.base import as_capacity, expired
from tarry.schedulers.survival import NEVER, Surviving, chance, invert, scale_of
from tarry.theory import calibrated_probability


class Bernoulli(Parameters, Surviving, init=False):
    """Track a round with probability p and keep it until its feedback arrives with weight 1/p.

    ``Bernoulli(max_backlog=σ)`` is the paper's rule p = min{1, C/(safety·(σ+1))}, which fills the set
    with probability at most e^(−C) for ``safety`` = 8; it is cautious, and p = 1 would be free where
    σ < C. ``Bernoulli(probability=p)`` takes any p in (0, 1]. Never preempts. The corollary "Bernoulli
    scheduler" of the paper. The field not given reads -1.

    >>> float(Bernoulli(max_backlog=3).survival(t=1, age=0, capacity=16))
    0.5
    """

    max_backlog: int
    probability: float
    safety: float

    def __new__(cls, max_backlog: int | None = None, *, probability: float | None = None, safety: float = 8.0) -> Self:
        if (max_backlog is None) == (probability is None):
            raise ValueError(f"give max_backlog or probability, and not both, got {max_backlog} and {probability}")
        if max_backlog is not None and (int(max_backlog) != max_backlog or max_backlog < 0):
            raise ValueError(f"max_backlog must be a whole number, not negative, got {max_backlog}")
        if probability is not None and not 0 < probability <= 1:
            raise ValueError(f"probability must lie in (0, 1], got {probability}")
        return cls.make(
            -1 if max_backlog is None else int(max_backlog),
            -1.0 if probability is None else float(probability),
            as_positive(safety, "safety"),
        )

    @classmethod
    def calibrated(cls, max_backlog: int, capacity: int, *, saturation: float = 1e-3) -> Self:
        """The largest p that keeps a full set below this probability, by the exact binomial tail (not the paper's).

        >>> round(Bernoulli.calibrated(200, 16).probability, 4)
        0.0327
        """
        p = calibrated_probability(max_backlog=max_backlog, capacity=capacity, target=saturation)
        return cls(probability=p)

    def survival(self, t: int, age: ArrayLike, capacity: int | None) -> NDArray[np.float64]:
        """P(d'_t ≥ age) = p at every age."""
        p = self.probability
        if p < 0:
            p = min(1.0, as_capacity(capacity) / (self.safety * (self.max_backlog + 1)))
        return np.full(np.shape(age), p)


@expired.on(Bernoulli)
def _expired(scheduler: Any, state: Any, t: Any, pending: Any) -> Any:
    return -1


@scale_of.on(Bernoulli)
def _scale_of(scheduler: Any, state: Any, request: Any) -> Any:
    if scheduler.probability > 0:
        return scheduler.probability
    return min(1.0, request.capacity / (scheduler.safety * (scheduler.max_backlog + 1.0)))


@chance.on(Bernoulli)
def _chance(scheduler: Any, scale: Any, s: Any, age: Any) -> Any:
    return scale


@invert.on(Bernoulli)
def _invert(scheduler: Any, scale: Any, t: Any, u: Any) -> Any:
    return NEVER if u <= scale else -1.0
