"""Products of domains."""

from __future__ import annotations

from math import hypot
from typing import Any, Self

import numpy as np

from tarry.domains.base import Domain, Vector, as_domain, project
from tarry.kernel import Parameters


class Product(Parameters, init=False):
    """The product {(x, y) : x ∈ first, y ∈ second}; :func:`product` takes more than two.

    ``split`` is the dimension of the first.

    >>> from tarry.domains import Ball, Box
    >>> Product(Ball(2, radius=1.5), Box(0.0, [4.0])).diameter
    5.0
    """

    first: Any
    second: Any
    split: int

    def __new__(cls, first: Domain, second: Domain) -> Self:
        as_domain(first, "first")
        as_domain(second, "second")
        return cls.make(first, second, int(first.dimension))

    @property
    def dimension(self) -> int:
        return self.split + int(self.second.dimension)

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
        parts = (
            self.first.linear_minimiser(g[: self.split]),
            self.second.linear_minimiser(g[self.split :]),
        )
        return np.concatenate(parts)


@project.on(Product)
def _project(domain: Product, x: Vector, scratch: Vector) -> None:
    project(domain.first, x[: domain.split], scratch[: domain.split])
    project(domain.second, x[domain.split :], scratch[domain.split :])


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
