"""Losses: convex functions of the play, fixed before it."""

from collections.abc import Callable
from typing import Any

from tarry.losses.base import Listed, Losses
from tarry.losses.custom import Callables, Custom
from tarry.losses.drawn import Drawn, blocks, drifting
from tarry.losses.simple import Distance, Linear, Quadratic
from tarry.losses.supervised import Absolute, Hinge, Huber, LeastSquares, Logistic, Quantile

# Losses of the play, of a linear prediction, of one's own; then their rows.
__all__ = ["Callables", "Custom", "Distance", "Linear", "Losses", "Quadratic"]
__all__ += ["Absolute", "Hinge", "Huber", "LeastSquares", "Logistic", "Quantile"]
__all__ += ["Drawn", "Listed", "blocks", "drifting"]

# What a sweep file may name: all but what takes functions.
MEMBERS: dict[str, Callable[..., Any]] = {
    name: globals()[name] for name in __all__ if name not in ("Callables", "Custom", "Losses")
}
