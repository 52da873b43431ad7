"""Quadratic losses: the distance to a moving target."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_nonnegative, as_positive
from tarry.losses.base import Listed, Losses, Region, Vector, gradient, reach, value, with_offsets


class Quadratic(Losses, init=False):
    """f_t(x) = (λ/2)‖x − a_t‖² + b_t + (ridge/2)‖x‖², one target a_t per round.

    ``targets`` is an array of shape (horizon, dimension) or a generator such as
    :func:`tarry.losses.Drawn.block_targets`; λ > 0 is ``strong_convexity``, ``offsets`` are the b_t.

    >>> Quadratic([[1.0, 0.0]], strong_convexity=2.0).gradient([0.0, 0.5], t=1).tolist()
    [-2.0, 1.0]
    """

    curvature: float
    ridge: float
    offsets: int

    is_curved = True

    def __new__(
        cls,
        targets: ArrayLike | Any,
        strong_convexity: float = 1.0,
        *,
        offsets: ArrayLike | None = None,
        ridge: float = 0.0,
    ) -> Self:
        made, has_offsets = with_offsets(targets, "targets", offsets)
        curvature = as_positive(strong_convexity, "strong_convexity")
        return cls.make(made, curvature, as_nonnegative(ridge, "ridge"), has_offsets)

    @property
    def dimension(self) -> int:
        return int(self.rows.width) - self.offsets

    @property
    def strong_convexity(self) -> float:
        return self.curvature + self.ridge

    def gradient_bound(self, domain: Region) -> float:
        return self._extremes(domain)[0] + self.ridge * reach(domain)

    def value_bound(self, domain: Region) -> float:
        return self._extremes(domain)[1] + self.ridge * reach(domain) ** 2 / 2

    def isotropic(self) -> tuple[float, float] | None:
        return self.curvature + self.ridge, -self.curvature

    def _extremes(self, domain: Region) -> tuple[float, float]:
        """Return the largest gradient and value on the outer ball, without the ridge."""
        radius, center = float(domain.outer_radius), domain.center
        if not isinstance(self.rows, Listed):
            away = self.rows.largest_norm() + float(np.linalg.norm(center)) + radius
            return self.curvature * away, self.curvature * away**2 / 2
        steepest = highest = 0.0
        for part in self.rows.chunks():
            far = np.linalg.norm(part[:, : self.dimension] - center, axis=1) + radius
            near = np.maximum(far - 2 * radius, 0.0)
            offset = part[:, -1] if self.offsets else 0.0
            top = np.abs(self.curvature / 2 * far**2 + offset)
            bottom = np.abs(self.curvature / 2 * near**2 + offset)
            steepest = max(steepest, self.curvature * float(far.max()))
            highest = max(highest, float(np.maximum(top, bottom).max()))
        return steepest, highest


@value.on(Quadratic)
def _value(loss: Quadratic, row: Vector, x: Vector) -> float:
    away = 0.0
    squares = 0.0
    for i in range(x.size):
        gap = x[i] - row[i]
        away += gap * gap
        squares += x[i] * x[i]
    total = 0.5 * loss.curvature * away + 0.5 * loss.ridge * squares
    if loss.offsets:
        total += row[x.size]
    return total


@gradient.on(Quadratic)
def _gradient(loss: Quadratic, row: Vector, x: Vector, out: Vector) -> None:
    for i in range(x.size):
        out[i] = loss.curvature * (x[i] - row[i]) + loss.ridge * x[i]
