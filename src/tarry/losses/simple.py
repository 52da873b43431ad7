"""Losses of the play itself: linear, quadratic, and the distance to a moving target."""

from __future__ import annotations

from math import inf, sqrt
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_nonnegative, as_positive
from tarry.kernel import step
from tarry.losses import base
from tarry.losses.supervised import kinked


class Linear(base.Ridged, init=False):
    """Losses that are linear in the play, with an optional ridge.

    f_t(x) = ⟨g_t, x⟩ + b_t + (ridge/2)‖x‖², one row g_t per round.

    ``rows`` is an array of shape (horizon, dimension) or a generator such as :func:`tarry.losses.drifting`; ``offsets``
    are the b_t (zero unless given).

    >>> Linear([[1.0, 0.0], [0.0, 2.0]]).value([0.5, 0.25], t=2)
    0.5
    """

    beyond: int

    def __new__(cls, rows: base.Rows, *, offsets: ArrayLike | None = None, ridge: float = 0.0) -> Self:
        source, beyond = base.with_offsets(rows, "rows", offsets)
        return cls.make(source, as_nonnegative(ridge, "ridge"), beyond)

    @property
    def is_curved(self) -> bool:  # type: ignore[override]
        return self.ridge > 0

    def isotropic(self) -> tuple[float, float] | None:
        return self.ridge, 1.0

    def _extremes(self, domain: base.Region) -> tuple[float, float]:
        if not base.is_table(self.rows):
            largest = float(self.rows.largest_norm())
            return largest, largest * base.reach(domain)
        steepest = highest = 0.0
        for part in self.rows.chunks():
            slopes = part[:, : self.dimension]
            lengths = np.linalg.norm(slopes, axis=1)
            middle = slopes @ domain.center + (part[:, -1] if self.beyond else 0.0)
            steepest = max(steepest, float(lengths.max()))
            # |⟨g, center⟩ + b| + ‖g‖·outer_radius is attained on the outer ball.
            highest = max(highest, float((np.abs(middle) + lengths * domain.outer_radius).max()))
        # The norm of a row would count its offset.
        return steepest if self.beyond else self.rows.largest_norm(), highest

    def corner_range(self) -> tuple[float, float] | None:
        if not base.is_table(self.rows):
            return None
        least, largest = inf, -inf
        for part in self.rows.chunks():
            slopes, offset = part[:, : self.dimension], part[:, -1] if self.beyond else 0.0
            least = min(least, float((slopes.min(axis=1) + offset).min()))
            largest = max(largest, float((slopes.max(axis=1) + offset).max()))
        return least + self.ridge / 2, largest + self.ridge / 2


@base.value.on(Linear)
def _linear(loss: Linear, row: base.Vector, x: base.Vector) -> float:
    total = 0.0
    for i in range(x.size):
        total += row[i] * x[i]
    if loss.beyond:
        total += row[x.size]
    if loss.ridge:  # most losses have none, and the squares are a second pass
        total += loss.ridge * base.half_square(x)
    return total


@base.gradient.on(Linear)
def _linear_gradient(loss: Linear, row: base.Vector, x: base.Vector, out: base.Vector) -> None:
    for i in range(x.size):
        out[i] = row[i] + loss.ridge * x[i]


class Quadratic(base.Ridged, init=False):
    """Losses that grow with the squared distance from a target.

    f_t(x) = (λ/2)‖x − a_t‖² + b_t + (ridge/2)‖x‖², one target a_t per round.

    ``targets`` is an array or a generator of rows, λ > 0 is ``strong_convexity``, ``offsets`` are the b_t.

    >>> Quadratic([[1.0, 0.0]], strong_convexity=2.0).gradient([0.0, 0.5], t=1).tolist()
    [-2.0, 1.0]
    """

    curvature: float
    beyond: int

    is_curved = True

    def __new__(
        cls, targets: base.Rows, strong_convexity: float = 1.0, *, offsets: ArrayLike | None = None, ridge: float = 0.0
    ) -> Self:
        source, beyond = base.with_offsets(targets, "targets", offsets)
        curvature = as_positive(strong_convexity, "strong_convexity")
        return cls.make(source, as_nonnegative(ridge, "ridge"), curvature, beyond)

    @property
    def strong_convexity(self) -> float:
        return self.curvature + self.ridge

    def isotropic(self) -> tuple[float, float] | None:
        return self.curvature + self.ridge, -self.curvature

    def _extremes(self, domain: base.Region) -> tuple[float, float]:
        radius, center = float(domain.outer_radius), domain.center
        if not base.is_table(self.rows):
            away = self.rows.largest_norm() + float(np.linalg.norm(center)) + radius
            return self.curvature * away, self.curvature * away**2 / 2
        steepest = highest = 0.0
        for part in self.rows.chunks():
            far = np.linalg.norm(part[:, : self.dimension] - center, axis=1) + radius
            near = np.maximum(far - 2 * radius, 0.0)
            offset = part[:, -1] if self.beyond else 0.0
            # An offset may be negative: the largest absolute value can be at the near end.
            top = np.abs(self.curvature / 2 * far**2 + offset)
            bottom = np.abs(self.curvature / 2 * near**2 + offset)
            steepest = max(steepest, self.curvature * float(far.max()))
            highest = max(highest, float(np.maximum(top, bottom).max()))
        return steepest, highest


@step
def _square_distance(row: base.Vector, x: base.Vector) -> float:
    squares = 0.0
    for i in range(x.size):
        squares += (x[i] - row[i]) * (x[i] - row[i])
    return squares


@base.value.on(Quadratic)
def _quadratic(loss: Quadratic, row: base.Vector, x: base.Vector) -> float:
    total = 0.5 * loss.curvature * _square_distance(row, x)
    if loss.ridge:
        total += loss.ridge * base.half_square(x)
    if loss.beyond:
        total += row[x.size]
    return total


@base.gradient.on(Quadratic)
def _quadratic_gradient(loss: Quadratic, row: base.Vector, x: base.Vector, out: base.Vector) -> None:
    for i in range(x.size):
        out[i] = loss.curvature * (x[i] - row[i]) + loss.ridge * x[i]


class Distance(base.Ridged, init=False):
    """Losses that grow with the distance from a target.

    f_t(x) = scale·‖x − a_t‖ + (ridge/2)‖x‖², one target a_t per round.

    A learner that explores at radius δ around the target pays scale·δ a round: the loss on which smoothing costs most.
    ``smoothing`` gives the smooth lower bound max over ‖s‖ ≤ scale of ⟨s, x − a_t⟩ − (μ/2)‖s‖² instead.

    >>> Distance([[3.0, 0.0]], scale=2.0).value([0.0, 4.0], t=1)
    10.0
    """

    scale: float
    smoothing: float

    has_kink = True
    is_curved = True

    def __new__(cls, targets: base.Rows, scale: float = 1.0, *, ridge: float = 0.0, smoothing: float = 0.0) -> Self:
        rows, length = base.as_rows(targets, "targets"), as_positive(scale, "scale")
        return cls.make(rows, as_nonnegative(ridge, "ridge"), length, as_nonnegative(smoothing, "smoothing"))

    def _extremes(self, domain: base.Region) -> tuple[float, float]:
        away = self.rows.largest_norm() + float(np.linalg.norm(domain.center)) + float(domain.outer_radius)
        return self.scale, float(self.scale * away)

    def hessian(self, x: base.Vector, horizon: int) -> base.Vector:
        """Return the second derivative at x of the sum over rounds 1..horizon; rows must be listed."""
        out, k = np.zeros((x.size, x.size)), x.size
        for rows in base.Listed.make(self.rows.values[:horizon]).chunks():
            apart = x - rows
            squares = np.einsum("ij,ij->i", apart, apart)
            # Within scale·μ of the target the loss is a parabola, farther out a cone.
            is_far = squares > (self.scale * self.smoothing) ** 2
            pull = self.scale / np.sqrt(squares[is_far])
            cone = base.weighted_gram(apart[is_far], np.sqrt(pull / squares[is_far]))
            steep = float(pull.sum()) + np.count_nonzero(~is_far) / max(self.smoothing, 1e-300)
            out += steep * np.eye(k) - cone
        return out + horizon * self.ridge * np.eye(k)

    def support(self, row: base.Vector, x: base.Vector, height: float) -> float:
        away = sqrt(_square_distance(row, x))
        return away * kinked(away, self.scale, self.scale, self.smoothing)[1] + self.ridge * base.half_square(x)


@base.value.on(Distance)
def _distance(loss: Distance, row: base.Vector, x: base.Vector) -> float:
    away = sqrt(_square_distance(row, x))
    return kinked(away, loss.scale, loss.scale, loss.smoothing)[0] + loss.ridge * base.half_square(x)


@base.gradient.on(Distance)
def _distance_gradient(loss: Distance, row: base.Vector, x: base.Vector, out: base.Vector) -> None:
    away = sqrt(_square_distance(row, x))
    # At the target itself 0 is a subgradient.
    pull = kinked(away, loss.scale, loss.scale, loss.smoothing)[1] / away if away > 0.0 else 0.0
    for i in range(x.size):
        out[i] = pull * (x[i] - row[i]) + loss.ridge * x[i]
