"""Weights given by the caller: the delayed and weighted game needs no choice."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from tarry.kernel import Parameters
from tarry.schedulers.base import NoState, Traits, admit, allocate, arrive


class _GivenFields(NamedTuple):
    weights: np.ndarray


class Given(Parameters, Traits, _GivenFields):
    """Track every round and weigh its feedback as given (one weight per round, capacity=None)."""

    __slots__ = ()

    needs_unlimited_capacity = True
    is_unbiased = False

    def __new__(cls, weights: np.ndarray) -> Self:
        return cls.make(np.array(weights, dtype=np.float64))


@allocate.on(Given)
def _allocate(scheduler: Any, slots: int, capacity: int) -> NoState:
    return NoState(np.zeros(1, np.int64))


@admit.on(Given)
def _admit(scheduler: Any, state: Any, draws: Any, request: Any) -> Any:
    return request.vacancy


@arrive.on(Given)
def _arrive(scheduler: Any, state: Any, slot: Any, s: Any, t: Any) -> Any:
    return scheduler.weights[s - 1]
