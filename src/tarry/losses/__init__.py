"""Losses: convex functions of the play, fixed before it."""

from collections.abc import Callable
from typing import Any

from tarry.checks import former_names
from tarry.losses.base import Listed, Losses
from tarry.losses.custom import Callables, Custom
from tarry.losses.distance import Distance
from tarry.losses.drawn import Drawn, blocks, drifting
from tarry.losses.kinked import Absolute, Hinge, Huber, Quantile
from tarry.losses.linear import Linear
from tarry.losses.quadratic import Quadratic
from tarry.losses.supervised import LeastSquares, Logistic

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
    "blocks",
    "drifting",
]

# What a sweep file may name.
MEMBERS: dict[str, Callable[..., Any]] = {
    made.__name__: made
    for made in (
        *(Absolute, Distance, Drawn, Hinge, Huber, LeastSquares, Linear, Listed, Logistic, Quadratic, Quantile),
        *(blocks, drifting),
    )
}
# Names of earlier versions, which sweep files may still use.
RENAMED = {"block_targets": "Drawn.block_targets", "drifting_targets": "Drawn.drifting_targets"}

__getattr__ = former_names(__name__, RENAMED)
