"""Naive: reservoir sampling of what is pending."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from tarry.kernel import Parameters
from tarry.schedulers.base import UNTRACKED, NoState, Traits, admit, allocate, arrive, draw


class Reservoir(Parameters, Traits):
    """When full, enter with probability C/(pending+1) in a random member's place; weight 1.

    Counts pending rounds, so it needs acknowledgements. Biased: slow outcomes are exposed to more
    newcomers, and nothing corrects for it. A baseline only.

    >>> Reservoir().needs_acknowledgements, Reservoir().is_unbiased
    (True, False)
    """

    needs_preemption = True
    needs_acknowledgements = True
    is_unbiased = False

    def __new__(cls) -> Self:
        return cls.make()


@allocate.on(Reservoir)
def _allocate(scheduler: Any, slots: int, capacity: int) -> NoState:
    return NoState(np.zeros(1, np.int64))


@admit.on(Reservoir)
def _admit(scheduler: Any, state: Any, draws: Any, request: Any) -> Any:
    if request.vacancy >= 0:
        return request.vacancy
    # One uniform makes both choices: below C/(pending+1), what is left of it names the slot.
    place = draw(draws, request.t) * (request.pending + 1.0)
    if place > request.capacity:
        return UNTRACKED
    return min(np.int64(place), request.capacity - 1)


@arrive.on(Reservoir)
def _arrive(scheduler: Any, state: Any, slot: Any, s: Any, t: Any) -> Any:
    return 1.0
