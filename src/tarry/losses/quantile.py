"""Quantile (pinball) losses."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike

from tarry.checks import as_nonnegative
from tarry.kernel import Parameters
from tarry.losses.base import as_ridge
from tarry.losses.kinked import Kinked, bend
from tarry.losses.supervised import labelled


class Quantile(Parameters, Kinked, init=False):
    """f_t(x) = max(level·r, (level − 1)·r) + (ridge/2)‖x‖², r = y_t − ⟨φ_t, x⟩.

    Its best constant prediction is the ``level``-quantile of the labels, 0 < level < 1. ``smoothing``
    gives a smooth lower bound instead.

    >>> Quantile([[1.0]], [3.0], level=0.9).value([1.0], t=1)
    1.8
    """

    rows: Any
    ridge: float
    level: float
    smoothing: float

    def __new__(
        cls,
        features: ArrayLike,
        labels: ArrayLike,
        level: float = 0.5,
        *,
        ridge: float = 0.0,
        smoothing: float = 0.0,
    ) -> Self:
        if not 0.0 < float(level) < 1.0:
            raise ValueError(f"level must lie strictly between 0 and 1, got {level}")
        rows = labelled(features, labels)
        return cls.make(rows, as_ridge(ridge), float(level), as_nonnegative(smoothing, "smoothing"))


@bend.on(Quantile)
def _bend(loss: Any, z: Any, y: Any) -> Any:
    return y - z, -1.0, loss.level, 1.0 - loss.level
