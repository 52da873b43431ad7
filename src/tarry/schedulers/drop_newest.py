"""Naive: when full, turn newcomers away."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from tarry.kernel import Parameters
from tarry.schedulers.base import SATURATED, NoState, Traits, admit, allocate, arrive


class DropNewest(Parameters, Traits):
    """Track while there is room, with weight 1. Biased against busy hours: a baseline only.

    >>> DropNewest().is_unbiased
    False
    """

    is_unbiased = False

    def __new__(cls) -> Self:
        return cls.make()


@allocate.on(DropNewest)
def _allocate(scheduler: Any, slots: int, capacity: int) -> NoState:
    return NoState(np.zeros(1, np.int64))


@admit.on(DropNewest)
def _admit(scheduler: Any, state: Any, draws: Any, request: Any) -> Any:
    return request.vacancy if request.vacancy >= 0 else SATURATED


@arrive.on(DropNewest)
def _arrive(scheduler: Any, state: Any, slot: Any, s: Any, t: Any) -> Any:
    return 1.0
