"""Priority tracking: the C smallest of keyed uniforms stay. This project's own.

    round t:  |S| < C: add t.   |S| = C: m = the member of S ∪ {t} with the largest U; lose m;
              τ_s ← min(τ_s, U_m) for every s now in S (τ starts at 1)
    arrival of s ∈ S: weight 1/τ_s

Layout. Members stand in a heap by −U. Thresholds are not written to members: overflows are numbered,
each member remembers the first overflow it saw, and a stack holds the overflows whose value no later
one undercut, so values rise from bottom to top and τ_s is the first entry from s's own number on. At most C
entries answer for a member; when the stack is full the others are pruned. O(log C) a round, amortised.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tarry.checks import Flag
from tarry.kernel import KW_ONLY, step
from tarry.kernel.heap import Heap, discard, make_heap, push, top
from tarry.schedulers.base import UNTRACKED, DrawSource, Request, Scheduler, draw


class PriorityState(NamedTuple):
    """The heap of members and the stack of overflows."""

    heap: Heap
    first: np.ndarray  # the first overflow that a slot's round saw
    number: np.ndarray  # of a stacked overflow
    value: np.ndarray  # the uniform lost there
    needed: np.ndarray  # scratch of ``prune``
    counts: np.ndarray  # overflows seen, and stacked


class Priority(Scheduler):
    """Bottom-k tracking with expiring members (this project's own): exact weights, nothing to tune.

    E[w_t | all other uniforms] = 1 and E[w_s w_t] = 1, no saturation term. Which rounds are tracked depends on
    keyed uniforms alone, so two processes agree without talking; the variance is above VarOpt's.
    Preempts. At capacity 1 the second moment is infinite, so that is refused unless ``allow_single``.
    Priority sampling is by Duffield, Lund and Thorup (2007); its use for late feedback is ours.
    """

    _: KW_ONLY
    allow_single: Flag = False

    needs_preemption = True
    grows = True

    def check_capacity(self, capacity: int | None) -> None:
        if capacity == 1 and not self.allow_single:
            problem = "Priority has weights of infinite second moment at capacity 1"
            raise ValueError(f"{problem}: use VarOpt, a capacity of at least 2, or Priority(allow_single=True)")

    def allocate(self, slots: int, capacity: int) -> PriorityState:
        # Twice what members can read: pruning, a pass over all of them, then pays for itself.
        length = 2 * slots + 2
        return PriorityState(
            heap=make_heap(slots),
            first=np.zeros(slots, np.int64),
            number=np.zeros(length, np.int64),
            value=np.zeros(length),
            needed=np.zeros(length, np.int64),
            counts=np.zeros(2, np.int64),
        )

    def admit(self, state: PriorityState, draws: DrawSource, request: Request) -> int:
        u = draw(draws, request.t)
        slot = request.vacancy
        if slot < 0:
            slot = top(state.heap)
            largest = -state.heap.key[slot]
            if u >= largest:
                note_overflow(state, u)
                return UNTRACKED
            note_overflow(state, largest)
            discard(state.heap, slot)
            # The newcomer has seen the overflow that let it in.
            state.first[slot] = state.counts[0] - 1
        else:
            state.first[slot] = state.counts[0]
        push(state.heap, slot, -u)
        return slot

    def arrive(self, state: PriorityState, slot: int, s: int, t: int) -> float:
        discard(state.heap, slot)
        entry = find_entry(state, state.first[slot])
        return 1.0 / (state.value[entry] if entry < state.counts[1] else 1.0)


@step
def find_entry(state: PriorityState, first: int) -> int:
    """Return the lowest stack entry of an overflow not before ``first``, or the stack's size."""
    low = 0
    high = state.counts[1]
    while low < high:
        middle = (low + high) >> 1
        if state.number[middle] < first:
            low = middle + 1
        else:
            high = middle
    return low


@step
def prune(state: PriorityState) -> None:
    """Drop the stack's entries that no member's threshold reads."""
    size = state.counts[1]
    for i in range(size):
        state.needed[i] = 0
    for i in range(state.heap.size[0]):
        entry = find_entry(state, state.first[state.heap.order[i]])
        if entry < size:
            state.needed[entry] = 1
    count = 0
    for i in range(size):
        if state.needed[i] == 1:
            state.number[count] = state.number[i]
            state.value[count] = state.value[i]
            count += 1
    state.counts[1] = count


@step
def note_overflow(state: PriorityState, value: float) -> None:
    """Push the evicted uniform; entries it undercuts will never be read again."""
    if state.counts[1] == state.value.size:
        prune(state)
    size = state.counts[1]
    while size > 0 and state.value[size - 1] >= value:
        size -= 1
    state.number[size] = state.counts[0]
    state.value[size] = value
    state.counts[0] += 1
    state.counts[1] = size + 1
