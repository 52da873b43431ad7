"""No limit: every round is tracked."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from tarry.kernel import Parameters
from tarry.schedulers.base import NoState, Traits, admit, allocate, arrive


class Always(Parameters, Traits):
    """Track every round with weight 1: the unlimited game, capacity=None only.

    >>> Always().needs_unlimited_capacity
    True
    """

    needs_unlimited_capacity = True

    def __new__(cls) -> Self:
        return cls.make()


@allocate.on(Always)
def _allocate(scheduler: Any, slots: int, capacity: int) -> NoState:
    return NoState(np.zeros(1, np.int64))


@admit.on(Always)
def _admit(scheduler: Any, state: Any, draws: Any, request: Any) -> Any:
    return request.vacancy


@arrive.on(Always)
def _arrive(scheduler: Any, state: Any, slot: Any, s: Any, t: Any) -> Any:
    return 1.0
