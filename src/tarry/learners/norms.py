"""Norms in which DW-FTRL regularises: Euclidean, or Mahalanobis on ellipsoids of that norm.

The regret theorems need ‖·‖²/2 to be 1-strongly convex in the norm itself, which only inner-product norms are.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.domains import Ball, Domain, Ellipsoid, project
from tarry.domains.base import as_definite
from tarry.kernel import Parameters, register_methods, verb, verb_with_default
from tarry.learners.states import Array


class Norm(Parameters):
    """Declare what a norm says of itself; its methods are registered for the verbs of their name."""

    is_quadratic = True  # strong convexity of the losses then pays for the regulariser

    def __init_subclass__(cls) -> None:
        register_methods(cls, (raise_dual, project_in, dual_size, diameter_in))

    def check(self, domain: Any) -> None:
        """Raise ValueError for domains that have no projection in this norm."""


@verb
def raise_dual(norm: Norm, gradient: Array, scale: float, out: Array) -> None:
    """Add scale · Q⁻¹ gradient to out."""


@verb
def project_in(norm: Norm, domain: Domain, x: Array, scratch: Array) -> None:
    """Replace x by the nearest point of the domain in this norm."""


@verb_with_default
def dual_size(norm: Norm, gradient: Array) -> float:
    """Return √(gᵀQ⁻¹g), the gradient's length in the dual norm; NaN for norms that do not say."""
    return np.nan


@verb_with_default
def diameter_in(norm: Norm, domain: Domain) -> float:
    """Return the domain's diameter in this norm; NaN for norms that do not say."""
    return np.nan


class Euclidean(Norm):
    """Measure in the ordinary norm, on every domain.

    >>> Euclidean().dual_size(np.array([3.0, 4.0]))
    5.0
    """

    def raise_dual(self, gradient: Array, scale: float, out: Array) -> None:
        for i in range(out.size):
            out[i] += scale * gradient[i]

    def project_in(self, domain: Domain, x: Array, scratch: Array) -> None:
        project(domain, x, scratch)

    def dual_size(self, gradient: Array) -> float:
        squares = 0.0
        for i in range(gradient.size):
            squares += gradient[i] * gradient[i]
        return sqrt(squares)

    def diameter_in(self, domain: Domain) -> float:
        return domain.diameter


class Mahalanobis(Norm, init=False):
    """Measure ‖x‖² = xᵀQx for a symmetric positive definite Q, on domains that are balls of this norm.

    >>> Mahalanobis([[4.0, 0.0], [0.0, 1.0]]).dual_size(np.array([6.0, 4.0]))
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

    def raise_dual(self, gradient: Array, scale: float, out: Array) -> None:
        for i in range(out.size):
            total = 0.0
            for j in range(out.size):
                total += self.inverse[i, j] * gradient[j]
            out[i] += scale * total

    def dual_size(self, gradient: Array) -> float:
        squares = 0.0
        for i in range(gradient.size):
            for j in range(gradient.size):
                squares += gradient[i] * self.inverse[i, j] * gradient[j]
        return sqrt(max(squares, 0.0))  # rounding may leave a tiny negative

    def diameter_in(self, domain: Domain) -> float:
        return 2.0 * norm_radius(domain, self)

    def project_in(self, domain: Domain, x: Array, scratch: Array) -> None:
        # The domain is a ball of this norm: shrink towards its centre.
        squares = 0.0
        for i in range(x.size):
            for j in range(x.size):
                squares += (x[i] - domain.center[i]) * self.matrix[i, j] * (x[j] - domain.center[j])
        reach = norm_radius(domain, self)
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
