"""Batching: one round in every batch, chosen before the batch begins."""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

import numpy as np

from tarry.checks import Natural
from tarry.kernel import step
from tarry.schedulers.base import (
    SATURATED,
    UNLIMITED,
    UNTRACKED,
    DrawSource,
    Request,
    Scheduler,
    admit,
    allocate,
    arrive,
    draw,
    withholds,
)
from tarry.theory.weights import batch_length


class Batching(Scheduler):
    """Cut time into batches of b rounds and track one of each, drawn evenly when the batch begins; it weighs b.

    b = max{1, ⌈d/(C−1)⌉}, d = ``max_delay``: a window of d + 1 rounds meets at most ⌈d/b⌉ + 1 ≤ C batches, so while
    no delay exceeds d the set never refuses. Needs two slots (one will do for d = 0) and nothing else: it sees no
    delay, hears no acknowledgement and never preempts. Feedback that returns within its own batch is withheld from
    the learner until the batch ends, so that no play depends on who of its batch was drawn; with one delay for all
    that never happens. E[w_t²] = b, and E[w_s w_t] is 1 across batches, 0 within one. Where a delay does exceed d,
    rounds may be refused (their fate is "saturated"), and that biases.

    After the batches of Ryabchenko, Attias and Roy (2025) for experts; the withholding is this project's own.

    >>> Batching(max_delay=200).batch(capacity=16)
    14
    """

    max_delay: Natural

    withholds_feedback = True

    def batch(self, capacity: int | None) -> int:
        """Return the number of rounds b in a batch."""
        return 1 if capacity is None else batch_length(max_delay=self.max_delay, capacity=capacity)

    def check_capacity(self, capacity: int | None) -> None:
        self.batch(capacity)


class BatchingState(NamedTuple):
    """``batch`` = the number of rounds b in each batch."""

    batch: np.ndarray


@allocate.on(Batching)
def _allocate(scheduler: Batching, slots: int, capacity: int) -> BatchingState:
    return BatchingState(np.array([scheduler.batch(None if capacity == UNLIMITED else capacity)], np.int64))


@step
def batch_start(state: BatchingState, t: int) -> int:
    """Return the first round of the batch of t."""
    return t - (t - 1) % state.batch[0]


@admit.on(Batching)
def _admit(scheduler: Batching, state: BatchingState, draws: DrawSource, request: Request) -> int:
    first = batch_start(state, request.t)
    # Keyed by the batch's first round, so every round of it reads the same draw; u lies in (0, 1].
    chosen = first - 1 + ceil(draw(draws, first) * state.batch[0])
    if request.t != chosen:
        return UNTRACKED
    return request.vacancy if request.vacancy >= 0 else SATURATED


@arrive.on(Batching)
def _arrive(scheduler: Batching, state: BatchingState, slot: int, s: int, t: int) -> float:
    return float(state.batch[0])


@withholds.on(Batching)
def _withholds(scheduler: Batching, state: BatchingState, s: int, t: int) -> bool:
    return t < batch_start(state, s) + state.batch[0] - 1
