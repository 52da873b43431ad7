"""Supervised losses with a kink, and their smooth lower bounds.

With u an affine function of the prediction and up, down ≥ 0,

    ℓ(u) = max(up·u, −down·u),      ℓ_μ(u) = max_{−down ≤ s ≤ up} s·u − (μ/2) s²  ≤  ℓ(u)

so ℓ_μ is u²/(2μ) near the kink and linear away from it, with slopes of ℓ. A slope s of ℓ_μ also gives
the plane s·u below ℓ itself: that is what ``support`` reports, and what makes the certificate of a
smoothed problem one of the exact problem.
"""

from __future__ import annotations

from typing import Any, Self

from tarry.checks import as_nonnegative
from tarry.kernel import step, verb
from tarry.losses.base import support
from tarry.losses.supervised import Supervised, curve, half_square, predict_label, slope


@verb
def bend(loss: Any, z: float, y: float) -> tuple[float, float, float, float]:
    """u, ∂u/∂z, up and down of a prediction."""


class Kinked(Supervised):
    """The Python face of losses with a kink (mixin); ``smoothing`` (μ) is their last field."""

    __slots__ = ()

    smoothing: float

    def smoothed(self, smoothing: float) -> Self:
        """The smooth lower bound ℓ_μ of this loss; 0 is the loss itself."""
        fields = tuple(self)[:-1]  # type: ignore[arg-type,var-annotated]
        return self.make(*fields, as_nonnegative(smoothing, "smoothing"))  # type: ignore[attr-defined,no-any-return]


@step
def kinked(u: Any, up: Any, down: Any, smoothing: Any) -> Any:
    """ℓ_μ(u)."""
    if u > smoothing * up:
        return up * u - 0.5 * smoothing * up * up
    if u < -smoothing * down:
        return -down * u - 0.5 * smoothing * down * down
    if smoothing > 0.0:
        return 0.5 * u * u / smoothing
    return 0.0


@step
def kinked_slope(u: Any, up: Any, down: Any, smoothing: Any) -> Any:
    """dℓ_μ/du; at a kink that is not smoothed, 0."""
    if u > smoothing * up:
        return up
    if u < -smoothing * down:
        return -down
    if smoothing > 0.0:
        return u / smoothing
    return 0.0


@curve.on(Kinked)
def _curve(loss: Any, z: Any, y: Any) -> Any:
    u, _, up, down = bend(loss, z, y)
    return kinked(u, up, down, loss.smoothing)


@slope.on(Kinked)
def _slope(loss: Any, z: Any, y: Any) -> Any:
    u, turn, up, down = bend(loss, z, y)
    return turn * kinked_slope(u, up, down, loss.smoothing)


@support.on(Kinked)
def _support(loss: Any, row: Any, x: Any, height: Any) -> Any:
    u, _, up, down = bend(loss, predict_label(row, x), row[x.size])
    return u * kinked_slope(u, up, down, loss.smoothing) + loss.ridge * half_square(x)
