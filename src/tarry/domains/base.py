"""What a domain is: a closed convex set with a projection.

Members implement the verb ``project`` and the Python methods below. ``inner_radius`` is the radius
of the largest known ball around ``center`` inside the set, ``outer_radius`` of a ball around it that
contains the set; ``depth(x)`` is the distance from x to the complement (0 outside).
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarry.kernel import verb

Vector = NDArray[np.float64]


@verb
def project(domain: Any, x: Vector) -> None:
    """Replace x by the nearest point of the domain (Euclidean)."""


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
    point = np.array(x, dtype=np.float64)
    project(domain, point)
    return point


def contains(domain: Any, x: ArrayLike, tolerance: float = 1e-9) -> bool:
    """Whether x lies in the domain up to a tolerance."""
    point = as_vector(x, "the point")
    return bool(np.linalg.norm(nearest(domain, point) - point) <= tolerance)


def as_vector(value: ArrayLike, name: str, size: int | None = None) -> Vector:
    """A finite one-dimensional float array, or a sentence saying why not."""
    vector = np.ascontiguousarray(value, dtype=np.float64)
    if vector.ndim != 1 or vector.size == 0:
        raise ValueError(f"{name} must be a vector with at least one entry, got shape {vector.shape}")
    if size is not None and vector.size != size:
        raise ValueError(f"{name} has {vector.size} entries, the domain has {size}")
    if not np.all(np.isfinite(vector)):
        bad = int(np.flatnonzero(~np.isfinite(vector))[0])
        raise ValueError(f"{name} must be finite, got {vector[bad]} at entry {bad}")
    return vector


def as_positive(value: float, name: str) -> float:
    """A positive finite number, or a sentence saying why not."""
    number = float(value)
    if not np.isfinite(number) or number <= 0:
        raise ValueError(f"{name} must be positive and finite, got {value}")
    return number
