"""Schedulers that toss a coin whose chance follows the load: Morris, Thinning and Batching."""

from __future__ import annotations

from math import ceil
from typing import NamedTuple, Self

import numpy as np

from tarry.checks import Natural, NonNegative, Positive
from tarry.kernel import step
from tarry.kernel.heap import Heap, discard, make_heap, top
from tarry.schedulers import base
from tarry.theory import morris_epsilon
from tarry.theory.weights import batch_length


class Morris(base.Scheduler):
    """Admit with probability p_t = (1+ε)^(−|S_t|), keep to arrival, weight 1/p_t (this project's own).

    For games that forbid preemption, without knowledge of delays: E[w_t²] ≤ 1 + ε·backlog, and a full
    set is rare if ε is not small (at capacity 16: 0.5 for a backlog of 200, 0.6 for 500; 0.35 fills it).
    After Morris's counter (1978).
    """

    epsilon: NonNegative  # 0 admits while there is room

    grows = True

    @classmethod
    def for_backlog(cls, backlog: int, capacity: int, *, saturation: float = 1e-3) -> Self:
        """Return the member with the smallest ε whose tail bound keeps a full set this rare at a given backlog.

        >>> Morris.for_backlog(200, 16)
        Morris(epsilon=0.477102)
        """
        return cls(morris_epsilon(max_backlog=backlog, capacity=capacity, target=saturation))

    def allocate(self, slots: int, capacity: int) -> np.ndarray:
        return np.zeros(slots)  # the weight of each slot's round

    def admit(self, state: np.ndarray, draws: base.DrawSource, request: base.Request) -> int:
        slot = request.vacancy
        if slot < 0:
            return base.SATURATED
        weight = (1.0 + self.epsilon) ** np.float64(request.tracked)
        if base.draw(draws, request.t) * weight > 1.0:  # u > p, without rounding p = 1/weight
            return base.UNTRACKED
        state[slot] = weight
        return slot

    def arrive(self, state: np.ndarray, slot: int, s: int, t: int) -> float:
        return state[slot]


class ThinningState(NamedTuple):
    """Members by falling uniform; ``level`` = (largest backlog so far, p, capacity)."""

    heap: Heap
    level: np.ndarray


class Thinning(base.Scheduler):
    """Bernoulli without knowing the backlog: p_t = min{1, C/(safety·(1 + max_{s≤t} σ_s))}.

    A round stays tracked for as long as its one uniform is at most p, so when p falls some members go; an arrival
    weighs 1/p. Survival at round t is p_t for every member, so the paper's saturation lemma and its strongly convex
    bound hold without the largest backlog being known. Preempts; needs acknowledgements. This project's own.
    """

    safety: Positive = 8.0

    needs_preemption = True
    needs_acknowledgements = True
    announces_preemption = True

    def allocate(self, slots: int, capacity: int) -> ThinningState:
        return ThinningState(make_heap(slots), np.array([0.0, 1.0, float(capacity)]))

    def expired(self, state: ThinningState, t: int, pending: int) -> int:
        # Asked again within a round, this finds the same p: the backlog of a round does not change.
        state.level[0] = max(state.level[0], pending)
        state.level[1] = min(1.0, state.level[2] / (self.safety * (state.level[0] + 1.0)))
        slot = top(state.heap)
        # Keys are −u: the top of the heap is the largest uniform, the first to go.
        if slot < 0 or -state.heap.key[slot] <= state.level[1]:
            return -1
        discard(state.heap, slot)
        return slot

    def admit(self, state: ThinningState, draws: base.DrawSource, request: base.Request) -> int:
        u = base.draw(draws, request.t)
        if u > state.level[1]:
            return base.UNTRACKED
        return base.push_into(state.heap, request.vacancy, -u)

    def arrive(self, state: ThinningState, slot: int, s: int, t: int) -> float:
        discard(state.heap, slot)
        return 1.0 / state.level[1]


class Batching(base.Scheduler):
    """Cut time into batches of b rounds and track one of each, drawn evenly when the batch begins; its weight is b.

    b = max{1, ⌈d/(C−1)⌉}, d = ``max_delay``: a window of d + 1 rounds meets at most ⌈d/b⌉ + 1 ≤ C batches, so while
    no delay exceeds d the set never refuses; where one does, rounds may be refused ("saturated"), and that biases.
    Needs two slots (one will do for d = 0). Feedback that returns within its own batch is withheld from the learner
    until the batch ends, so that no play depends on which round was drawn. E[w_t²] = b, and E[w_s w_t] is 1 across
    batches, 0 within one. After the batches of Ryabchenko, Attias and Roy (2025) for experts; the withholding is ours.

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

    def allocate(self, slots: int, capacity: int) -> np.ndarray:
        return np.array([self.batch(None if capacity == base.UNLIMITED else capacity)], np.int64)

    def admit(self, state: np.ndarray, draws: base.DrawSource, request: base.Request) -> int:
        first = batch_start(state, request.t)
        # Keyed by the batch's first round, so every round of it reads the same draw; u lies in (0, 1].
        place = first - 1 + ceil(base.draw(draws, first) * state[0])
        if request.t != place:
            return base.UNTRACKED
        return request.vacancy if request.vacancy >= 0 else base.SATURATED

    def arrive(self, state: np.ndarray, slot: int, s: int, t: int) -> float:
        return float(state[0])

    def withholds(self, state: np.ndarray, s: int, t: int) -> bool:
        return t < batch_start(state, s) + state[0] - 1


@step
def batch_start(state: np.ndarray, t: int) -> int:
    """Return the first round of the batch of t; the state holds the length b."""
    return t - (t - 1) % state[0]
