"""Losses of a linear prediction: f_t(x) = ℓ(⟨φ_t, x⟩, y_t) + (ridge/2)‖x‖², data rows [φ_t, y_t].

A member answers the verb ``curve``, ℓ(z, y) and its slope ∂ℓ/∂z in the prediction z, and inherits everything else. ℓ is
convex in z and not negative. Losses with a kink have smooth lower bounds: with u an
affine function of the prediction and up, down ≥ 0,

    ℓ(u) = max(up·u, −down·u),      ℓ_μ(u) = max_{−down ≤ s ≤ up} s·u − (μ/2) s²  ≤  ℓ(u)

so ℓ_μ is u²/(2μ) near the kink and linear away from it, with slopes of ℓ. A slope s of ℓ_μ also gives the plane s·u
below ℓ itself: ``support`` reports that plane, so the certificate of a smoothed problem is one of the exact problem.
"""

from __future__ import annotations

from math import exp, log1p, sqrt
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_nonnegative, as_positive
from tarry.errors import ArgumentError
from tarry.kernel import entry, register_methods, step, verb
from tarry.losses.base import Listed, Region, Ridged, Vector, as_column, gradient, half_square, value


class Supervised(Ridged, init=False):
    """Base of losses of a linear prediction; ``features`` has shape (horizon, dimension), ``labels`` one per round."""

    is_curved = True
    is_signed = False  # labels are −1 and +1, or 0 and 1
    beyond = 1  # the label

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        register_methods(cls, (curve, bend))

    def __new__(cls, features: ArrayLike, labels: ArrayLike, *, ridge: float = 0.0) -> Self:
        return cls.make(cls._labelled(features, labels), as_nonnegative(ridge, "ridge"))

    @classmethod
    def _labelled(cls, features: ArrayLike, labels: ArrayLike) -> Listed:
        """Return rows [φ_t, y_t] from features of shape (horizon, dimension) and one label per round."""
        table = Listed(features, "features")
        column = as_column(signed(labels) if cls.is_signed else labels, "labels", table)
        return Listed(np.column_stack((table.values, column)), "features")

    def _extremes(self, domain: Region) -> tuple[float, float]:
        out, center = np.zeros(2), np.ascontiguousarray(domain.center)
        _find_extremes.dispatcher_for(self)(self, self.horizon, center, float(domain.outer_radius), out)
        return float(out[0]), float(out[1])


@verb
def curve(loss: Supervised, z: float, y: float) -> tuple[float, float]:
    """Return the loss of predicting z where the label is y, and a subgradient in z; compiled code drops the unused."""


@verb
def bend(loss: Kinked, z: float, y: float) -> tuple[float, float, float, float]:
    """Return u, ∂u/∂z, up and down of a prediction."""


@step
def predict_label(row: Vector, x: Vector) -> float:
    """Return ⟨φ, x⟩."""
    z = 0.0
    for i in range(x.size):
        z += row[i] * x[i]
    return z


@value.on(Supervised)
def _value(loss: Supervised, row: Vector, x: Vector) -> float:
    total, _ = curve(loss, predict_label(row, x), row[x.size])
    if loss.ridge > 0.0:
        total += loss.ridge * half_square(x)
    return total


@gradient.on(Supervised)
def _gradient(loss: Supervised, row: Vector, x: Vector, out: Vector) -> None:
    _, slope = curve(loss, predict_label(row, x), row[x.size])
    for i in range(x.size):
        out[i] = slope * row[i] + loss.ridge * x[i]


@entry
def _find_extremes(loss: Supervised, horizon: int, center: Vector, radius: float, out: Vector) -> None:
    # A convex curve and its slope are extreme where the prediction is, at both ends of its range.
    k = center.size
    for t in range(1, horizon + 1):
        row = loss.rows.values[t - 1]
        middle = predict_label(row, center)
        squares = 0.0
        for i in range(k):
            squares += row[i] * row[i]
        norm = sqrt(squares)
        for end in range(2):
            height, slope = curve(loss, middle + (2.0 * end - 1.0) * norm * radius, row[k])
            out[0] = max(out[0], abs(slope) * norm)
            out[1] = max(out[1], height)


def signed(labels: ArrayLike) -> np.ndarray:
    """Return labels as −1 and +1, from these or from 0 and 1."""
    values = np.asarray(labels, dtype=np.float64)
    if np.all((values == 0) | (values == 1)):
        return 2.0 * values - 1.0
    wrong = np.flatnonzero(np.abs(values) != 1)
    if not wrong.size:
        return values
    strange = np.flatnonzero((np.abs(values) != 1) & (values != 0))  # rather than one of a mixture
    t = int((strange if strange.size else wrong)[0])
    raise ValueError(f"labels must be -1 and +1 (or 0 and 1), got {values.ravel()[t]} in round {t + 1}")


class LeastSquares(Supervised, init=False):
    """The squared error of a linear prediction.

    f_t(x) = ½(⟨φ_t, x⟩ − y_t)² + (ridge/2)‖x‖².

    >>> LeastSquares([[1.0, 2.0]], [3.0]).value([1.0, 0.0], t=1)
    2.0
    """

    def curve(self, z: float, y: float) -> tuple[float, float]:
        return 0.5 * (z - y) * (z - y), z - y


class Logistic(Supervised, init=False):
    """The logistic loss of a linear prediction.

    f_t(x) = log(1 + exp(−y_t⟨φ_t, x⟩)) + (ridge/2)‖x‖²; ``labels`` are −1 and +1, or 0 and 1.

    >>> round(Logistic([[1.0, 2.0]], [-1]).value([1.0, 0.0], t=1), 4)
    1.3133
    """

    is_signed = True

    def curve(self, z: float, y: float) -> tuple[float, float]:
        margin = y * z
        # The exponential of a negative number only: it cannot overflow.
        if margin > 0.0:
            small = exp(-margin)
            return log1p(small), -y * small / (1.0 + small)
        small = exp(margin)
        return log1p(small) - margin, -y / (1.0 + small)


@step
def kinked(u: float, up: float, down: float, smoothing: float) -> tuple[float, float]:
    """Return ℓ_μ(u) and dℓ_μ/du."""
    if u > smoothing * up:
        return up * u - 0.5 * smoothing * up * up, up
    if u < -smoothing * down:
        return -down * u - 0.5 * smoothing * down * down, -down
    if smoothing > 0.0:
        return 0.5 * u * u / smoothing, u / smoothing
    return 0.0, 0.0  # at the kink itself, where 0 is a subgradient


class Kinked(Supervised, init=False):
    """Base of losses with a kink: ``smoothing`` (μ) gives a smooth lower bound instead."""

    smoothing: float

    has_kink = True

    def __new__(cls, features: ArrayLike, labels: ArrayLike, *, ridge: float = 0.0, smoothing: float = 0.0) -> Self:
        rows = cls._labelled(features, labels)
        return cls.make(rows, as_nonnegative(ridge, "ridge"), as_nonnegative(smoothing, "smoothing"))

    def curve(self, z: float, y: float) -> tuple[float, float]:
        u, turn, up, down = bend(self, z, y)
        height, slope = kinked(u, up, down, self.smoothing)
        return height, turn * slope

    def support(self, row: Vector, x: Vector, height: float) -> float:
        u, _, up, down = bend(self, predict_label(row, x), row[x.size])
        return u * kinked(u, up, down, self.smoothing)[1] + self.ridge * half_square(x)


class Absolute(Kinked, init=False):
    """The absolute error of a linear prediction.

    f_t(x) = |⟨φ_t, x⟩ − y_t| + (ridge/2)‖x‖², or with ``smoothing`` a smooth lower bound.

    >>> Absolute([[1.0, 2.0]], [3.0]).value([1.0, 0.0], t=1)
    2.0
    """

    def bend(self, z: float, y: float) -> tuple[float, float, float, float]:
        return z - y, 1.0, 1.0, 1.0


class Hinge(Kinked, init=False):
    """The hinge loss of a linear prediction.

    f_t(x) = max(0, 1 − y_t⟨φ_t, x⟩) + (ridge/2)‖x‖², or with ``smoothing`` a smooth one; labels: −1, +1 or 0, 1.

    >>> Hinge([[1.0, 2.0]], [-1]).value([1.0, 0.0], t=1)
    2.0
    """

    is_signed = True

    def bend(self, z: float, y: float) -> tuple[float, float, float, float]:
        return 1.0 - y * z, -y, 1.0, 0.0


class Quantile(Kinked, init=False):
    """The quantile (pinball) loss of a linear prediction.

    f_t(x) = max(level·r, (level − 1)·r) + (ridge/2)‖x‖², r = y_t − ⟨φ_t, x⟩.

    The best constant prediction is the ``level``-quantile of the labels, 0 < level < 1. ``smoothing`` gives a smooth
    lower bound instead.

    >>> Quantile([[1.0]], [3.0], level=0.9).value([1.0], t=1)
    1.8
    """

    level: float

    def __new__(
        cls, features: ArrayLike, labels: ArrayLike, level: float = 0.5, *, ridge: float = 0.0, smoothing: float = 0.0
    ) -> Self:
        if not 0.0 < float(level) < 1.0:
            raise ArgumentError("level", "must lie strictly between 0 and 1", level)
        rows = cls._labelled(features, labels)
        return cls.make(rows, as_nonnegative(ridge, "ridge"), as_nonnegative(smoothing, "smoothing"), float(level))

    def bend(self, z: float, y: float) -> tuple[float, float, float, float]:
        return y - z, -1.0, self.level, 1.0 - self.level


class Huber(Supervised, init=False):
    """The Huber loss of a linear prediction.

    f_t(x) = r²/2 where |r| ≤ width, else width·|r| − width²/2, plus (ridge/2)‖x‖²; r = ⟨φ_t, x⟩ − y_t.

    >>> Huber([[1.0, 2.0]], [3.0], width=1.0).value([1.0, 0.0], t=1)
    1.5
    """

    width: float

    def __new__(cls, features: ArrayLike, labels: ArrayLike, width: float = 1.0, *, ridge: float = 0.0) -> Self:
        rows = cls._labelled(features, labels)
        return cls.make(rows, as_nonnegative(ridge, "ridge"), as_positive(width, "width"))

    def curve(self, z: float, y: float) -> tuple[float, float]:
        # Huber's loss is ℓ_μ with μ = 1, and so has no kink.
        return kinked(z - y, self.width, self.width, 1.0)
