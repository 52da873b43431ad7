"""Least squares."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike

from tarry.kernel import Parameters
from tarry.losses.base import as_ridge
from tarry.losses.supervised import Supervised, curve, labelled, slope


class LeastSquares(Parameters, Supervised, init=False):
    """f_t(x) = ½(⟨φ_t, x⟩ − y_t)² + (ridge/2)‖x‖².

    ``features`` has shape (horizon, dimension), ``labels`` one number per round.

    >>> LeastSquares([[1.0, 2.0]], [3.0]).value([1.0, 0.0], t=1)
    2.0
    """

    rows: Any
    ridge: float

    def __new__(cls, features: ArrayLike, labels: ArrayLike, *, ridge: float = 0.0) -> Self:
        return cls.make(labelled(features, labels), as_ridge(ridge))


@curve.on(LeastSquares)
def _curve(loss: Any, z: Any, y: Any) -> Any:
    return 0.5 * (z - y) * (z - y)


@slope.on(LeastSquares)
def _slope(loss: Any, z: Any, y: Any) -> Any:
    return z - y
