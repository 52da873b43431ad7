"""Losses of a linear prediction: f_t(x) = ℓ(⟨φ_t, x⟩, y_t) + (ridge/2)‖x‖², data rows [φ_t, y_t].

A member gives the scalar curve and its slope in the prediction z,

    curve(loss, z, y)     ℓ(z, y)
    slope(loss, z, y)     ∂ℓ/∂z

and inherits everything else. ℓ is convex in z and not negative. Least squares and the logistic loss are here, losses
with a kink in :mod:`tarry.losses.kinked`.
"""

from __future__ import annotations

from math import exp, log1p, sqrt
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_nonnegative
from tarry.kernel import entry, step, verb
from tarry.losses.base import Listed, Losses, Region, Vector, as_column, fetch, gradient, reach, value


class Supervised(Losses, init=False):
    """Base of losses of a linear prediction; ``is_signed`` members take labels of −1 and +1, or 0 and 1."""

    ridge: float

    is_curved = True
    is_signed = False

    def __new__(cls, features: ArrayLike, labels: ArrayLike, *, ridge: float = 0.0) -> Self:
        return cls.make(cls._labelled(features, labels), as_nonnegative(ridge, "ridge"))

    @classmethod
    def _labelled(cls, features: ArrayLike, labels: ArrayLike) -> Listed:
        """Return rows [φ_t, y_t] from features of shape (horizon, dimension) and one label per round."""
        table = Listed(features, "features")
        column = as_column(signed(labels) if cls.is_signed else labels, "labels", table)
        return Listed(np.column_stack((table.values, column)), "features")

    @property
    def dimension(self) -> int:
        return int(self.rows.width) - 1

    @property
    def strong_convexity(self) -> float:
        return self.ridge

    def gradient_bound(self, domain: Region) -> float:
        return self._extremes(domain)[0] + self.ridge * reach(domain)

    def value_bound(self, domain: Region) -> float:
        return self._extremes(domain)[1] + self.ridge * reach(domain) ** 2 / 2

    def _extremes(self, domain: Region) -> tuple[float, float]:
        """Return the largest gradient and value on the outer ball, without the ridge: a pass over all rounds."""
        out, row = np.zeros(2), np.zeros(self.rows.width)
        center, radius = np.ascontiguousarray(domain.center), float(domain.outer_radius)
        _find_extremes.dispatcher_for(self)(self, self.horizon, center, radius, row, out)
        return float(out[0]), float(out[1])


@verb
def curve(loss: Supervised, z: float, y: float) -> float:
    """Return the loss of predicting z where the label is y."""


@verb
def slope(loss: Supervised, z: float, y: float) -> float:
    """Return a subgradient of the curve in z."""


@step
def predict_label(row: Vector, x: Vector) -> float:
    """Return ⟨φ, x⟩."""
    z = 0.0
    for i in range(x.size):
        z += row[i] * x[i]
    return z


@step
def half_square(x: Vector) -> float:
    """Return ‖x‖²/2."""
    squares = 0.0
    for i in range(x.size):
        squares += x[i] * x[i]
    return 0.5 * squares


@value.on(Supervised)
def _value(loss: Supervised, row: Vector, x: Vector) -> float:
    total = curve(loss, predict_label(row, x), row[x.size])
    if loss.ridge > 0.0:
        total += loss.ridge * half_square(x)
    return total


@gradient.on(Supervised)
def _gradient(loss: Supervised, row: Vector, x: Vector, out: Vector) -> None:
    s = slope(loss, predict_label(row, x), row[x.size])
    for i in range(x.size):
        out[i] = s * row[i] + loss.ridge * x[i]


@entry
def _find_extremes(loss: Supervised, horizon: int, center: Vector, radius: float, row: Vector, out: Vector) -> None:
    # A convex curve and its slope are extreme where the prediction is, at both ends of its range.
    k = center.size
    for t in range(1, horizon + 1):
        fetch(loss.rows, t, row)
        middle = predict_label(row, center)
        squares = 0.0
        for i in range(k):
            squares += row[i] * row[i]
        norm = sqrt(squares)
        for end in range(2):
            z = middle + (2.0 * end - 1.0) * norm * radius
            out[0] = max(out[0], abs(slope(loss, z, row[k])) * norm)
            out[1] = max(out[1], curve(loss, z, row[k]))


def signed(labels: ArrayLike) -> np.ndarray:
    """Return labels as −1 and +1, from these or from 0 and 1."""
    given = np.asarray(labels, dtype=np.float64)
    if np.all((given == 0) | (given == 1)):
        return 2.0 * given - 1.0
    wrong = np.flatnonzero(np.abs(given) != 1)
    if not wrong.size:
        return given
    strange = np.flatnonzero((np.abs(given) != 1) & (given != 0))  # rather than one of a mixture
    t = int((strange if strange.size else wrong)[0])
    raise ValueError(f"labels must be -1 and +1 (or 0 and 1), got {given.ravel()[t]} in round {t + 1}")


class LeastSquares(Supervised, init=False):
    """f_t(x) = ½(⟨φ_t, x⟩ − y_t)² + (ridge/2)‖x‖².

    ``features`` has shape (horizon, dimension), ``labels`` one number per round.

    >>> LeastSquares([[1.0, 2.0]], [3.0]).value([1.0, 0.0], t=1)
    2.0
    """


@curve.on(LeastSquares)
def _square(loss: LeastSquares, z: float, y: float) -> float:
    return 0.5 * (z - y) * (z - y)


@slope.on(LeastSquares)
def _square_slope(loss: LeastSquares, z: float, y: float) -> float:
    return z - y


class Logistic(Supervised, init=False):
    """f_t(x) = log(1 + exp(−y_t⟨φ_t, x⟩)) + (ridge/2)‖x‖².

    ``features`` has shape (horizon, dimension); ``labels`` are −1 and +1, or 0 and 1.

    >>> round(Logistic([[1.0, 2.0]], [1]).value([0.0, 0.0], t=1), 6)
    0.693147
    """

    is_signed = True


@curve.on(Logistic)
def _logistic(loss: Logistic, z: float, y: float) -> float:
    margin = y * z
    # The exponential of a negative number only: it cannot overflow.
    if margin > 0.0:
        return log1p(exp(-margin))
    return log1p(exp(margin)) - margin


@slope.on(Logistic)
def _logistic_slope(loss: Logistic, z: float, y: float) -> float:
    margin = y * z
    if margin > 0.0:
        small = exp(-margin)
        return -y * small / (1.0 + small)
    return -y / (1.0 + exp(margin))
