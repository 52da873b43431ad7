"""The paper's clairvoyant coin: a round's chance falls with its own delay."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarry.checks import as_positive
from tarry.kernel import Parameters
from tarry.schedulers.base import as_capacity, expired
from tarry.schedulers.survival import NEVER, Surviving, chance, harmonic, invert, next_harmonic, scale_of


class Coin(Parameters, Surviving, init=False):
    """Track round t with probability p_t = min{1, C/(safety · H_t · (d_t+1))} and keep it to arrival.

    Sees each delay when its round begins (clairvoyant), never preempts; weight 1/p_t. The moments of
    :class:`Pareto` without preemption: the corollary of the paper's appendix "Non-Preemptive Framework".

    >>> float(Coin().survival(t=2, delay=1, capacity=16))
    0.3333333333333333
    """

    safety: float

    needs_delays = True

    def __new__(cls, safety: float = 16.0) -> Self:
        return cls.make(as_positive(safety, "safety"))

    def survival(self, t: int, delay: ArrayLike, capacity: int | None) -> NDArray[np.float64]:
        """P(d'_t ≥ age) = p_t at every age, for a round with this delay."""
        scale = as_capacity(capacity) / (self.safety * harmonic(t))
        return np.minimum(1.0, scale / (np.asarray(delay, dtype=np.float64) + 1.0))


@expired.on(Coin)
def _expired(scheduler: Any, state: Any, t: Any, pending: Any) -> Any:
    return -1


@scale_of.on(Coin)
def _scale_of(scheduler: Any, state: Any, request: Any) -> Any:
    wide = request.capacity / (scheduler.safety * next_harmonic(state))
    return min(1.0, wide / (request.delay + 1.0))


@chance.on(Coin)
def _chance(scheduler: Any, scale: Any, s: Any, age: Any) -> Any:
    return scale


@invert.on(Coin)
def _invert(scheduler: Any, scale: Any, t: Any, u: Any) -> Any:
    return NEVER if u <= scale else -1.0
