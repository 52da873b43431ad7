"""Morris tracking: a coin that falls with the occupancy. This project's own."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, Self

import numpy as np

from tarry.checks import as_positive
from tarry.errors import ArgumentError
from tarry.schedulers.base import SATURATED, UNTRACKED, DrawSource, Request, Scheduler, admit, allocate, arrive, draw
from tarry.theory import morris_epsilon


def _as_epsilon(value: Any, name: str) -> float:
    """Return a positive number, or 0."""
    if value == 0:
        return 0.0
    if value < 0:
        raise ArgumentError(name, "must not be negative", value, "0 admits while there is room")
    return as_positive(value, name)


class Morris(Scheduler):
    """Admit with probability p_t = (1+ε)^(−|S_t|), keep to arrival, weight 1/p_t (this project's own).

    For games that forbid preemption, without knowledge of delays: E[w_t²] ≤ 1 + ε·backlog, and a full
    set is rare if ε is not small (at capacity 16: 0.5 for a backlog of 200, 0.6 for 500; 0.35 fills it).
    After Morris's counter (1978).

    >>> Morris(0.5)
    Morris(epsilon=0.5)
    """

    epsilon: Annotated[float, _as_epsilon]

    @classmethod
    def for_backlog(cls, backlog: int, capacity: int, *, saturation: float = 1e-3) -> Self:
        """Return the member with the smallest ε whose tail bound keeps a full set this rare at a given backlog.

        >>> Morris.for_backlog(200, 16)
        Morris(epsilon=0.477102)
        """
        return cls(morris_epsilon(max_backlog=backlog, capacity=capacity, target=saturation))


class MorrisState(NamedTuple):
    """The weight of each slot's round."""

    weight: np.ndarray


@allocate.on(Morris)
def _allocate(scheduler: Morris, slots: int, capacity: int) -> MorrisState:
    return MorrisState(np.zeros(slots))


@admit.on(Morris)
def _admit(scheduler: Morris, state: MorrisState, draws: DrawSource, request: Request) -> int:
    slot = request.vacancy
    if slot < 0:
        return SATURATED
    weight = (1.0 + scheduler.epsilon) ** np.float64(request.tracked)
    if draw(draws, request.t) * weight > 1.0:
        return UNTRACKED
    state.weight[slot] = weight
    return slot


@arrive.on(Morris)
def _arrive(scheduler: Morris, state: MorrisState, slot: int, s: int, t: int) -> float:
    return state.weight[slot]
