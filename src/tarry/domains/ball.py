"""The Euclidean ball."""

from __future__ import annotations

from math import sqrt
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_int, as_positive
from tarry.domains.base import Vector, as_vector, project
from tarry.kernel import Parameters


class Ball(Parameters, init=False):
    """The ball {x : ‖x − center‖ ≤ radius}.

    ``Ball(10, radius=2.0)`` is centred at the origin of R^10; ``center`` moves it.

    >>> ball = Ball(3, radius=2.0)
    >>> ball.diameter, ball.linear_minimiser(np.array([0.0, 0.0, 5.0])).tolist()
    (4.0, [0.0, 0.0, -2.0])
    """

    center: Vector
    radius: float

    def __new__(cls, dimension: int, radius: float = 1.0, *, center: ArrayLike | None = None) -> Self:
        size = as_int(dimension, "dimension", 1)
        middle = np.zeros(size) if center is None else center
        return cls.make(as_vector(middle, "center", size), as_positive(radius, "radius"))

    @property
    def dimension(self) -> int:
        return self.center.size

    @property
    def diameter(self) -> float:
        return 2.0 * self.radius

    @property
    def inner_radius(self) -> float:
        return self.radius

    @property
    def outer_radius(self) -> float:
        return self.radius

    def depth(self, x: Vector) -> float:
        return max(0.0, self.radius - float(np.linalg.norm(x - self.center)))

    def linear_minimiser(self, g: Vector) -> Vector:
        size = float(np.linalg.norm(g))
        if size == 0.0:
            return self.center.copy()
        return np.asarray(self.center - (self.radius / size) * g)


@project.on(Ball)
def _project(domain: Ball, x: Vector, scratch: Vector) -> None:
    squares = 0.0
    for i in range(x.size):
        away = x[i] - domain.center[i]
        squares += away * away
    if squares > domain.radius * domain.radius:
        shrink = domain.radius / sqrt(squares)
        for i in range(x.size):
            x[i] = domain.center[i] + shrink * (x[i] - domain.center[i])
