"""Supervised losses with a kink, and their smooth lower bounds.

With u an affine function of the prediction and up, down ≥ 0,

    ℓ(u) = max(up·u, −down·u),      ℓ_μ(u) = max_{−down ≤ s ≤ up} s·u − (μ/2) s²  ≤  ℓ(u)

so ℓ_μ is u²/(2μ) near the kink and linear away from it, with slopes of ℓ. A slope s of ℓ_μ also gives
the plane s·u below ℓ itself: that is what ``support`` reports, and what makes the certificate of a
smoothed problem one of the exact problem. Huber's loss is ℓ_μ with μ = 1, and so has no kink.
"""

from __future__ import annotations

from typing import Self

from numpy.typing import ArrayLike

from tarry.checks import as_nonnegative, as_positive
from tarry.errors import ArgumentError
from tarry.kernel import step, verb
from tarry.losses.base import Vector, support
from tarry.losses.supervised import Supervised, curve, half_square, predict_label, slope


@step
def kinked(u: float, up: float, down: float, smoothing: float) -> float:
    """Return ℓ_μ(u)."""
    if u > smoothing * up:
        return up * u - 0.5 * smoothing * up * up
    if u < -smoothing * down:
        return -down * u - 0.5 * smoothing * down * down
    if smoothing > 0.0:
        return 0.5 * u * u / smoothing
    return 0.0


@step
def kinked_slope(u: float, up: float, down: float, smoothing: float) -> float:
    """Return dℓ_μ/du; at a kink that is not smoothed, 0."""
    if u > smoothing * up:
        return up
    if u < -smoothing * down:
        return -down
    if smoothing > 0.0:
        return u / smoothing
    return 0.0


class Kinked(Supervised, init=False):
    """Base of losses with a kink: ``smoothing`` (μ) gives a smooth lower bound instead."""

    smoothing: float

    has_kink = True

    def __new__(cls, features: ArrayLike, labels: ArrayLike, *, ridge: float = 0.0, smoothing: float = 0.0) -> Self:
        rows = cls._labelled(features, labels)
        return cls.make(rows, as_nonnegative(ridge, "ridge"), as_nonnegative(smoothing, "smoothing"))

    def smoothed(self, smoothing: float) -> Self:
        return self._with(smoothing=as_nonnegative(smoothing, "smoothing"))


@verb
def bend(loss: Kinked, z: float, y: float) -> tuple[float, float, float, float]:
    """Return u, ∂u/∂z, up and down of a prediction."""


@curve.on(Kinked)
def _curve(loss: Kinked, z: float, y: float) -> float:
    u, _, up, down = bend(loss, z, y)
    return kinked(u, up, down, loss.smoothing)


@slope.on(Kinked)
def _slope(loss: Kinked, z: float, y: float) -> float:
    u, turn, up, down = bend(loss, z, y)
    return turn * kinked_slope(u, up, down, loss.smoothing)


@support.on(Kinked)
def _support(loss: Kinked, row: Vector, x: Vector, height: float) -> float:
    u, _, up, down = bend(loss, predict_label(row, x), row[x.size])
    return u * kinked_slope(u, up, down, loss.smoothing) + loss.ridge * half_square(x)


class Absolute(Kinked, init=False):
    """f_t(x) = |⟨φ_t, x⟩ − y_t| + (ridge/2)‖x‖².

    ``smoothing`` gives a smooth lower bound instead.

    >>> Absolute([[1.0, 2.0]], [3.0]).value([1.0, 0.0], t=1)
    2.0
    """


@bend.on(Absolute)
def _bend_absolute(loss: Absolute, z: float, y: float) -> tuple[float, float, float, float]:
    return z - y, 1.0, 1.0, 1.0


class Hinge(Kinked, init=False):
    """f_t(x) = max(0, 1 − y_t⟨φ_t, x⟩) + (ridge/2)‖x‖².

    ``labels`` are −1 and +1, or 0 and 1. ``smoothing`` gives a smooth lower bound instead.

    >>> Hinge([[1.0, 2.0]], [-1]).value([1.0, 0.0], t=1)
    2.0
    """

    is_signed = True


@bend.on(Hinge)
def _bend_hinge(loss: Hinge, z: float, y: float) -> tuple[float, float, float, float]:
    return 1.0 - y * z, -y, 1.0, 0.0


class Quantile(Kinked, init=False):
    """f_t(x) = max(level·r, (level − 1)·r) + (ridge/2)‖x‖², r = y_t − ⟨φ_t, x⟩.

    Its best constant prediction is the ``level``-quantile of the labels, 0 < level < 1. ``smoothing``
    gives a smooth lower bound instead.

    >>> Quantile([[1.0]], [3.0], level=0.9).value([1.0], t=1)
    1.8
    """

    level: float

    def __new__(
        cls,
        features: ArrayLike,
        labels: ArrayLike,
        level: float = 0.5,
        *,
        ridge: float = 0.0,
        smoothing: float = 0.0,
    ) -> Self:
        if not 0.0 < float(level) < 1.0:
            raise ArgumentError("level", "must lie strictly between 0 and 1", level)
        rows = cls._labelled(features, labels)
        return cls.make(rows, as_nonnegative(ridge, "ridge"), as_nonnegative(smoothing, "smoothing"), float(level))


@bend.on(Quantile)
def _bend_quantile(loss: Quantile, z: float, y: float) -> tuple[float, float, float, float]:
    return y - z, -1.0, loss.level, 1.0 - loss.level


class Huber(Supervised, init=False):
    """f_t(x) = r²/2 where |r| ≤ width, else width·|r| − width²/2, with r = ⟨φ_t, x⟩ − y_t.

    ``ridge`` adds (ridge/2)‖x‖².

    >>> Huber([[1.0, 2.0]], [3.0], width=1.0).value([1.0, 0.0], t=1)
    1.5
    """

    width: float

    def __new__(cls, features: ArrayLike, labels: ArrayLike, width: float = 1.0, *, ridge: float = 0.0) -> Self:
        rows = cls._labelled(features, labels)
        return cls.make(rows, as_nonnegative(ridge, "ridge"), as_positive(width, "width"))


@curve.on(Huber)
def _huber(loss: Huber, z: float, y: float) -> float:
    return kinked(z - y, loss.width, loss.width, 1.0)


@slope.on(Huber)
def _huber_slope(loss: Huber, z: float, y: float) -> float:
    return kinked_slope(z - y, loss.width, loss.width, 1.0)
