"""Naive: when full, give up a random member."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from tarry.kernel import Parameters
from tarry.schedulers.base import NoState, Traits, admit, allocate, arrive, draw


class RandomEvict(Parameters, Traits):
    """Track every newcomer, with weight 1, in a random member's place. Biased towards fast outcomes.

    >>> RandomEvict().needs_preemption, RandomEvict().is_unbiased
    (True, False)
    """

    needs_preemption = True
    is_unbiased = False

    def __new__(cls) -> Self:
        return cls.make()


@allocate.on(RandomEvict)
def _allocate(scheduler: Any, slots: int, capacity: int) -> NoState:
    return NoState(np.zeros(1, np.int64))


@admit.on(RandomEvict)
def _admit(scheduler: Any, state: Any, draws: Any, request: Any) -> Any:
    if request.vacancy >= 0:
        return request.vacancy
    # The set is full, so the slots in use are exactly 0..C-1.
    return min(np.int64(draw(draws, request.t) * request.capacity), request.capacity - 1)


@arrive.on(RandomEvict)
def _arrive(scheduler: Any, state: Any, slot: Any, s: Any, t: Any) -> Any:
    return 1.0
