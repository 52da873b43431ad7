"""Domains made of other domains: products, translates, and domains drawn towards their centre."""

from __future__ import annotations

from math import hypot
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.domains.base import Domain, Vector, as_domain, as_vector, project
from tarry.errors import ArgumentError
from tarry.kernel import step


class Product(Domain, init=False):
    """The product {(x, y) : x ∈ first, y ∈ second}; :func:`product` takes more than two.

    >>> from tarry.domains import Box
    >>> Product(Box([0.0], [3.0]), Box([0.0], [4.0])).diameter
    5.0
    """

    first: Any
    second: Any
    split: int  # the dimension of the first

    def __new__(cls, first: Domain, second: Domain) -> Self:
        as_domain(first, "first")
        as_domain(second, "second")
        return cls.make(first, second, int(first.dimension))

    @property
    def center(self) -> Vector:
        return np.concatenate((self.first.center, self.second.center))

    @property
    def diameter(self) -> float:
        return hypot(self.first.diameter, self.second.diameter)

    @property
    def inner_radius(self) -> float:
        return float(min(self.first.inner_radius, self.second.inner_radius))

    @property
    def outer_radius(self) -> float:
        return hypot(self.first.outer_radius, self.second.outer_radius)

    def depth(self, x: Vector) -> float:
        return float(min(self.first.depth(x[: self.split]), self.second.depth(x[self.split :])))

    def linear_minimiser(self, g: Vector) -> Vector:
        here, there = g[: self.split], g[self.split :]
        return np.concatenate((self.first.linear_minimiser(here), self.second.linear_minimiser(there)))

    def project(self, x: Vector, scratch: Vector) -> None:
        project(self.first, x[: self.split], scratch[: self.split])
        project(self.second, x[self.split :], scratch[self.split :])


def product(*domains: Domain) -> Any:
    """Return the product of one or more domains, in this order.

    >>> from tarry.domains import Ball, Simplex
    >>> product(Ball(2), Simplex(3), Ball(4)).dimension
    9
    """
    if not domains:
        raise ValueError("product needs at least one domain, got none")
    together = as_domain(domains[-1], "the last domain")
    for domain in reversed(domains[:-1]):
        together = Product(domain, together)
    return together


class Moved(Domain, init=False):
    """Base of translates and of shrunken domains."""

    domain: Any

    factor = 1.0

    @property
    def diameter(self) -> float:
        return self.factor * float(self.domain.diameter)

    @property
    def inner_radius(self) -> float:
        return self.factor * float(self.domain.inner_radius)

    @property
    def outer_radius(self) -> float:
        return self.factor * float(self.domain.outer_radius)


class Shift(Moved, init=False):
    """The translate {x + offset : x ∈ domain}.

    >>> from tarry.domains import Simplex
    >>> Shift(Simplex(2), [1.0, -1.0]).center.tolist()
    [1.5, -0.5]
    """

    offset: Vector

    def __new__(cls, domain: Domain, offset: ArrayLike) -> Self:
        as_domain(domain, "domain")
        return cls.make(domain, as_vector(offset, "offset", domain.dimension))

    @property
    def center(self) -> Vector:
        return np.asarray(self.domain.center + self.offset)

    def depth(self, x: Vector) -> float:
        return float(self.domain.depth(x - self.offset))

    def linear_minimiser(self, g: Vector) -> Vector:
        return np.asarray(self.domain.linear_minimiser(g) + self.offset)

    def project(self, x: Vector, scratch: Vector) -> None:
        for i in range(x.size):
            x[i] -= self.offset[i]
        project(self.domain, x, scratch)
        for i in range(x.size):
            x[i] += self.offset[i]


class Shrink(Moved, init=False):
    """The set {o + factor·(x − o) : x ∈ domain}, o the domain's centre, 0 ≤ factor ≤ 1.

    Learners from values keep their centres in one, so that there is room around them.

    >>> from tarry.domains import Box
    >>> Shrink(Box([0.0], [4.0]), 0.5).linear_minimiser(np.array([1.0])).tolist()
    [1.0]
    """

    center: Vector
    factor: float

    def __new__(cls, domain: Domain, factor: float) -> Self:
        as_domain(domain, "domain")
        if not 0.0 <= factor <= 1.0:
            raise ArgumentError("factor", "must lie between 0 and 1", factor)
        return cls.make(domain, np.array(domain.center, dtype=np.float64), float(factor))

    def depth(self, x: Vector) -> float:
        if self.factor == 0.0:
            return 0.0
        return self.factor * float(self.domain.depth(self.center + (x - self.center) / self.factor))

    def linear_minimiser(self, g: Vector) -> Vector:
        return np.asarray(self.center + self.factor * (self.domain.linear_minimiser(g) - self.center))

    def project(self, x: Vector, scratch: Vector) -> None:
        project_shrunken(self.domain, self.center, self.factor, x, scratch)


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
