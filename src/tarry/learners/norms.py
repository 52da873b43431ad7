"""Norms in which DW-FTRL regularises: Euclidean, or Mahalanobis on ellipsoids of that norm.

The regret theorems need ‖·‖²/2 to be 1-strongly convex in the norm itself, which only
inner-product norms are.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.domains import Ball, Domain, Ellipsoid, as_definite, project
from tarry.kernel import Parameters, verb
from tarry.learners.states import Array


class Norm(Parameters):
    """Base of norms."""

    is_quadratic = True  # strong convexity of the losses then pays for the regulariser

    def check(self, domain: Any) -> None:
        """Raise ValueError for domains that have no projection in this norm."""


@verb
def raise_dual(norm: Norm, gradient: Array, scale: float, out: Array) -> None:
    """Add scale · Q⁻¹ gradient to out."""


@verb
def project_in(norm: Norm, domain: Domain, x: Array, scratch: Array) -> None:
    """Replace x by the nearest point of the domain in this norm."""


@verb
def dual_size(norm: Norm, gradient: Array) -> float:
    """Return √(gᵀQ⁻¹g), the gradient's length in the dual norm; NaN for norms that do not say."""


@dual_size.otherwise
def _unknown_size(norm: Norm, gradient: Array) -> float:
    return np.nan


@verb
def diameter_in(norm: Norm, domain: Domain) -> float:
    """Return the domain's diameter in this norm; NaN for norms that do not say."""


@diameter_in.otherwise
def _unknown_diameter(norm: Norm, domain: Domain) -> float:
    return np.nan


class Euclidean(Norm):
    """The ordinary norm; works with every domain.

    >>> dual_size(Euclidean(), np.array([3.0, 4.0]))
    5.0
    """


@raise_dual.on(Euclidean)
def _add(norm: Euclidean, gradient: Array, scale: float, out: Array) -> None:
    for i in range(out.size):
        out[i] += scale * gradient[i]


@project_in.on(Euclidean)
def _euclidean(norm: Euclidean, domain: Domain, x: Array, scratch: Array) -> None:
    project(domain, x, scratch)


@dual_size.on(Euclidean)
def _length(norm: Euclidean, gradient: Array) -> float:
    squares = 0.0
    for i in range(gradient.size):
        squares += gradient[i] * gradient[i]
    return sqrt(squares)


@diameter_in.on(Euclidean)
def _across(norm: Euclidean, domain: Domain) -> float:
    return domain.diameter


class Mahalanobis(Norm, init=False):
    """‖x‖² = xᵀQx for a symmetric positive definite Q, on domains that are balls of this norm.

    >>> dual_size(Mahalanobis([[4.0, 0.0], [0.0, 1.0]]), np.array([6.0, 4.0]))
    5.0
    """

    matrix: np.ndarray
    inverse: np.ndarray

    def __new__(cls, matrix: ArrayLike) -> Self:
        q = as_definite(matrix, "the norm's matrix")
        return cls.make(q, np.ascontiguousarray(np.linalg.inv(q)))

    def check(self, domain: Any) -> None:
        """Raise ValueError for domains whose projection in this norm has no closed form."""
        if any(isinstance(domain, cls) for cls in norm_radius.members):
            shape = getattr(domain, "matrix", np.eye(domain.dimension))
            if shape.shape == self.matrix.shape:
                scaled = shape * (self.matrix[0, 0] / shape[0, 0])
                # Equal up to a factor, as far as rounding in the caller's own scaling lets one tell.
                if np.max(np.abs(self.matrix - scaled)) <= 1e-12 * np.max(np.abs(scaled)):
                    return
        raise ValueError(
            f"a Mahalanobis norm needs an Ellipsoid (or Ball) of the same matrix up to scale, got "
            f"{domain!r}: use the Euclidean norm, or Ellipsoid(matrix=Q)"
        )


@raise_dual.on(Mahalanobis)
def _add_inverse(norm: Mahalanobis, gradient: Array, scale: float, out: Array) -> None:
    for i in range(out.size):
        total = 0.0
        for j in range(out.size):
            total += norm.inverse[i, j] * gradient[j]
        out[i] += scale * total


@dual_size.on(Mahalanobis)
def _dual_length(norm: Mahalanobis, gradient: Array) -> float:
    squares = 0.0
    for i in range(gradient.size):
        for j in range(gradient.size):
            squares += gradient[i] * norm.inverse[i, j] * gradient[j]
    return sqrt(max(squares, 0.0))  # rounding may leave a tiny negative


@diameter_in.on(Mahalanobis)
def _twice_the_radius(norm: Mahalanobis, domain: Domain) -> float:
    return 2.0 * norm_radius(domain, norm)


@project_in.on(Mahalanobis)
def _radial(norm: Mahalanobis, domain: Domain, x: Array, scratch: Array) -> None:
    # The domain is a ball of this norm: shrink towards its centre.
    squares = 0.0
    for i in range(x.size):
        for j in range(x.size):
            squares += (x[i] - domain.center[i]) * norm.matrix[i, j] * (x[j] - domain.center[j])
    reach = norm_radius(domain, norm)
    if squares > reach * reach:
        shrink = reach / sqrt(squares)
        for i in range(x.size):
            x[i] = domain.center[i] + shrink * (x[i] - domain.center[i])


def as_norm(value: Any, domain: Domain) -> Any:
    """Return a norm (None: the Euclidean); raise TypeError or ValueError if the domain has no projection in it."""
    norm = Euclidean() if value is None else value
    if isinstance(norm, type) or not any(isinstance(norm, cls) for cls in project_in.members):
        raise TypeError(f"norm must be Euclidean() or Mahalanobis(matrix), got {norm!r}")
    norm.check(domain)
    return norm


@verb
def norm_radius(domain: Domain, norm: Mahalanobis) -> float:
    """Return the domain's radius measured in the norm it is a ball of."""


@norm_radius.on(Ball)
def _of_ball(domain: Ball, norm: Mahalanobis) -> float:
    return domain.radius * sqrt(norm.matrix[0, 0])


@norm_radius.on(Ellipsoid)
def _of_ellipsoid(domain: Ellipsoid, norm: Mahalanobis) -> float:
    return domain.radius * sqrt(norm.matrix[0, 0] / domain.matrix[0, 0])
