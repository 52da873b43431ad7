"""What a domain is: a closed convex set with a projection.

Members implement the verb ``project`` and the Python face below. ``inner_radius`` is the radius of
the largest known ball around ``center`` inside the set (0 if the set is flat), ``outer_radius`` of a
ball around it that contains the set; ``depth(x)`` is the radius of a ball around x that fits in the
set, the largest where it is easy to say and 0 outside; ``linear_minimiser(g)`` is a point where
⟨g, x⟩ is least.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarry.checks import as_int
from tarry.kernel import verb

Vector = NDArray[np.float64]


@verb
def project(domain: Any, x: Vector, scratch: Vector) -> None:
    """Replace x by the nearest point of the domain (Euclidean).

    ``scratch`` has at least as many entries as x; what it held and holds afterwards means nothing.
    """


class Domain(Protocol):
    """The Python face of a domain; see the module's text."""

    @property
    def dimension(self) -> int: ...
    @property
    def center(self) -> Vector: ...
    @property
    def diameter(self) -> float: ...
    @property
    def inner_radius(self) -> float: ...
    @property
    def outer_radius(self) -> float: ...
    def depth(self, x: Vector) -> float: ...
    def linear_minimiser(self, g: Vector) -> Vector: ...


def nearest(domain: Any, x: ArrayLike) -> Vector:
    """The nearest point of the domain to x, as a new array."""
    point = as_vector(x, "the point", domain.dimension)
    project(domain, point, np.empty(point.size))
    return point


def contains(domain: Any, x: ArrayLike, tolerance: float = 1e-9) -> bool:
    """Whether x lies in the domain up to a tolerance."""
    point = as_vector(x, "the point")
    return bool(np.linalg.norm(nearest(domain, point) - point) <= tolerance)


def as_vector(value: ArrayLike, name: str, size: int | None = None) -> Vector:
    """A finite one-dimensional float array of our own, or a sentence saying why not."""
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
    """A float array of our own, or a sentence where there is more in it than real numbers."""
    try:
        return np.array(value, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be made of real numbers, got {value!r}") from error


def as_definite(value: ArrayLike, name: str) -> Vector:
    """A symmetric positive definite matrix of our own, or a sentence saying why not."""
    matrix = as_array(value, name)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise ValueError(f"{name} must be square, got shape {matrix.shape}")
    if not np.all(np.isfinite(matrix)):
        i, j = (int(at) for at in np.argwhere(~np.isfinite(matrix))[0])
        raise ValueError(f"{name} must be finite, got {matrix[i, j]} at entry ({i}, {j})")
    apart = np.abs(matrix - matrix.T)
    if np.max(apart) > 1e-12 * np.max(np.abs(matrix)):
        i, j = (int(at) for at in np.unravel_index(np.argmax(apart), apart.shape))
        raise ValueError(
            f"{name} must be symmetric, got {matrix[i, j]} at ({i}, {j}) and {matrix[j, i]} at ({j}, {i}): "
            "use (A + A.T) / 2"
        )
    eigenvalues = np.linalg.eigvalsh(matrix)
    # Below this the sign of an eigenvalue is rounding.
    if eigenvalues[0] <= matrix.shape[0] * np.finfo(float).eps * eigenvalues[-1]:
        raise ValueError(
            f"{name} must be positive definite, but its eigenvalues reach from {eigenvalues[0]:g} to "
            f"{eigenvalues[-1]:g}: add a multiple of the identity"
        )
    return np.asarray((matrix + matrix.T) / 2)


def as_dimension(value: int) -> int:
    """A whole number of at least 1, or a sentence saying why not."""
    return as_int(value, "dimension", 1)


def as_domain(value: Any, name: str) -> Any:
    """A member of this room, the user's own included, or a sentence saying why not."""
    if not any(isinstance(value, cls) for cls in project.registry.members):
        raise TypeError(f"{name} must be a domain such as Ball(3), got {value!r}")
    return value
