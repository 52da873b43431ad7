"""The probability simplex and its multiples."""

from __future__ import annotations

from math import sqrt

import numpy as np

from tarry.checks import Count, Positive
from tarry.domains.base import Vector, project
from tarry.kernel import Parameters


class Simplex(Parameters):
    """The simplex {x ≥ 0 : Σ x_i = scale} in R^dimension.

    It is flat: no ball of R^dimension fits in it, so its inner radius is 0 and DWFTBL refuses it. Learners over arms
    (Exp3, TsallisFTRL) play its vertices instead.

    >>> simplex = Simplex(4)
    >>> simplex.center.tolist(), simplex.linear_minimiser(np.array([2.0, 1.0, 3.0, 1.5])).tolist()
    ([0.25, 0.25, 0.25, 0.25], [0.0, 1.0, 0.0, 0.0])
    """

    dimension: Count
    scale: Positive = 1.0

    @property
    def center(self) -> Vector:
        return np.full(self.dimension, self.scale / self.dimension)

    @property
    def diameter(self) -> float:
        return self.scale * sqrt(2.0) if self.dimension > 1 else 0.0

    @property
    def inner_radius(self) -> float:
        return 0.0

    @property
    def outer_radius(self) -> float:
        return self.scale * sqrt(1.0 - 1.0 / self.dimension)

    def depth(self, x: Vector) -> float:
        return 0.0

    def linear_minimiser(self, g: Vector) -> Vector:
        vertex = np.zeros(self.dimension)
        vertex[int(np.argmin(g))] = self.scale
        return vertex


@project.on(Simplex)
def _project(domain: Simplex, x: Vector, scratch: Vector) -> None:
    # x becomes max(0, x − top − τ) where Σ max(0, x_i − top − τ) = scale. That sum is convex in τ and
    # piecewise linear, so Newton's steps from τ = −scale never overshoot, and they end, exactly, when
    # none drops an entry. Sum × slope falls to a quarter each step: a few passes, at worst some forty.
    # Measured from the largest entry, the entries that matter are exact however large x is.
    top = x[0]
    for i in range(1, x.size):
        top = max(top, x[i])
    threshold = -domain.scale
    kept = x.size + 1
    while True:
        count = 0
        total = 0.0
        for i in range(x.size):
            if x[i] - top > threshold:
                count += 1
                total += x[i] - top
        if count >= kept:
            break
        kept = count
        threshold = (total - domain.scale) / count
    for i in range(x.size):
        x[i] = max(0.0, x[i] - top - threshold)
