"""The axis-parallel box."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.domains.base import Vector, as_vector, project
from tarry.kernel import Parameters


class Box(Parameters, init=False):
    """The box {x : lower ≤ x ≤ upper}, entry by entry.

    One of the two may be a number, which then holds for every entry; two numbers make an interval.
    A side of length 0 is allowed and makes the inner radius 0.

    >>> box = Box(0.0, [3.0, 4.0])
    >>> box.diameter, box.inner_radius, box.linear_minimiser(np.array([1.0, -1.0])).tolist()
    (5.0, 1.5, [0.0, 4.0])
    """

    lower: Vector
    upper: Vector

    def __new__(cls, lower: ArrayLike, upper: ArrayLike) -> Self:
        size = max(np.size(lower), np.size(upper))
        low = as_vector(_spread(lower, size), "lower")
        high = as_vector(_spread(upper, size), "upper")
        if low.size != high.size:
            raise ValueError(f"lower has {low.size} entries, upper has {high.size}")
        if np.any(low > high):
            bad = int(np.flatnonzero(low > high)[0])
            raise ValueError(f"lower must not exceed upper, got {low[bad]} > {high[bad]} at entry {bad}")
        return cls.make(low, high)

    @property
    def dimension(self) -> int:
        return self.lower.size

    @property
    def center(self) -> Vector:
        return np.asarray(self.lower / 2 + self.upper / 2)

    @property
    def diameter(self) -> float:
        return float(np.linalg.norm(self.upper - self.lower))

    @property
    def inner_radius(self) -> float:
        return float(np.min(self.upper - self.lower)) / 2

    @property
    def outer_radius(self) -> float:
        return self.diameter / 2

    def depth(self, x: Vector) -> float:
        return max(0.0, float(np.min(np.minimum(x - self.lower, self.upper - x))))

    def linear_minimiser(self, g: Vector) -> Vector:
        return np.where(g > 0, self.lower, np.where(g < 0, self.upper, self.center))


def _spread(bound: ArrayLike, size: int) -> ArrayLike:
    return np.full(size, bound) if np.ndim(bound) == 0 else bound


@project.on(Box)
def _project(domain: Box, x: Vector, scratch: Vector) -> None:
    for i in range(x.size):
        x[i] = min(max(x[i], domain.lower[i]), domain.upper[i])
