"""Hinge losses."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike

from tarry.checks import as_nonnegative
from tarry.kernel import Parameters
from tarry.losses.base import as_ridge
from tarry.losses.kinked import Kinked, bend
from tarry.losses.supervised import labelled, signed


class Hinge(Parameters, Kinked, init=False):
    """f_t(x) = max(0, 1 − y_t⟨φ_t, x⟩) + (ridge/2)‖x‖².

    ``labels`` are −1 and +1, or 0 and 1. ``smoothing`` gives a smooth lower bound instead.

    >>> Hinge([[1.0, 2.0]], [-1]).value([1.0, 0.0], t=1)
    2.0
    """

    rows: Any
    ridge: float
    smoothing: float

    def __new__(cls, features: ArrayLike, labels: ArrayLike, *, ridge: float = 0.0, smoothing: float = 0.0) -> Self:
        rows = labelled(features, signed(labels))
        return cls.make(rows, as_ridge(ridge), as_nonnegative(smoothing, "smoothing"))


@bend.on(Hinge)
def _bend(loss: Any, z: Any, y: Any) -> Any:
    return 1.0 - y * z, -y, 1.0, 0.0
