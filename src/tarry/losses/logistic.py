"""Logistic losses."""

from __future__ import annotations

from math import exp, log1p
from typing import Any, Self

from numpy.typing import ArrayLike

from tarry.kernel import Parameters
from tarry.losses.base import as_ridge
from tarry.losses.supervised import Supervised, curve, labelled, signed, slope


class Logistic(Parameters, Supervised, init=False):
    """f_t(x) = log(1 + exp(−y_t⟨φ_t, x⟩)) + (ridge/2)‖x‖².

    ``features`` has shape (horizon, dimension); ``labels`` are −1 and +1, or 0 and 1.

    >>> round(Logistic([[1.0, 2.0]], [1]).value([0.0, 0.0], t=1), 6)
    0.693147
    """

    rows: Any
    ridge: float

    def __new__(cls, features: ArrayLike, labels: ArrayLike, *, ridge: float = 0.0) -> Self:
        return cls.make(labelled(features, signed(labels)), as_ridge(ridge))


@curve.on(Logistic)
def _curve(loss: Any, z: Any, y: Any) -> Any:
    margin = y * z
    if margin > 0.0:
        return log1p(exp(-margin))
    return log1p(exp(margin)) - margin


@slope.on(Logistic)
def _slope(loss: Any, z: Any, y: Any) -> Any:
    margin = y * z
    if margin > 0.0:
        small = exp(-margin)
        return -y * small / (1.0 + small)
    return -y / (1.0 + exp(margin))
