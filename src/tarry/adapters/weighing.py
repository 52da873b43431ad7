"""What a model is told of a weight: relative or as it is."""

from __future__ import annotations

from tarry.checks import as_choice
from tarry.live.core import Slots

RELATIVE, UNBIASED = WEIGHTS = ("relative", "unbiased")


class Weighing:
    """How the weight of a label becomes the weight of a row that a model learns from.

    ``"relative"`` divides by the mean weight of the rows given out so far, so that a model's step and penalty mean what
    they mean without weights; ``"unbiased"`` leaves the weight as it is.
    """

    def __init__(self, weights: str = RELATIVE) -> None:
        self._is_relative = as_choice(weights, "weights", WEIGHTS) == RELATIVE

    def of(self, slots: Slots, weight: float) -> float:
        """Return what the model is told of the weight of the last label that these slots have heard."""
        return slots.relative(weight) if self._is_relative and weight != 0.0 else weight
