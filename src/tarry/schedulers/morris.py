"""Morris tracking: a coin that falls with the occupancy. This project's own."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from tarry.checks import as_positive
from tarry.kernel import Parameters
from tarry.schedulers.base import SATURATED, UNTRACKED, Traits, admit, allocate, arrive, draw
from tarry.theory import morris_epsilon


class Morris(Parameters, Traits, init=False):
    """Admit with probability p_t = (1+ε)^(−|S_t|), keep to arrival, weight 1/p_t (this project's own).

    For games that forbid preemption, without knowledge of delays: E[w_t²] ≤ 1 + ε·backlog, and a full
    set is rare if ε is not small (at capacity 16: 0.5 for a backlog of 200, 0.6 for 500; 0.35 fills it).
    After Morris's counter (1978).

    >>> Morris(0.5)
    Morris(epsilon=0.5)
    """

    epsilon: float

    def __new__(cls, epsilon: float) -> Self:
        if epsilon == 0:
            return cls.make(0.0)  # admit while there is room
        if epsilon < 0:
            raise ValueError(f"epsilon must not be negative, got {epsilon!r}: 0 admits while there is room")
        return cls.make(as_positive(epsilon, "epsilon"))

    @classmethod
    def for_backlog(cls, backlog: int, capacity: int, *, saturation: float = 1e-3) -> Self:
        """The smallest ε whose tail bound keeps a full set below this probability at a given backlog.

        >>> Morris.for_backlog(200, 16)
        Morris(epsilon=0.477102)
        """
        return cls(morris_epsilon(max_backlog=backlog, capacity=capacity, target=saturation))


class MorrisState(NamedTuple):
    """The weight of each slot's round."""

    weight: np.ndarray


@allocate.on(Morris)
def _allocate(scheduler: Any, slots: int, capacity: int) -> MorrisState:
    return MorrisState(np.zeros(slots))


@admit.on(Morris)
def _admit(scheduler: Any, state: Any, draws: Any, request: Any) -> Any:
    slot = request.vacancy
    if slot < 0:
        return SATURATED
    weight = (1.0 + scheduler.epsilon) ** np.float64(request.tracked)
    if draw(draws, request.t) * weight > 1.0:
        return UNTRACKED
    state.weight[slot] = weight
    return slot


@arrive.on(Morris)
def _arrive(scheduler: Any, state: Any, slot: Any, s: Any, t: Any) -> Any:
    return state.weight[slot]
