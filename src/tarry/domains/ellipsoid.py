"""The ellipsoid, with its Euclidean projection."""

from __future__ import annotations

from math import sqrt
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_positive
from tarry.domains.base import Domain, Vector, as_definite, as_vector, project
from tarry.kernel import step

MOST_STEPS = 100  # never seen above ten or so: a stop for what rounding might do
ROUNDING = 1e-15  # a few ulps: Newton's last step changes nothing below it


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
        middle = np.zeros(a.shape[0]) if center is None else center
        eigenvalues, columns = np.linalg.eigh(a)
        return cls.make(
            a,
            as_positive(radius, "radius"),
            as_vector(middle, "center", a.shape[0]),
            np.ascontiguousarray(eigenvalues),
            np.ascontiguousarray(columns.T),
        )

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
        shown = " ".join(f"{value:g}" for value in self.radius / np.sqrt(self.eigenvalues[:3]))
        more = " …" if self.dimension > 3 else ""
        return f"Ellipsoid(dimension {self.dimension}, radius={self.radius:g}, half-axes {shown}{more})"


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


@project.on(Ellipsoid)
def _project(domain: Ellipsoid, x: Vector, scratch: Vector) -> None:
    squares = 0.0
    for i in range(x.size):
        along = 0.0
        for j in range(x.size):
            along += domain.axes[i, j] * (x[j] - domain.center[j])
        scratch[i] = along
        squares += domain.eigenvalues[i] * along * along
    if squares <= domain.radius * domain.radius:
        return
    shift = multiplier(domain.eigenvalues, domain.radius, scratch)
    for i in range(x.size):
        scratch[i] /= 1.0 + shift * domain.eigenvalues[i]
    for j in range(x.size):
        total = 0.0
        for i in range(x.size):
            total += domain.axes[i, j] * scratch[i]
        x[j] = domain.center[j] + total
