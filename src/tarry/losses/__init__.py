"""Losses: convex functions of the play, fixed before it."""

from collections.abc import Callable
from typing import Any

from tarry.losses.base import Listed, Losses
from tarry.losses.custom import Callables, Custom
from tarry.losses.drawn import Drawn, block_targets, blocks, drifting, drifting_targets
from tarry.losses.simple import Distance, Linear, Quadratic
from tarry.losses.supervised import Absolute, Hinge, Huber, LeastSquares, Logistic, Quantile

__all__ = [
    "Absolute",
    "Callables",
    "Custom",
    "Distance",
    "Drawn",
    "Hinge",
    "Huber",
    "LeastSquares",
    "Linear",
    "Listed",
    "Logistic",
    "Losses",
    "Quadratic",
    "Quantile",
    "block_targets",
    "blocks",
    "drifting",
    "drifting_targets",
]

# What a sweep file may name: all but what takes functions.
MEMBERS: dict[str, Callable[..., Any]] = {
    name: globals()[name] for name in __all__ if name not in ("Callables", "Custom", "Losses")
}
