"""The paper's Pareto scheduler."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarry.checks import as_positive
from tarry.kernel import Parameters
from tarry.schedulers.base import as_capacity
from tarry.schedulers.survival import Surviving, chance, harmonic, invert, next_harmonic, scale_of
from tarry.theory import universal_safety


class Pareto(Parameters, Surviving, init=False):
    """Proxy delays with the tail min{1, C/(safety · H_s · (age+1))}, H_s = 1 + … + 1/s.

    Needs no knowledge of delays; round s keeps its own H_s. With the paper's ``safety`` = 16 the set is
    full with probability at most e^(−C). Preempts. The corollary "Pareto scheduler" of the paper.

    >>> float(Pareto().survival(t=2, age=1, capacity=16))
    0.3333333333333333
    """

    safety: float

    needs_preemption = True

    def __new__(cls, safety: float = 16.0) -> Self:
        return cls.make(as_positive(safety, "safety"))

    @classmethod
    def calibrated(cls, capacity: int, *, saturation: float = 1e-3) -> Self:
        """The smallest safety that keeps a full set below this probability for all delays (not the paper's).

        >>> round(Pareto.calibrated(16).safety, 2)
        3.06
        """
        return cls(universal_safety(capacity=capacity, target=saturation))

    def survival(self, t: int, age: ArrayLike, capacity: int | None) -> NDArray[np.float64]:
        """P(d'_t ≥ age): the chance that round t is still tracked at this age, given room."""
        scale = as_capacity(capacity) / (self.safety * harmonic(t))
        return np.minimum(1.0, scale / (np.asarray(age, dtype=np.float64) + 1.0))


@scale_of.on(Pareto)
def _scale_of(scheduler: Any, state: Any, request: Any) -> Any:
    return request.capacity / (scheduler.safety * next_harmonic(state))


@chance.on(Pareto)
def _chance(scheduler: Any, scale: Any, s: Any, age: Any) -> Any:
    return min(1.0, scale / (age + 1.0))


@invert.on(Pareto)
def _invert(scheduler: Any, scale: Any, t: Any, u: Any) -> Any:
    return np.floor(scale / u) - 1.0
