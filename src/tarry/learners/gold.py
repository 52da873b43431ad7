"""GOLD: a pool of late estimates, the oldest of which makes one step a round."""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple, Self

import numpy as np

from tarry.domains import as_domain
from tarry.domains.shrink import project_shrunken
from tarry.kernel.heap import Heap, discard, make_heap, push, top
from tarry.kernel.wheel import MADE, FreeList, free_rows, give_row, make_rows, take_row
from tarry.learners.base import (
    VALUE,
    Directions,
    Learner,
    absorb,
    advance,
    allocate,
    direction,
    notice,
    predict,
    restart,
)
from tarry.learners.dwftbl import check_smoothing, inner_room
from tarry.learners.from_values import scales_of
from tarry.learners.ogd import BEFORE, DescentState, restart_descent
from tarry.learners.states import Array, zeros_of
from tarry.rates.base import Power, as_rate, count_tracked, next_rate, radius


class GOLD(Learner, init=False):
    """Gradient-free online learning with delayed rewards: one value a round, one step a round.

        x_t = y_t + δ_t u_t,   ĝ_s = (k/δ_s) f_s(x_s) u_s into the pool when f_s(x_s) arrives
        y_{t+1} = Π_{t+1}( y_t − γ_t w_s ĝ_s ),   s the oldest in the pool, which it leaves;   y_t if the pool is empty

    u_t is uniform on the sphere; Π_t projects on K_t = o + (1 − δ_t/r)(K − o), which holds y_t and leaves room for
    δ_t u_t: the domain K drawn in towards its centre o, r its inner radius.

    ``rate`` is γ_t and ``smoothing`` δ_t, of the round t that makes the step or plays: numbers, sequences, functions
    or rules. The regret is of order √k T^(3/4) + (k·max delay)^(1/3) T^(2/3) for γ_t ~ t^(−3/4), δ_t ~ t^(−1/4); with
    all arrivals of a round in one step, ``OnePoint(DOGD(…))``, the mean delay takes the place of the largest. Knows
    nothing of delays. A weight multiplies its estimate. Memory: an estimate for each slot, since whatever waits in
    the pool or is out was out at once; a step costs O(k + log C).

    Héliou, Mertikopoulos, Zhou, *Gradient-free Online Learning in Continuous Games with Delayed Rewards*, ICML 2020.

    >>> from tarry.domains import Ball
    >>> GOLD.tuned(Ball(3), gradient_bound=1.0, value_bound=1.0).smoothing
    Power(scale=1, exponent=0.25, cap=1, shift=0)
    """

    domain: Any
    rate: Any
    smoothing: Any
    origin: Array
    inner_radius: float

    feedback = VALUE

    def __new__(cls, domain: Any, rate: Any, smoothing: Any) -> Self:
        room = inner_room(as_domain(domain, "domain"))
        rule = as_rate(smoothing, "smoothing")
        check_smoothing(rule, room)
        return cls.make(domain, as_rate(rate, "rate"), rule, np.array(domain.center, dtype=np.float64), room)

    @classmethod
    def tuned(cls, domain: Any, gradient_bound: float, value_bound: float) -> Self:
        """Set δ_t = min{r, c t^(−1/4)}, γ_t = (Rc/(kM)) t^(−3/4), c = √(kMR/((2 + R/r)G)).

        The source's exponents; the constants are those of FKM without delay, this project's.
        """
        sizes = scales_of(domain, gradient_bound, 1, value_bound)
        scale = sqrt(sizes.dimension * sizes.value * sizes.outer / sizes.bias)
        step = sizes.outer * scale / (sizes.dimension * sizes.value)
        return cls(domain, Power(step, 0.75), Power(scale, 0.25, sizes.inner))


class PooledState(NamedTuple):
    """The iterate; the pool's estimates by row, oldest first in ``ages``; which rows are free."""

    descent: DescentState
    pool: np.ndarray
    ages: Heap
    rows: FreeList


@allocate.on(GOLD)
def _allocate(learner: GOLD, slots: int) -> PooledState:
    # A round adds one to what is tracked or pooled and, unless the pool is empty, takes one away. So both together
    # are never more than what was tracked when the pool was empty last, one withheld, and the round being played.
    room = slots + 2
    descent, pool = zeros_of(DescentState, learner.dimension, slots), np.zeros((room, learner.dimension))
    state = PooledState(descent, pool, make_heap(room), make_rows(room))
    restart(learner, state, 1, 0.0)
    return state


@restart.on(GOLD)
def _restart(learner: GOLD, state: PooledState, t: int, magnitude: float) -> None:
    restart_descent(learner.origin, state.descent, t, magnitude)
    for row in range(state.rows.marks[MADE]):
        discard(state.ages, row)
    free_rows(state.rows)


@predict.on(GOLD)
def _predict(learner: GOLD, state: PooledState, directions: Directions, t: int, play: Array) -> None:
    delta = radius(learner.smoothing, state.descent.memory, t - state.descent.clock[BEFORE])
    direction(directions, t, play)
    for i in range(play.size):
        play[i] = state.descent.point[i] + delta * play[i]


@notice.on(GOLD)
def _notice(learner: GOLD, state: PooledState, t: int, tracked: int) -> None:
    count_tracked(learner.rate, state.descent.memory, tracked)


@absorb.on(GOLD)
def _absorb(
    learner: GOLD, state: PooledState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
) -> None:
    row = take_row(state.rows)
    into = state.pool[row]
    direction(directions, s, into)
    delta = radius(learner.smoothing, state.descent.memory, s - state.descent.clock[BEFORE])
    scale = weight * (into.size / delta) * feedback[0]
    for i in range(into.size):
        into[i] *= scale
    push(state.ages, row, float(s))


@advance.on(GOLD)
def _advance(learner: GOLD, state: PooledState, t: int, pending: int) -> None:
    # The rate is asked for in quiet rounds too, since it may count the backlog.
    here = t - state.descent.clock[BEFORE]
    rate = next_rate(learner.rate, state.descent.memory, here, pending)
    row = top(state.ages)
    if row < 0:
        return
    discard(state.ages, row)
    give_row(state.rows, row)
    point = state.descent.point
    for i in range(point.size):
        point[i] -= rate * state.pool[row, i]
    # The set of the *next* round: its radius is smaller, and the iterate must leave room for that one.
    keep = 1.0 - radius(learner.smoothing, state.descent.memory, here + 1) / learner.inner_radius
    project_shrunken(learner.domain, learner.origin, keep, point, state.descent.scratch)
