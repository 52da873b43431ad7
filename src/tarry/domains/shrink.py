"""Domains drawn towards their centre."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from tarry.domains.base import Domain, Vector, as_domain, project
from tarry.errors import ArgumentError
from tarry.kernel import Parameters, step


class Shrink(Parameters, init=False):
    """The set {o + factor·(x − o) : x ∈ domain}, o the domain's centre, 0 ≤ factor ≤ 1.

    Learners from values keep their centres in one, so that there is room around them.

    >>> from tarry.domains import Box
    >>> Shrink(Box([0.0], [4.0]), 0.5).linear_minimiser(np.array([1.0])).tolist()
    [1.0]
    """

    domain: Any
    center: Vector
    factor: float

    def __new__(cls, domain: Domain, factor: float) -> Self:
        as_domain(domain, "domain")
        if not 0.0 <= factor <= 1.0:
            raise ArgumentError("factor", "must lie between 0 and 1", factor)
        return cls.make(domain, np.array(domain.center, dtype=np.float64), float(factor))

    @property
    def dimension(self) -> int:
        return self.center.size

    @property
    def diameter(self) -> float:
        return self.factor * float(self.domain.diameter)

    @property
    def inner_radius(self) -> float:
        return self.factor * float(self.domain.inner_radius)

    @property
    def outer_radius(self) -> float:
        return self.factor * float(self.domain.outer_radius)

    def depth(self, x: Vector) -> float:
        if self.factor == 0.0:
            return 0.0
        return self.factor * float(self.domain.depth(self.center + (x - self.center) / self.factor))

    def linear_minimiser(self, g: Vector) -> Vector:
        return np.asarray(self.center + self.factor * (self.domain.linear_minimiser(g) - self.center))


@project.on(Shrink)
def _project(domain: Shrink, x: Vector, scratch: Vector) -> None:
    project_shrunken(domain.domain, domain.center, domain.factor, x, scratch)


@step
def project_shrunken(domain: Domain, center: Vector, factor: float, x: Vector, scratch: Vector) -> None:
    """Replace x by the nearest point of center + factor·(domain − center)."""
    if factor <= 0.0:
        for i in range(x.size):
            x[i] = center[i]
        return
    # The nearest point of a scaled set is the scaled nearest point of the scaled argument.
    for i in range(x.size):
        x[i] = center[i] + (x[i] - center[i]) / factor
    project(domain, x, scratch)
    for i in range(x.size):
        x[i] = center[i] + factor * (x[i] - center[i])
