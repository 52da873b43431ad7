"""Absolute losses."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike

from tarry.checks import as_nonnegative
from tarry.kernel import Parameters
from tarry.losses.base import as_ridge
from tarry.losses.kinked import Kinked, bend
from tarry.losses.supervised import labelled


class Absolute(Parameters, Kinked, init=False):
    """f_t(x) = |⟨φ_t, x⟩ − y_t| + (ridge/2)‖x‖².

    ``smoothing`` gives a smooth lower bound instead.

    >>> Absolute([[1.0, 2.0]], [3.0]).value([1.0, 0.0], t=1)
    2.0
    """

    rows: Any
    ridge: float
    smoothing: float

    def __new__(cls, features: ArrayLike, labels: ArrayLike, *, ridge: float = 0.0, smoothing: float = 0.0) -> Self:
        rows = labelled(features, labels)
        return cls.make(rows, as_ridge(ridge), as_nonnegative(smoothing, "smoothing"))


@bend.on(Absolute)
def _bend(loss: Any, z: Any, y: Any) -> Any:
    return z - y, 1.0, 1.0, 1.0
