"""Translated domains."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.domains.base import Domain, Vector, as_domain, as_vector, project
from tarry.kernel import Parameters


class Shift(Parameters, init=False):
    """The translate {x + offset : x ∈ domain}.

    >>> from tarry.domains import Simplex
    >>> Shift(Simplex(2), [1.0, -1.0]).center.tolist()
    [1.5, -0.5]
    """

    domain: Any
    offset: Vector

    def __new__(cls, domain: Domain, offset: ArrayLike) -> Self:
        as_domain(domain, "domain")
        return cls.make(domain, as_vector(offset, "offset", domain.dimension))

    @property
    def dimension(self) -> int:
        return self.offset.size

    @property
    def center(self) -> Vector:
        return np.asarray(self.domain.center + self.offset)

    @property
    def diameter(self) -> float:
        return float(self.domain.diameter)

    @property
    def inner_radius(self) -> float:
        return float(self.domain.inner_radius)

    @property
    def outer_radius(self) -> float:
        return float(self.domain.outer_radius)

    def depth(self, x: Vector) -> float:
        return float(self.domain.depth(x - self.offset))

    def linear_minimiser(self, g: Vector) -> Vector:
        return np.asarray(self.domain.linear_minimiser(g) + self.offset)


@project.on(Shift)
def _project(domain: Shift, x: Vector, scratch: Vector) -> None:
    for i in range(x.size):
        x[i] -= domain.offset[i]
    project(domain.domain, x, scratch)
    for i in range(x.size):
        x[i] += domain.offset[i]
