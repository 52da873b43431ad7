"""Schedulers that correct for nothing: no limit, weights given by the caller, the rules of queues, and skipping."""

from __future__ import annotations

from math import ceil, log, sqrt
from typing import Annotated, Any, NamedTuple, Self

import numpy as np

from tarry.checks import as_int, as_positive
from tarry.errors import ArgumentError
from tarry.kernel.heap import Heap, discard, make_heap, push, take_due, top
from tarry.schedulers import base
from tarry.times import read_length

LARGEST_WEIGHT = 1e100  # far from where sums of squares could overflow


class Unweighted(base.Scheduler):
    """Base of schedulers that track while there is room, with weight 1."""

    is_unbiased = False
    grows = True

    def admit(self, state: Any, draws: base.DrawSource, request: base.Request) -> int:
        return request.vacancy if request.vacancy >= 0 else base.SATURATED

    def arrive(self, state: Any, slot: int, s: int, t: int) -> float:
        return 1.0


class Always(Unweighted):
    """Track every round with weight 1: the unlimited game, capacity=None only."""

    needs_unlimited_capacity = True
    is_unbiased = True
    conserves_weight = True


def as_weights(values: Any, name: str, horizon: int | None = None) -> np.ndarray:
    """Return one weight for each round (of this many), or raise ValueError if one is negative or not finite."""
    try:
        weights = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be real numbers, one for each round, got {values!r}") from error
    if weights.ndim != 1 or weights.size != (weights.size if horizon is None else horizon):
        rounds = "each round" if horizon is None else f"each of {horizon} rounds"
        raise ValueError(f"{name} need one entry for {rounds}, got shape {weights.shape}")
    bad = np.flatnonzero(~np.isfinite(weights) | (weights < 0))
    if bad.size:
        raise ValueError(f"{name} must be finite and not negative, got {weights[bad[0]]} in round {bad[0] + 1}")
    if weights.size and weights.max() > LARGEST_WEIGHT:
        t = int(np.argmax(weights)) + 1
        raise ValueError(
            f"{name} must be at most {LARGEST_WEIGHT:g}, got {weights[t - 1]} in round {t}: divide all by it"
        )
    return weights


class Given(Unweighted):
    """Track every round and weigh its feedback as given: ``WeightedGame`` is played so (capacity=None)."""

    weights: Annotated[np.ndarray, as_weights]

    needs_unlimited_capacity = True

    @property
    def has_zero_weights(self) -> bool:  # type: ignore[override]
        return not np.all(self.weights)

    def arrive(self, state: np.ndarray, slot: int, s: int, t: int) -> float:
        return self.weights[s - 1]

    def given_weight(self, t: int) -> float:
        return self.weights[t - 1]


class DropNewest(Unweighted):
    """Track while there is room, with weight 1.

    It decides before the outcome and keeps to the end, so it errs only where load or time tells something of
    outcomes: busy periods, a trend, runs of slow outcomes.
    """


class RandomEvict(Unweighted):
    """Track every newcomer in a random member's place, weight 1. Errs where load, time or delay tells of outcomes."""

    needs_preemption = True

    def admit(self, state: np.ndarray, draws: base.DrawSource, request: base.Request) -> int:
        if request.vacancy >= 0:
            return request.vacancy
        # The set is full, so the slots in use are exactly 0..C-1; a uniform of 1 would name slot C.
        return min(int(base.draw(draws, request.t) * request.capacity), request.capacity - 1)


class Reservoir(Unweighted):
    """When full, enter with probability C/(pending+1) in a random member's place; weight 1.

    Counts pending rounds, so acknowledgements are needed. Errs where load, time or delay tells of the outcome:
    slow ones, and those of busy times, are exposed to more newcomers, and nothing corrects for that. A baseline only.
    """

    needs_preemption = True
    needs_acknowledgements = True

    def admit(self, state: np.ndarray, draws: base.DrawSource, request: base.Request) -> int:
        if request.vacancy >= 0:
            return request.vacancy
        # One uniform makes both choices: below C/(pending+1), what is left of it names the slot.
        place = base.draw(draws, request.t) * (request.pending + 1.0)
        if place > request.capacity:
            return base.UNTRACKED
        return min(int(place), request.capacity - 1)


class HeapState(NamedTuple):
    """Tracked rounds in a heap."""

    heap: Heap


class Ordered(Unweighted):
    """Base of unweighted schedulers that keep tracked rounds in a heap."""

    def allocate(self, slots: int, capacity: int) -> Any:
        return HeapState(make_heap(slots))

    def arrive(self, state: HeapState, slot: int, s: int, t: int) -> float:
        discard(state.heap, slot)
        return 1.0


class DropOldest(Ordered):
    """Track every newcomer at the oldest's expense, weight 1. Errs where load, time or delay tells of outcomes."""

    needs_preemption = True

    def admit(self, state: HeapState, draws: base.DrawSource, request: base.Request) -> int:
        slot = request.vacancy
        if slot < 0:
            slot = top(state.heap)
            discard(state.heap, slot)
        push(state.heap, slot, float(request.t))
        return slot


def as_age(value: Any, name: str) -> int:
    """Return a number of rounds; a length of time is told from it."""
    if isinstance(value, str) and read_length(value) is not None:
        remedy = f"give a whole number, or LabelJoin a window of time, window={value!r}"
        raise ArgumentError(name, "counts rounds and not time", value, remedy)
    return as_int(value, name)


class Timeout(Ordered):
    """Track while there is room, with weight 1, and give up at the start of round s + age + 1.

    Errs where delay depends on the outcome, against those slower than ``age`` rounds (at least 0). Where the set is
    full it refuses as :class:`DropNewest` does, and errs as that does, too.
    """

    age: Annotated[int, as_age]

    needs_preemption = True
    announces_preemption = True

    @property
    def max_wait(self) -> float:  # type: ignore[override]
        return self.age

    def expired(self, state: HeapState, t: int, pending: int) -> int:
        return take_due(state.heap, t)

    def admit(self, state: HeapState, draws: base.DrawSource, request: base.Request) -> int:
        return base.push_into(state.heap, request.vacancy, request.t + self.age + 1.0)


class SkippingState(NamedTuple):
    """Members by their round; ``waited`` = (W, the round it was last added to)."""

    heap: Heap
    waited: np.ndarray


class Skipping(Ordered, init=False):
    """Track while there is room, with weight 1, and give up round s when t − s > c·√(W_t/ln K).

    W_t is how long the tracked rounds have waited so far, in all: the start of each round adds their number, before
    any is given up. K = ``actions``, c = ``patience``. Biased by design: a round given up is a loss of at most 1, and
    they are at most (2/c)·√(W ln K). With ``TsallisFTRL(K, counts="tracked")`` and no limit on the set, the regret is
    at most 4√(KT) + (√8 + 2/c)·(√((d + |R|) ln K) + c|R|), for every set R of rounds and d the total delay of the
    others: a few endless rounds cost no more than their number (docs/bounds.md).

    The advanced tuning of Zimmert and Seldin, An Optimal Algorithm for Adversarial Bandits with Arbitrary Delays
    (AISTATS 2020); the threshold's constant and the bound's are this project's.
    """

    patience: float
    actions: int

    needs_preemption = True
    announces_preemption = True

    def __new__(cls, actions: int, *, patience: float = 1.0) -> Self:
        # At two actions ln K is still positive, and the threshold finite.
        return cls.make(as_positive(patience, "patience"), as_int(actions, "actions", 2))

    def allocate(self, slots: int, capacity: int) -> SkippingState:
        return SkippingState(make_heap(slots), np.zeros(2))

    def renew(self, state: SkippingState, magnitude: float) -> None:
        state.waited[WAITED] = 0.0

    def expired(self, state: SkippingState, t: int, pending: int) -> int:
        if state.waited[UNTIL] != t:  # asked several times a round, it adds once
            state.waited[UNTIL] = t
            state.waited[WAITED] += state.heap.size[0]
        limit = self.patience * sqrt(state.waited[WAITED] / log(self.actions))
        # Rounds are whole: s < t − limit is s ≤ ⌈t − limit⌉ − 1.
        return take_due(state.heap, ceil(t - limit) - 1.0)

    def admit(self, state: SkippingState, draws: base.DrawSource, request: base.Request) -> int:
        return base.push_into(state.heap, request.vacancy, float(request.t))


WAITED, UNTIL = range(2)
