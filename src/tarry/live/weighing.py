"""What a model is told of a weight: tempered, over the mean or as it is, at most so much, and in how many calls."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from tarry.checks import as_choice, as_positive
from tarry.live.core import Slots

logger = logging.getLogger("tarry")

RELATIVE, TEMPERED, UNBIASED = WEIGHTS = ("relative", "tempered", "unbiased")
DEFAULT = TEMPERED  # of models that take steps; lines for Vowpal Wabbit, which fits each label, are relative
SPLIT = 1.0  # the weight that a call is to have: an ordinary label's
LONG = 0.1  # weight times step from which there is a warning: ten labels at River's default step of 0.01
HEAVY = 2.0  # weights below are no news to a step
FEW_ROWS, MUCH_CUT = 100, 0.01  # rows before anything is said of what max_weight has cut, and the share that is said


class Weighing:
    """How the weight of a label becomes the weights of calls that teach a model.

    ``weights="tempered"`` divides by √(Σw²/Σw) over the rows given out so far: the divisor with which a step tuned for
    Σw labels of weight 1 has the least regret. ``"relative"`` divides by their mean weight;
    ``"unbiased"`` leaves the weight as it is. Where every weight is 1 all three are 1. What is above ``max_weight`` is
    cut, which biases. A weight of at least twice ``split`` is told in several calls, the most that leave each at least
    ``split``; None tells it at once.

    >>> Weighing("unbiased").calls(12.4)  # of 12.4/12 each
    12
    """

    def __init__(self, weights: str = DEFAULT, split: float | None = SPLIT, max_weight: float | None = None) -> None:
        self._weights = as_choice(weights, "weights", WEIGHTS)
        self._split = None if split is None else as_positive(split, "split")
        self._light = HEAVY * min(self._split or 1.0, 1.0)  # what is below is one call, and no long step
        self._most = None if max_weight is None else as_positive(max_weight, "max_weight")
        self._rows, self._whole, self._cut = 0, 0.0, 0.0  # under max_weight: rows, their weight, and what was cut of it
        self._has_warned = self._has_warned_of_cuts = False

    def of(self, slots: Slots, weight: float) -> float:
        """Return what the model is told of the weight of the last label that these slots have heard."""
        if weight == 0.0:
            return 0.0
        if self._weights == RELATIVE:
            weight = slots.relative(weight)
        elif self._weights == TEMPERED:
            weight = slots.tempered(weight)
        return weight if self._most is None else self._capped(weight, self._most)

    def _capped(self, weight: float, most: float) -> float:
        self._rows += 1
        self._whole += weight
        self._cut += max(weight - most, 0.0)
        if not self._has_warned_of_cuts and self._rows >= FEW_ROWS and self.cut > MUCH_CUT:
            self._has_warned_of_cuts = True
            logger.warning(
                "max_weight=%g has cut %.1f %% of all weight so far: decisions that are rarely heard of count for less "
                "than they should, and the model leans to the others. Raise it, or leave it out",
                most,
                100 * self.cut,
            )
        return min(weight, most)

    @property
    def cut(self) -> float:
        """The share of all weight that ``max_weight`` has cut: 0 is unbiased."""
        return self._cut / self._whole if self._whole else 0.0

    def calls(self, weight: float, step: Callable[[Any], Any] | None = None, model: Any = None) -> int:
        """Return in how many calls, of equal weights, a weight is told.

        Warn, once, where a call's weight makes a step long; ``step(model)`` reads it, None where it cannot be read.
        """
        if weight < self._light:
            return 1
        count = 1 if self._split is None else max(1, int(weight / self._split))
        if step is not None and not self._has_warned and weight / count >= HEAVY:
            self._warn_of(weight / count, step(model))
        return count

    def steps(self, slots: Slots, weight: float) -> list[float]:
        """Return the weights of the calls that tell a model of the last label that these slots have heard."""
        told = self.of(slots, weight)
        calls = self.calls(told)
        return [told / calls] * calls

    def _warn_of(self, weight: float, length: Any) -> None:
        if isinstance(length, (int, float)) and weight * length >= LONG:
            self._has_warned = True
            logger.warning(
                "a label of weight %.3g is told in one call to a model whose step is %.3g: together %.2g, where steps "
                "are tuned for weights of about 1. Leave weights='tempered' and split=1 as they are, or take a "
                "smaller step",
                weight,
                length,
                weight * length,
            )
