"""Thinning: one coin for all that falls as the largest backlog rises. This project's own."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tarry.checks import Positive
from tarry.kernel.heap import Heap, discard, make_heap, push, top
from tarry.schedulers.base import (
    SATURATED,
    UNTRACKED,
    DrawSource,
    Request,
    Scheduler,
    admit,
    allocate,
    arrive,
    draw,
    expired,
)


class Thinning(Scheduler):
    """Bernoulli without knowing the backlog: p_t = min{1, C/(safety·(1 + max_{s≤t} σ_s))}.

    Each round draws one uniform; it stays tracked for as long as its uniform is at most p, so when p
    falls some members go, and an arrival weighs 1/p. Survival at round t is p_t for every member, so
    the paper's saturation lemma and its strongly convex bound hold without the largest backlog being
    known. Preempts; needs acknowledgements. This project's own.

    >>> Thinning()
    Thinning(safety=8)
    """

    safety: Positive = 8.0

    needs_preemption = True
    needs_acknowledgements = True
    announces_preemption = True


class ThinningState(NamedTuple):
    """Members by falling uniform; ``level`` = (largest backlog so far, p, capacity)."""

    heap: Heap
    level: np.ndarray


@allocate.on(Thinning)
def _allocate(scheduler: Thinning, slots: int, capacity: int) -> ThinningState:
    return ThinningState(make_heap(slots), np.array([0.0, 1.0, float(capacity)]))


@expired.on(Thinning)
def _expired(scheduler: Thinning, state: ThinningState, t: int, pending: int) -> int:
    # Asked again within a round, it finds the same p: the backlog of a round does not change.
    state.level[0] = max(state.level[0], pending)
    state.level[1] = min(1.0, state.level[2] / (scheduler.safety * (state.level[0] + 1.0)))
    slot = top(state.heap)
    if slot < 0 or -state.heap.key[slot] <= state.level[1]:
        return -1
    discard(state.heap, slot)
    return slot


@admit.on(Thinning)
def _admit(scheduler: Thinning, state: ThinningState, draws: DrawSource, request: Request) -> int:
    u = draw(draws, request.t)
    if u > state.level[1]:
        return UNTRACKED
    slot = request.vacancy
    if slot < 0:
        return SATURATED
    push(state.heap, slot, -u)
    return slot


@arrive.on(Thinning)
def _arrive(scheduler: Thinning, state: ThinningState, slot: int, s: int, t: int) -> float:
    discard(state.heap, slot)
    return 1.0 / state.level[1]
