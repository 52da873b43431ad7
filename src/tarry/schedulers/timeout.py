"""Naive: wait so long and no longer."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

from tarry.kernel import Parameters
from tarry.kernel.heap import Heap, discard, make_heap, push, take_due
from tarry.schedulers.base import SATURATED, Traits, admit, allocate, arrive, expired


class Timeout(Parameters, Traits, init=False):
    """Track while there is room, with weight 1, and give up at the start of round s + age + 1.

    Biased twice: against outcomes slower than ``age`` (at least 0) and against busy hours.

    >>> Timeout(30)
    Timeout(age=30)
    """

    age: int

    needs_preemption = True
    is_unbiased = False

    def __new__(cls, age: int) -> Self:
        if int(age) != age or age < 0:
            raise ValueError(f"age must be a whole number of rounds, not negative, got {age}")
        return cls.make(int(age))


class TimeoutState(NamedTuple):
    """Members by the round that gives them up."""

    heap: Heap


@allocate.on(Timeout)
def _allocate(scheduler: Any, slots: int, capacity: int) -> TimeoutState:
    return TimeoutState(make_heap(slots))


@expired.on(Timeout)
def _expired(scheduler: Any, state: Any, t: Any, pending: Any) -> Any:
    return take_due(state.heap, t)


@admit.on(Timeout)
def _admit(scheduler: Any, state: Any, draws: Any, request: Any) -> Any:
    slot = request.vacancy
    if slot < 0:
        return SATURATED
    push(state.heap, slot, request.t + scheduler.age + 1.0)
    return slot


@arrive.on(Timeout)
def _arrive(scheduler: Any, state: Any, slot: Any, s: Any, t: Any) -> Any:
    discard(state.heap, slot)
    return 1.0
