"""Naive: when full, give up the oldest."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

from tarry.kernel import Parameters
from tarry.kernel.heap import Heap, discard, make_heap, push, top
from tarry.schedulers.base import Traits, admit, allocate, arrive


class DropOldest(Parameters, Traits):
    """Track every newcomer, with weight 1, at the oldest's expense. Biased towards fast outcomes.

    >>> DropOldest().needs_preemption, DropOldest().is_unbiased
    (True, False)
    """

    needs_preemption = True
    is_unbiased = False

    def __new__(cls) -> Self:
        return cls.make()


class AgeState(NamedTuple):
    """Members by age: a heap keyed by round."""

    heap: Heap


@allocate.on(DropOldest)
def _allocate(scheduler: Any, slots: int, capacity: int) -> AgeState:
    return AgeState(make_heap(slots))


@admit.on(DropOldest)
def _admit(scheduler: Any, state: Any, draws: Any, request: Any) -> Any:
    slot = request.vacancy
    if slot < 0:
        slot = top(state.heap)
        discard(state.heap, slot)
    push(state.heap, slot, float(request.t))
    return slot


@arrive.on(DropOldest)
def _arrive(scheduler: Any, state: Any, slot: Any, s: Any, t: Any) -> Any:
    discard(state.heap, slot)
    return 1.0
