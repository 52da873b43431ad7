"""Weights given by the caller: the delayed and weighted game needs no choice."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.schedulers.base import DrawSource, NoState, Request, Scheduler, admit, arrive


class Given(Scheduler, init=False):
    """Track every round and weigh its feedback as given (one weight per round, capacity=None).

    Weights are finite and not negative; feedback of weight 0 never reaches the learner.
    ``WeightedGame`` is played with it.

    >>> Given([0.5, 2.0, 0.0]).has_zero_weights
    True
    """

    weights: np.ndarray

    needs_unlimited_capacity = True
    is_unbiased = False

    def __new__(cls, weights: ArrayLike) -> Self:
        return cls.make(as_weights(weights))

    @property
    def has_zero_weights(self) -> bool:  # type: ignore[override]
        return not np.all(self.weights)


def as_weights(values: ArrayLike, horizon: int | None = None) -> np.ndarray:
    """Return one weight for each round (of this many), or raise ValueError if one is negative or not finite."""
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


@admit.on(Given)
def _admit(scheduler: Given, state: NoState, draws: DrawSource, request: Request) -> int:
    return request.vacancy


@arrive.on(Given)
def _arrive(scheduler: Given, state: NoState, slot: int, s: int, t: int) -> float:
    return scheduler.weights[s - 1]
