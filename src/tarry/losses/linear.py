"""Linear losses."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_nonnegative
from tarry.losses.base import Listed, Losses, Region, Vector, gradient, reach, value, with_offsets


class Linear(Losses, init=False):
    """f_t(x) = ⟨g_t, x⟩ + b_t + (ridge/2)‖x‖², one row g_t per round.

    ``rows`` is an array of shape (horizon, dimension) or a generator such as
    :func:`tarry.losses.drifting`; ``offsets`` are the b_t (zero unless given).

    >>> Linear([[1.0, 0.0], [0.0, 2.0]]).value([0.5, 0.25], t=2)
    0.5
    """

    ridge: float
    offsets: int

    def __new__(cls, rows: ArrayLike | Any, *, offsets: ArrayLike | None = None, ridge: float = 0.0) -> Self:
        made, has_offsets = with_offsets(rows, "rows", offsets)
        return cls.make(made, as_nonnegative(ridge, "ridge"), has_offsets)

    @property
    def is_curved(self) -> bool:  # type: ignore[override]
        return self.ridge > 0

    @property
    def dimension(self) -> int:
        return int(self.rows.width) - self.offsets

    @property
    def strong_convexity(self) -> float:
        return self.ridge

    def gradient_bound(self, domain: Region) -> float:
        return self._largest_row() + self.ridge * reach(domain)

    def value_bound(self, domain: Region) -> float:
        far = reach(domain)
        if not isinstance(self.rows, Listed):
            largest = float(self.rows.largest_norm()) * far
        else:
            largest = max(float(self._heights(part, domain).max()) for part in self.rows.chunks())
        return largest + self.ridge * far**2 / 2

    def isotropic(self) -> tuple[float, float] | None:
        return self.ridge, 1.0

    def corner_range(self) -> tuple[float, float] | None:
        if not isinstance(self.rows, Listed):
            return None
        ends = [self._corners(part) for part in self.rows.chunks()]
        least, largest = min(part.min() for part in ends), max(part.max() for part in ends)
        return float(least) + self.ridge / 2, float(largest) + self.ridge / 2

    def _corners(self, part: np.ndarray) -> np.ndarray:
        """Return the least and the largest entry of a piece of rows, offsets added."""
        if not self.offsets:
            return np.array([part.min(), part.max()])
        slopes, offset = part[:, :-1], part[:, -1]
        return np.array([(slopes.min(axis=1) + offset).min(), (slopes.max(axis=1) + offset).max()])

    def _largest_row(self) -> float:
        if not self.offsets:
            return float(self.rows.largest_norm())
        k = self.dimension
        return max(float(np.linalg.norm(part[:, :k], axis=1).max()) for part in self.rows.chunks())

    def _heights(self, part: np.ndarray, domain: Region) -> np.ndarray:
        """Return |⟨g, center⟩ + b| + ‖g‖·outer_radius by row: the largest absolute value on the outer ball."""
        slopes = part[:, : self.dimension]
        middle = slopes @ domain.center + (part[:, -1] if self.offsets else 0.0)
        return np.asarray(np.abs(middle) + np.linalg.norm(slopes, axis=1) * domain.outer_radius)


@value.on(Linear)
def _value(loss: Linear, row: Vector, x: Vector) -> float:
    total = 0.0
    for i in range(x.size):
        total += row[i] * x[i]
    if loss.offsets:
        total += row[x.size]
    if loss.ridge:
        squares = 0.0
        for i in range(x.size):
            squares += x[i] * x[i]
        total += 0.5 * loss.ridge * squares
    return total


@gradient.on(Linear)
def _gradient(loss: Linear, row: Vector, x: Vector, out: Vector) -> None:
    for i in range(x.size):
        out[i] = row[i] + loss.ridge * x[i]
