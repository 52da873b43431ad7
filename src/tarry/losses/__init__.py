"""Losses: convex functions of the play, fixed before it."""

from tarry.losses.absolute import Absolute
from tarry.losses.base import Listed, Losses
from tarry.losses.callables import Callables
from tarry.losses.custom import Custom
from tarry.losses.distance import Distance
from tarry.losses.drawn import Drawn, block_targets, blocks, drifting, drifting_targets
from tarry.losses.hinge import Hinge
from tarry.losses.huber import Huber
from tarry.losses.least_squares import LeastSquares
from tarry.losses.linear import Linear
from tarry.losses.logistic import Logistic
from tarry.losses.quadratic import Quadratic
from tarry.losses.quantile import Quantile

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
