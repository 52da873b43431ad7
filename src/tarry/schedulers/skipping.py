"""Skipping: rounds that wait too long are given up, and too long is measured by all that waited."""

from __future__ import annotations

from math import ceil, log, sqrt
from typing import NamedTuple, Self

import numpy as np

from tarry.checks import as_int, as_positive
from tarry.kernel.heap import Heap, discard, make_heap, push, take_due
from tarry.schedulers.base import SATURATED, DrawSource, Request, admit, allocate, arrive, expired, renew
from tarry.schedulers.naive import Unweighted


class Skipping(Unweighted, init=False):
    """Track while there is room, with weight 1, and give up round s when t − s > c·√(W_t/ln K).

    W_t is how long the tracked rounds have waited so far, in all: at the start of each round it grows by their number,
    before anybody is given up, so a round counts for as long as it was tracked. K = ``actions``, c = ``patience``.
    Biased by design: a round given up is a loss of at most 1, and they are at most (2/c)·√(W ln K). With
    ``TsallisFTRL(K, counts="tracked")`` and no limit on the set, the regret is at most
    4√(KT) + (√8 + 2/c)·(√((d + |R|) ln K) + c|R|), for every set R of rounds and d the total delay of the others: a few
    endless rounds cost no more than their number (docs/methods.md).

    The advanced tuning of Zimmert and Seldin, An Optimal Algorithm for Adversarial Bandits with Arbitrary Delays
    (AISTATS 2020); the threshold's constant and the bound's are this project's.

    >>> Skipping(5)
    Skipping(patience=1, actions=5)
    """

    patience: float
    actions: int

    needs_preemption = True
    announces_preemption = True

    def __new__(cls, actions: int, *, patience: float = 1.0) -> Self:
        return cls.make(as_positive(patience, "patience"), as_int(actions, "actions", 2))


class SkippingState(NamedTuple):
    """Members by their round; ``waited`` = (W, the round it was last added to)."""

    heap: Heap
    waited: np.ndarray


WAITED, UNTIL = range(2)


@allocate.on(Skipping)
def _allocate(scheduler: Skipping, slots: int, capacity: int) -> SkippingState:
    return SkippingState(make_heap(slots), np.zeros(2))


@renew.on(Skipping)
def _renew(scheduler: Skipping, state: SkippingState, magnitude: float) -> None:
    state.waited[WAITED] = 0.0


@expired.on(Skipping)
def _expired(scheduler: Skipping, state: SkippingState, t: int, pending: int) -> int:
    if state.waited[UNTIL] != t:
        state.waited[UNTIL] = t
        state.waited[WAITED] += state.heap.size[0]
    limit = scheduler.patience * sqrt(state.waited[WAITED] / log(scheduler.actions))
    return take_due(state.heap, ceil(t - limit) - 1.0)


@admit.on(Skipping)
def _admit(scheduler: Skipping, state: SkippingState, draws: DrawSource, request: Request) -> int:
    slot = request.vacancy
    if slot < 0:
        return SATURATED
    push(state.heap, slot, float(request.t))
    return slot


@arrive.on(Skipping)
def _arrive(scheduler: Skipping, state: SkippingState, slot: int, s: int, t: int) -> float:
    discard(state.heap, slot)
    return 1.0
