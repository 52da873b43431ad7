"""Bernoulli on a guess of the largest backlog, which a doubling trick corrects."""

from __future__ import annotations

from typing import Any, Self

from tarry.checks import as_positive
from tarry.kernel import Parameters
from tarry.schedulers.base import expired
from tarry.schedulers.survival import NEVER, Surviving, chance, invert, scale_of


class Guessing(Parameters, Surviving, init=False):
    """p = min{1, C/(safety·2^j)} while the backlog stays below 2^j: the paper's Bernoulli rule for its doubling trick.

    To be used with ``Player(…, epochs=Doubling("backlog"))``, which tells it when the backlog outgrows the guess.
    The appendix "Doubling Trick over Maximum Backlog" of the paper. ``fit`` (not in the paper) takes p = 1 for as
    long as 2^j ≤ C: the set cannot fill then.

    >>> Guessing()
    Guessing(safety=8, fit=0)
    """

    safety: float
    fit: int

    follows_epochs = ("backlog",)

    def __new__(cls, safety: float = 8.0, *, fit: bool = False) -> Self:
        return cls.make(as_positive(safety, "safety"), int(fit))


@expired.on(Guessing)
def _expired(scheduler: Any, state: Any, t: Any, pending: Any) -> Any:
    return -1


@scale_of.on(Guessing)
def _scale_of(scheduler: Any, state: Any, request: Any) -> Any:
    if scheduler.fit and state.series[2] <= request.capacity:
        return 1.0
    return min(1.0, request.capacity / (scheduler.safety * state.series[2]))


@chance.on(Guessing)
def _chance(scheduler: Any, scale: Any, s: Any, age: Any) -> Any:
    return scale


@invert.on(Guessing)
def _invert(scheduler: Any, scale: Any, t: Any, u: Any) -> Any:
    return NEVER if u <= scale else -1.0
