"""Huber losses."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike

from tarry.checks import as_positive
from tarry.kernel import Parameters
from tarry.losses.base import as_ridge
from tarry.losses.kinked import kinked, kinked_slope
from tarry.losses.supervised import Supervised, curve, labelled, slope


class Huber(Parameters, Supervised, init=False):
    """f_t(x) = r²/2 where |r| ≤ width, else width·|r| − width²/2, with r = ⟨φ_t, x⟩ − y_t.

    ``ridge`` adds (ridge/2)‖x‖².

    >>> Huber([[1.0, 2.0]], [3.0], width=1.0).value([1.0, 0.0], t=1)
    1.5
    """

    rows: Any
    ridge: float
    width: float

    def __new__(cls, features: ArrayLike, labels: ArrayLike, width: float = 1.0, *, ridge: float = 0.0) -> Self:
        return cls.make(labelled(features, labels), as_ridge(ridge), as_positive(width, "width"))


@curve.on(Huber)
def _curve(loss: Any, z: Any, y: Any) -> Any:
    return kinked(z - y, loss.width, loss.width, 1.0)


@slope.on(Huber)
def _slope(loss: Any, z: Any, y: Any) -> Any:
    return kinked_slope(z - y, loss.width, loss.width, 1.0)
