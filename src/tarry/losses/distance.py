"""The distance to a moving target: a cone, with its kink where one wants to be."""

from __future__ import annotations

from math import sqrt
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_nonnegative, as_positive
from tarry.kernel import Parameters, step
from tarry.losses.base import Losses, as_ridge, as_rows, gradient, reach, support, value
from tarry.losses.kinked import kinked, kinked_slope
from tarry.losses.supervised import half_square


class Distance(Parameters, Losses, init=False):
    """f_t(x) = scale·‖x − a_t‖ + (ridge/2)‖x‖², one target a_t per round.

    Whoever explores at radius δ around the target pays scale·δ a round for it: the loss on which smoothing costs
    most. ``targets`` is an array of shape (horizon, dimension) or a generator of rows. ``smoothing`` gives the smooth
    lower bound max over ‖s‖ ≤ scale of ⟨s, x − a_t⟩ − (μ/2)‖s‖² instead.

    >>> Distance([[3.0, 0.0]], scale=2.0).value([0.0, 4.0], t=1)
    10.0
    """

    rows: Any
    scale: float
    ridge: float
    smoothing: float

    def __new__(
        cls, targets: ArrayLike | Any, scale: float = 1.0, *, ridge: float = 0.0, smoothing: float = 0.0
    ) -> Self:
        steep = as_positive(scale, "scale")
        return cls.make(as_rows(targets, "targets"), steep, as_ridge(ridge), as_nonnegative(smoothing, "smoothing"))

    @property
    def dimension(self) -> int:
        return int(self.rows.width)

    @property
    def strong_convexity(self) -> float:
        return self.ridge

    def gradient_bound(self, domain: Any) -> float:
        return self.scale + self.ridge * reach(domain)

    def value_bound(self, domain: Any) -> float:
        away = self.rows.largest_norm() + float(np.linalg.norm(domain.center)) + float(domain.outer_radius)
        return float(self.scale * away + self.ridge * reach(domain) ** 2 / 2)

    def smoothed(self, smoothing: float) -> Self:
        """The smooth lower bound of this loss; 0 is the loss itself."""
        return self.make(*self[:-1], as_nonnegative(smoothing, "smoothing"))


@step
def _away(row: Any, x: Any) -> Any:
    squares = 0.0
    for i in range(x.size):
        squares += (x[i] - row[i]) * (x[i] - row[i])
    return sqrt(squares)


@value.on(Distance)
def _value(loss: Any, row: Any, x: Any) -> Any:
    return kinked(_away(row, x), loss.scale, loss.scale, loss.smoothing) + loss.ridge * half_square(x)


@gradient.on(Distance)
def _gradient(loss: Any, row: Any, x: Any, out: Any) -> None:
    away = _away(row, x)
    pull = kinked_slope(away, loss.scale, loss.scale, loss.smoothing) / away if away > 0.0 else 0.0
    for i in range(x.size):
        out[i] = pull * (x[i] - row[i]) + loss.ridge * x[i]


@support.on(Distance)
def _support(loss: Any, row: Any, x: Any, height: Any) -> Any:
    away = _away(row, x)
    return away * kinked_slope(away, loss.scale, loss.scale, loss.smoothing) + loss.ridge * half_square(x)
