"""The ball, the box, the simplex and the ellipsoid."""

from __future__ import annotations

from math import sqrt
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import Count, Positive, as_int, as_positive
from tarry.domains.base import Domain, Vector, as_definite, as_vector
from tarry.kernel import step

MOST_STEPS = 100  # of Newton's, never seen above ten or so: a stop for what rounding might do
ROUNDING = 1e-15  # a few ulps: Newton's last step changes nothing below it


class Ball(Domain, init=False):
    """The ball {x : ‖x − center‖ ≤ radius}, by default around the origin.

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
    def inner_radius(self) -> float:
        return self.radius

    outer_radius = inner_radius

    def linear_minimiser(self, g: Vector) -> Vector:
        size = float(np.linalg.norm(g))
        if size == 0.0:
            return self.center.copy()
        return np.asarray(self.center - (self.radius / size) * g)

    def project(self, x: Vector, scratch: Vector) -> None:
        squares = 0.0
        for i in range(x.size):
            away = x[i] - self.center[i]
            squares += away * away
        if squares > self.radius * self.radius:
            shrink = self.radius / sqrt(squares)
            for i in range(x.size):
                x[i] = self.center[i] + shrink * (x[i] - self.center[i])


class Box(Domain, init=False):
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
        low = as_vector(np.full(size, lower) if np.ndim(lower) == 0 else lower, "lower")
        high = as_vector(np.full(size, upper) if np.ndim(upper) == 0 else upper, "upper")
        if low.size != high.size:
            raise ValueError(f"lower has {low.size} entries, upper has {high.size}")
        if np.any(low > high):
            bad = int(np.flatnonzero(low > high)[0])
            raise ValueError(f"lower must not exceed upper, got {low[bad]} > {high[bad]} at entry {bad}")
        return cls.make(low, high)

    @property
    def center(self) -> Vector:
        return np.asarray(self.lower / 2 + self.upper / 2)  # halved first: the sum of two large bounds overflows

    @property
    def inner_radius(self) -> float:
        return float(np.min(self.upper - self.lower)) / 2

    @property
    def outer_radius(self) -> float:
        return float(np.linalg.norm(self.upper - self.lower)) / 2

    def depth(self, x: Vector) -> float:
        return max(0.0, float(np.min(np.minimum(x - self.lower, self.upper - x))))

    def linear_minimiser(self, g: Vector) -> Vector:
        return np.where(g > 0, self.lower, np.where(g < 0, self.upper, self.center))

    def project(self, x: Vector, scratch: Vector) -> None:
        for i in range(x.size):
            x[i] = min(max(x[i], self.lower[i]), self.upper[i])


class Simplex(Domain):
    """The simplex {x ≥ 0 : Σ x_i = scale} in R^dimension.

    The simplex is flat: no ball of R^dimension fits, so the inner radius is 0 and DWFTBL refuses it. Learners over arms
    (Exp3, TsallisFTRL) play the vertices instead.

    >>> simplex = Simplex(4)
    >>> simplex.center.tolist(), simplex.linear_minimiser(np.array([2.0, 1.0, 3.0, 1.5])).tolist()
    ([0.25, 0.25, 0.25, 0.25], [0.0, 1.0, 0.0, 0.0])
    """

    dimension: Count
    scale: Positive = 1.0

    inner_radius = 0.0

    @property
    def center(self) -> Vector:
        return np.full(self.dimension, self.scale / self.dimension)

    @property
    def diameter(self) -> float:
        return self.scale * sqrt(2.0) if self.dimension > 1 else 0.0

    @property
    def outer_radius(self) -> float:
        return self.scale * sqrt(1.0 - 1.0 / self.dimension)

    def linear_minimiser(self, g: Vector) -> Vector:
        vertex = np.zeros(self.dimension)
        vertex[int(np.argmin(g))] = self.scale
        return vertex

    def project(self, x: Vector, scratch: Vector) -> None:
        # x becomes max(0, x − top − τ) where Σ max(0, x_i − top − τ) = scale. That sum is convex in τ and
        # piecewise linear, so Newton's steps from τ = −scale never overshoot, and they end, exactly, when
        # none drops an entry. Sum × slope falls to a quarter each step: a few passes, at worst some forty.
        # Measured from the largest entry, the entries that matter are exact however large x is.
        top = x[0]
        for i in range(1, x.size):
            top = max(top, x[i])
        threshold = -self.scale
        size = x.size + 1
        while True:
            count = 0
            total = 0.0
            for i in range(x.size):
                if x[i] - top > threshold:
                    count += 1
                    total += x[i] - top
            if count >= size:
                break
            size = count
            threshold = (total - self.scale) / count
        for i in range(x.size):
            x[i] = max(0.0, x[i] - top - threshold)


class Ellipsoid(Domain, init=False):
    """The ellipsoid {x : (x − center)ᵀ A (x − center) ≤ radius²}, A symmetric positive definite.

    The half-axes are radius/√eigenvalue. A projection costs O(dimension²).

    >>> ellipsoid = Ellipsoid([[1.0, 0.0], [0.0, 4.0]], radius=2.0)
    >>> ellipsoid.outer_radius, ellipsoid.inner_radius
    (2.0, 1.0)
    """

    matrix: Vector
    radius: float
    center: Vector
    eigenvalues: Vector  # growing
    axes: Vector  # their eigenvectors, as rows

    def __new__(cls, matrix: ArrayLike, radius: float = 1.0, center: ArrayLike | None = None) -> Self:
        a = as_definite(matrix, "the ellipsoid's matrix")
        middle = as_vector(np.zeros(a.shape[0]) if center is None else center, "center", a.shape[0])
        eigenvalues, columns = map(np.ascontiguousarray, np.linalg.eigh(a))
        return cls.make(a, as_positive(radius, "radius"), middle, eigenvalues, np.ascontiguousarray(columns.T))

    @property
    def inner_radius(self) -> float:
        return float(self.radius / np.sqrt(self.eigenvalues[-1]))

    @property
    def outer_radius(self) -> float:
        return float(self.radius / np.sqrt(self.eigenvalues[0]))

    def depth(self, x: Vector) -> float:
        # A step of length ρ changes the norm of A by at most ρ·√(largest eigenvalue).
        away = self.axes @ (x - self.center)
        room = self.radius - float(np.sqrt(np.sum(self.eigenvalues * away**2)))
        return max(0.0, room / float(np.sqrt(self.eigenvalues[-1])))

    def linear_minimiser(self, g: Vector) -> Vector:
        along = self.axes @ g
        size = float(np.sqrt(np.sum(along**2 / self.eigenvalues)))
        if size == 0.0:
            return self.center.copy()
        return np.asarray(self.center - (self.radius / size) * (self.axes.T @ (along / self.eigenvalues)))

    def __repr__(self) -> str:
        radii = " ".join(f"{value:g}" for value in self.radius / np.sqrt(self.eigenvalues[:3]))
        more = " …" if self.dimension > 3 else ""
        return f"Ellipsoid(dimension {self.dimension}, radius={self.radius:g}, half-axes {radii}{more})"

    def project(self, x: Vector, scratch: Vector) -> None:
        squares = 0.0
        for i in range(x.size):
            along = 0.0
            for j in range(x.size):
                along += self.axes[i, j] * (x[j] - self.center[j])
            scratch[i] = along
            squares += self.eigenvalues[i] * along * along
        if squares <= self.radius * self.radius:
            return
        shift = multiplier(self.eigenvalues, self.radius, scratch)
        for i in range(x.size):
            scratch[i] /= 1.0 + shift * self.eigenvalues[i]
        for j in range(x.size):
            total = 0.0
            for i in range(x.size):
                total += self.axes[i, j] * scratch[i]
            x[j] = self.center[j] + total


@step
def multiplier(eigenvalues: Vector, radius: float, away: Vector) -> float:
    """Return the λ ≥ 0 with S(λ) = Σ μ_i (z_i / (1 + λμ_i))² = radius², for z = ``away`` outside.

    1/√S is increasing and concave in λ, so Newton's steps on 1/√S = 1/radius from 0 approach the root
    from the left, without overshooting (Moré and Sorensen, 1983, after Hebden).
    """
    shift = 0.0
    for _ in range(MOST_STEPS):
        squares = 0.0
        slope = 0.0
        for i in range(eigenvalues.size):
            grown = 1.0 + shift * eigenvalues[i]
            part = eigenvalues[i] * (away[i] / grown) * (away[i] / grown)
            squares += part
            slope += part * eigenvalues[i] / grown
        excess = sqrt(squares) / radius - 1.0
        if not excess > ROUNDING:
            break
        shift += excess * squares / slope
    return shift
