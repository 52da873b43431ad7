"""Losses of a linear prediction: f_t(x) = ℓ(⟨φ_t, x⟩, y_t) + (ridge/2)‖x‖², data rows [φ_t, y_t].

A member gives the scalar curve and its slope in the prediction z,

    curve(loss, z, y)     ℓ(z, y)
    slope(loss, z, y)     ∂ℓ/∂z

and inherits everything else. ℓ is convex in z and not negative.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tarry.kernel import entry, step, verb
from tarry.losses.base import Listed, Losses, as_column, fetch, gradient, reach, value


@verb
def curve(loss: Any, z: float, y: float) -> float:
    """The loss of predicting z where the label is y."""


@verb
def slope(loss: Any, z: float, y: float) -> float:
    """A subgradient of the curve in z."""


class Supervised(Losses):
    """The Python face of losses of a linear prediction (mixin)."""

    __slots__ = ()

    ridge: float

    @property
    def dimension(self) -> int:
        return int(self.rows.width) - 1

    @property
    def strong_convexity(self) -> float:
        return self.ridge

    def gradient_bound(self, domain: Any) -> float:
        return self._extremes(domain)[0] + self.ridge * reach(domain)

    def value_bound(self, domain: Any) -> float:
        return self._extremes(domain)[1] + self.ridge * reach(domain) ** 2 / 2

    def _extremes(self, domain: Any) -> tuple[float, float]:
        """The largest gradient and value on the outer ball, without the ridge."""
        out, row = np.zeros(2), np.zeros(self.rows.width)
        center, radius = np.ascontiguousarray(domain.center), float(domain.outer_radius)
        _find_extremes.dispatcher_for(self)(self, self.horizon, center, radius, row, out)
        return float(out[0]), float(out[1])


@step
def predict_label(row: Any, x: Any) -> Any:
    """⟨φ, x⟩."""
    z = 0.0
    for i in range(x.size):
        z += row[i] * x[i]
    return z


@step
def half_square(x: Any) -> Any:
    """‖x‖²/2."""
    squares = 0.0
    for i in range(x.size):
        squares += x[i] * x[i]
    return 0.5 * squares


@value.on(Supervised)
def _value(loss: Any, row: Any, x: Any) -> Any:
    total = curve(loss, predict_label(row, x), row[x.size])
    if loss.ridge > 0.0:
        total += loss.ridge * half_square(x)
    return total


@gradient.on(Supervised)
def _gradient(loss: Any, row: Any, x: Any, out: Any) -> None:
    s = slope(loss, predict_label(row, x), row[x.size])
    for i in range(x.size):
        out[i] = s * row[i] + loss.ridge * x[i]


@entry
def _find_extremes(loss: Any, horizon: Any, center: Any, radius: Any, row: Any, out: Any) -> None:
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


def labelled(features: ArrayLike, labels: ArrayLike) -> Listed:
    """Rows [φ_t, y_t] from features of shape (horizon, dimension) and one label per round."""
    table = Listed(features, "features")
    return Listed(np.column_stack((table.values, as_column(labels, "labels", table))), "features")


def signed(labels: ArrayLike) -> np.ndarray:
    """Labels as −1 and +1, from these or from 0 and 1."""
    given = np.asarray(labels, dtype=np.float64)
    if np.all((given == 0) | (given == 1)):
        return 2.0 * given - 1.0
    wrong = np.flatnonzero(np.abs(given) != 1)
    if not wrong.size:
        return given
    strange = np.flatnonzero((np.abs(given) != 1) & (given != 0))  # rather than one of a mixture
    t = int((strange if strange.size else wrong)[0])
    raise ValueError(f"labels must be -1 and +1 (or 0 and 1), got {given.ravel()[t]} in round {t + 1}")
