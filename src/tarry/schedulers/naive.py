"""Schedulers whose feedback weighs 1: tracking without a limit, and the naive rules that queues use.

All but :class:`Always` are biased and serve as baselines.
"""

from __future__ import annotations

from typing import NamedTuple

from tarry.checks import Natural
from tarry.kernel.heap import Heap, discard, make_heap, push, take_due, top
from tarry.schedulers.base import (
    SATURATED,
    UNTRACKED,
    DrawSource,
    NoState,
    Request,
    Scheduler,
    admit,
    allocate,
    arrive,
    draw,
    expired,
)


class Unweighted(Scheduler):
    """Base of schedulers whose feedback weighs 1."""

    is_unbiased = False


@arrive.on(Unweighted)
def _weigh_one(scheduler: Unweighted, state: NoState, slot: int, s: int, t: int) -> float:
    return 1.0


class HeapState(NamedTuple):
    """Tracked rounds in a heap."""

    heap: Heap


class Ordered(Unweighted):
    """Base of unweighted schedulers that keep tracked rounds in a heap."""


@allocate.on(Ordered)
def _allocate_heap(scheduler: Ordered, slots: int, capacity: int) -> HeapState:
    return HeapState(make_heap(slots))


@arrive.on(Ordered)
def _leave_heap(scheduler: Ordered, state: HeapState, slot: int, s: int, t: int) -> float:
    discard(state.heap, slot)
    return 1.0


class Always(Unweighted):
    """Track every round with weight 1: the unlimited game, capacity=None only.

    >>> Always().needs_unlimited_capacity
    True
    """

    needs_unlimited_capacity = True
    is_unbiased = True


@admit.on(Always)
def _admit_all(scheduler: Always, state: NoState, draws: DrawSource, request: Request) -> int:
    return request.vacancy


class DropNewest(Unweighted):
    """Track while there is room, with weight 1. Biased against busy hours: a baseline only.

    >>> DropNewest().is_unbiased
    False
    """


@admit.on(DropNewest)
def _admit_into_room(scheduler: DropNewest, state: NoState, draws: DrawSource, request: Request) -> int:
    return request.vacancy if request.vacancy >= 0 else SATURATED


class DropOldest(Ordered):
    """Track every newcomer, with weight 1, at the oldest's expense. Biased towards fast outcomes.

    >>> DropOldest().needs_preemption, DropOldest().is_unbiased
    (True, False)
    """

    needs_preemption = True


@admit.on(DropOldest)
def _replace_oldest(scheduler: DropOldest, state: HeapState, draws: DrawSource, request: Request) -> int:
    slot = request.vacancy
    if slot < 0:
        slot = top(state.heap)
        discard(state.heap, slot)
    push(state.heap, slot, float(request.t))
    return slot


class RandomEvict(Unweighted):
    """Track every newcomer, with weight 1, in a random member's place. Biased towards fast outcomes.

    >>> RandomEvict().needs_preemption, RandomEvict().is_unbiased
    (True, False)
    """

    needs_preemption = True


@admit.on(RandomEvict)
def _replace_random(scheduler: RandomEvict, state: NoState, draws: DrawSource, request: Request) -> int:
    if request.vacancy >= 0:
        return request.vacancy
    # The set is full, so the slots in use are exactly 0..C-1.
    return min(int(draw(draws, request.t) * request.capacity), request.capacity - 1)


class Reservoir(Unweighted):
    """When full, enter with probability C/(pending+1) in a random member's place; weight 1.

    Counts pending rounds, so it needs acknowledgements. Biased: slow outcomes are exposed to more
    newcomers, and nothing corrects for it. A baseline only.

    >>> Reservoir().needs_acknowledgements, Reservoir().is_unbiased
    (True, False)
    """

    needs_preemption = True
    needs_acknowledgements = True


@admit.on(Reservoir)
def _enter_reservoir(scheduler: Reservoir, state: NoState, draws: DrawSource, request: Request) -> int:
    if request.vacancy >= 0:
        return request.vacancy
    # One uniform makes both choices: below C/(pending+1), what is left of it names the slot.
    place = draw(draws, request.t) * (request.pending + 1.0)
    if place > request.capacity:
        return UNTRACKED
    return min(int(place), request.capacity - 1)


class Timeout(Ordered):
    """Track while there is room, with weight 1, and give up at the start of round s + age + 1.

    Biased twice: against outcomes slower than ``age`` (at least 0) and against busy hours.

    >>> Timeout(30)
    Timeout(age=30)
    """

    age: Natural

    needs_preemption = True
    announces_preemption = True

    @property
    def max_wait(self) -> float:  # type: ignore[override]
        return self.age


@expired.on(Timeout)
def _time_out(scheduler: Timeout, state: HeapState, t: int, pending: int) -> int:
    return take_due(state.heap, t)


@admit.on(Timeout)
def _admit_for_a_while(scheduler: Timeout, state: HeapState, draws: DrawSource, request: Request) -> int:
    slot = request.vacancy
    if slot < 0:
        return SATURATED
    push(state.heap, slot, request.t + scheduler.age + 1.0)
    return slot
