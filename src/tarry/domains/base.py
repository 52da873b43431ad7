"""A domain is a closed convex set with a projection, the verb ``project``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarry.kernel import Parameters, register_methods, verb
from tarry.kernel.blame import failing

Vector = NDArray[np.float64]


class Domain(Parameters):
    """Base of domains: a member adds ``center``, its radii, ``linear_minimiser`` and ``project``, a verb.

    A method ``project(self, x, scratch)`` is registered for the verb, as ``@project.on(…)`` would do.
    """

    def __init_subclass__(cls) -> None:
        register_methods(cls, (project,))

    @property
    def dimension(self) -> int:
        """The number of entries of a point."""
        return int(self.center.size)

    @property
    def center(self) -> Vector:
        """A point of the set, around which the two radii are measured."""
        raise NotImplementedError(f"{type(self).__name__} needs a center")

    @property
    def inner_radius(self) -> float:
        """The radius of the largest known ball around the centre inside the set; 0 if the set is flat."""
        raise NotImplementedError(f"{type(self).__name__} needs an inner radius")

    @property
    def outer_radius(self) -> float:
        """The radius of a ball around the centre that contains the set."""
        raise NotImplementedError(f"{type(self).__name__} needs an outer radius")

    @property
    def diameter(self) -> float:
        """The largest distance of two points, or more."""
        return 2.0 * self.outer_radius

    def depth(self, x: Vector) -> float:
        """Return the radius of a ball around x that fits in the set: the largest where easily said, 0 outside."""
        return max(0.0, self.inner_radius - float(np.linalg.norm(x - self.center)))

    def linear_minimiser(self, g: Vector) -> Vector:
        """Return a point where ⟨g, x⟩ is least."""
        raise NotImplementedError(f"{type(self).__name__} needs a linear minimiser")


@verb
def project(domain: Domain, x: Vector, scratch: Vector) -> None:
    """Replace x by the nearest point of the domain (Euclidean).

    ``scratch`` has at least as many entries as x; what it held and holds afterwards means nothing.
    """


def nearest(domain: Domain, x: ArrayLike) -> Vector:
    """Return the nearest point of the domain to x, as a new array."""
    point = as_vector(x, "the point", domain.dimension)
    try:
        project(domain, point, np.empty(point.size))
    except Exception as error:
        raise failing(error) or error from error
    return point


def contains(domain: Domain, x: ArrayLike, tolerance: float = 1e-9) -> bool:
    """Return whether x lies in the domain up to a tolerance."""
    point = as_vector(x, "the point")
    return bool(np.linalg.norm(nearest(domain, point) - point) <= tolerance)


def as_vector(value: ArrayLike, name: str, size: int | None = None) -> Vector:
    """Return a copy as a finite one-dimensional float array, or raise ValueError."""
    vector = as_array(value, name)
    if vector.ndim != 1 or vector.size == 0:
        raise ValueError(f"{name} must be a vector with at least one entry, got shape {vector.shape}")
    if size is not None and vector.size != size:
        raise ValueError(f"{name} has {vector.size} entries, the domain has {size}")
    if not np.all(np.isfinite(vector)):
        bad = int(np.flatnonzero(~np.isfinite(vector))[0])
        raise ValueError(f"{name} must be finite, got {vector[bad]} at entry {bad}")
    return vector


def as_array(value: ArrayLike, name: str) -> Vector:
    """Return a copy as a float array, or raise ValueError if there is more in it than real numbers."""
    try:
        return np.array(value, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be made of real numbers, got {value!r}") from error


def as_definite(value: ArrayLike, name: str) -> Vector:
    """Return a copy of a symmetric positive definite matrix, or raise ValueError if it is not one."""
    matrix = as_array(value, name)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise ValueError(f"{name} must be square, got shape {matrix.shape}")
    if not np.all(np.isfinite(matrix)):
        i, j = (int(at) for at in np.argwhere(~np.isfinite(matrix))[0])
        raise ValueError(f"{name} must be finite, got {matrix[i, j]} at entry ({i}, {j})")
    apart = np.abs(matrix - matrix.T)  # what rounding leaves is forgiven, and averaged out below
    if np.max(apart) > 1e-12 * np.max(np.abs(matrix)):
        i, j = (int(at) for at in np.unravel_index(np.argmax(apart), apart.shape))
        here, there = f"{matrix[i, j]} at ({i}, {j})", f"{matrix[j, i]} at ({j}, {i})"
        raise ValueError(f"{name} must be symmetric, got {here} and {there}: use (A + A.T) / 2")
    least, largest = np.linalg.eigvalsh(matrix)[[0, -1]]
    # Below this the sign of an eigenvalue is rounding.
    if least <= matrix.shape[0] * np.finfo(float).eps * largest:
        problem = f"must be positive definite, but its eigenvalues reach from {least:g} to {largest:g}"
        raise ValueError(f"{name} {problem}: add a multiple of the identity")
    return np.asarray((matrix + matrix.T) / 2)


def as_domain(value: Any, name: str) -> Any:
    """Return a domain, the user's own included, or raise TypeError if it has no projection."""
    if isinstance(value, Domain):
        project.find(type(value))
    if not any(isinstance(value, cls) for cls in project.members):
        raise TypeError(f"{name} must be a domain such as Ball(3), got {value!r}")
    return value
