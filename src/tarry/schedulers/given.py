"""Weights given by the caller: the delayed and weighted game needs no choice."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.kernel import Parameters
from tarry.schedulers.base import NoState, Traits, admit, allocate, arrive


class Given(Parameters, Traits, init=False):
    """Track every round and weigh its feedback as given (one weight per round, capacity=None).

    Weights are finite and not negative; a round of weight 0 is heard by nobody. ``WeightedGame`` is played with it.

    >>> state = allocate(Given([0.5, 2.0]), 2, 2)
    >>> float(arrive(Given([0.5, 2.0]), state, 0, 2, 5))
    2.0
    """

    weights: np.ndarray

    needs_unlimited_capacity = True
    is_unbiased = False

    def __new__(cls, weights: ArrayLike) -> Self:
        return cls.make(as_weights(weights))


def as_weights(values: ArrayLike, horizon: int | None = None) -> np.ndarray:
    """One weight for each round (of this many), finite and not negative, or a sentence saying why not."""
    try:
        weights = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"weights must be real numbers, one for each round, got {values!r}") from error
    if weights.ndim != 1 or weights.size != (weights.size if horizon is None else horizon):
        rounds = "each round" if horizon is None else f"each of {horizon} rounds"
        raise ValueError(f"weights need one entry for {rounds}, got shape {weights.shape}")
    bad = np.flatnonzero(~np.isfinite(weights) | (weights < 0))
    if bad.size:
        raise ValueError(f"weights must be finite and not negative, got {weights[bad[0]]} in round {bad[0] + 1}")
    return weights


@allocate.on(Given)
def _allocate(scheduler: Any, slots: int, capacity: int) -> NoState:
    return NoState(np.zeros(1, np.int64))


@admit.on(Given)
def _admit(scheduler: Any, state: Any, draws: Any, request: Any) -> Any:
    return request.vacancy


@arrive.on(Given)
def _arrive(scheduler: Any, state: Any, slot: Any, s: Any, t: Any) -> Any:
    return scheduler.weights[s - 1]
