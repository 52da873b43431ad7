"""Losses whose constants their author states."""

from __future__ import annotations

from typing import Any

from tarry.checks import as_nonnegative
from tarry.losses.base import Losses


class Stated(Losses):
    """The Python face of losses whose constants their author states (mixin)."""

    __slots__ = ()

    largest_gradient: float
    largest_value: float

    def gradient_bound(self, domain: Any) -> float:
        return self.largest_gradient

    def value_bound(self, domain: Any) -> float:
        return self.largest_value


def as_function(function: Any, name: str) -> Any:
    """A function, or a sentence saying what it is instead."""
    if not callable(function):
        raise TypeError(f"{name} must be a function, got {type(function).__name__}")
    return function


def as_constants(
    dimension: int, strong_convexity: float, gradient_bound: float, value_bound: float
) -> tuple[int, float, float, float]:
    """Dimension, strong convexity and bounds, in the order of the fields."""
    if int(dimension) != dimension or dimension < 1:
        raise ValueError(f"dimension must be a whole number of at least 1, got {dimension}")
    for bound, name in ((gradient_bound, "gradient_bound"), (value_bound, "value_bound")):
        if not float(bound) >= 0:
            raise ValueError(f"{name} must not be negative, got {bound}: leave it out if it is not known")
    curvature = as_nonnegative(strong_convexity, "strong_convexity")
    return int(dimension), curvature, float(gradient_bound), float(value_bound)
