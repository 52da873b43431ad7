"""The distance to a moving target: a cone, with its kink where one wants to be."""

from __future__ import annotations

from math import sqrt
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_nonnegative, as_positive
from tarry.kernel import step
from tarry.losses.base import Losses, Region, Vector, as_rows, gradient, reach, support, value
from tarry.losses.kinked import kinked, kinked_slope
from tarry.losses.supervised import half_square


class Distance(Losses, init=False):
    """f_t(x) = scale·‖x − a_t‖ + (ridge/2)‖x‖², one target a_t per round.

    A learner that explores at radius δ around the target pays scale·δ a round for it: the loss on which smoothing costs
    most. ``targets`` is an array of shape (horizon, dimension) or a generator of rows. ``smoothing`` gives the smooth
    lower bound max over ‖s‖ ≤ scale of ⟨s, x − a_t⟩ − (μ/2)‖s‖² instead.

    >>> Distance([[3.0, 0.0]], scale=2.0).value([0.0, 4.0], t=1)
    10.0
    """

    scale: float
    ridge: float
    smoothing: float

    has_kink = True
    is_curved = True

    def __new__(
        cls, targets: ArrayLike | Any, scale: float = 1.0, *, ridge: float = 0.0, smoothing: float = 0.0
    ) -> Self:
        return cls.make(
            as_rows(targets, "targets"),
            as_positive(scale, "scale"),
            as_nonnegative(ridge, "ridge"),
            as_nonnegative(smoothing, "smoothing"),
        )

    @property
    def dimension(self) -> int:
        return int(self.rows.width)

    @property
    def strong_convexity(self) -> float:
        return self.ridge

    def gradient_bound(self, domain: Region) -> float:
        return self.scale + self.ridge * reach(domain)

    def value_bound(self, domain: Region) -> float:
        away = self.rows.largest_norm() + float(np.linalg.norm(domain.center)) + float(domain.outer_radius)
        return float(self.scale * away + self.ridge * reach(domain) ** 2 / 2)

    def smoothed(self, smoothing: float) -> Self:
        return self._with(smoothing=as_nonnegative(smoothing, "smoothing"))


@step
def _away(row: Vector, x: Vector) -> float:
    squares = 0.0
    for i in range(x.size):
        squares += (x[i] - row[i]) * (x[i] - row[i])
    return sqrt(squares)


@value.on(Distance)
def _value(loss: Distance, row: Vector, x: Vector) -> float:
    return kinked(_away(row, x), loss.scale, loss.scale, loss.smoothing) + loss.ridge * half_square(x)


@gradient.on(Distance)
def _gradient(loss: Distance, row: Vector, x: Vector, out: Vector) -> None:
    away = _away(row, x)
    pull = kinked_slope(away, loss.scale, loss.scale, loss.smoothing) / away if away > 0.0 else 0.0
    for i in range(x.size):
        out[i] = pull * (x[i] - row[i]) + loss.ridge * x[i]


@support.on(Distance)
def _support(loss: Distance, row: Vector, x: Vector, height: float) -> float:
    away = _away(row, x)
    return away * kinked_slope(away, loss.scale, loss.scale, loss.smoothing) + loss.ridge * half_square(x)
