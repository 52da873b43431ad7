"""Pools of late estimates from values: GOLD steps with the oldest each round, D-FTBL with whole blocks."""

from __future__ import annotations

from math import ceil, log, sqrt
from typing import Any, NamedTuple, Self

import numpy as np

from tarry.checks import as_int, as_positive
from tarry.domains.base import as_domain
from tarry.domains.composed import project_shrunken
from tarry.kernel import step
from tarry.kernel.heap import Heap, discard, make_heap, push, top
from tarry.kernel.wheel import MADE, FreeList, free_rows, give_row, make_rows, take_row
from tarry.learners import base as verbs
from tarry.learners.base import VALUE, Directions, Learner, direction
from tarry.learners.descent import BEFORE, DescentState, restart_descent
from tarry.learners.dwftbl import check_smoothing, inner_room
from tarry.learners.dwftrl import DWFTRL, LeaderState, follow, restart_leader
from tarry.learners.from_values import OnShrunken, on_shrunken, scales_of
from tarry.learners.states import Array, clear, zeros_of
from tarry.rates.base import Power, as_rate, as_rate_of_time, next_rate, radius


class GOLD(Learner, init=False):
    """Gradient-free online learning with delayed rewards: one value a round, one step a round.

        x_t = y_t + δ_t u_t,   ĝ_s = (k/δ_s) f_s(x_s) u_s into the pool when f_s(x_s) arrives
        y_{t+1} = Π_{t+1}( y_t − γ_t w_s ĝ_s ),   s the oldest in the pool, which it leaves;   y_t if the pool is empty

    u_t is uniform on the sphere; Π_t projects on K_t = o + (1 − δ_t/r)(K − o), the domain K drawn in towards its centre
    o, r its inner radius. ``rate`` is γ_t and ``smoothing`` δ_t. The regret is of order √k T^(3/4) + (k·max
    delay)^(1/3) T^(2/3) for γ_t ~ t^(−3/4), δ_t ~ t^(−1/4). Héliou, Mertikopoulos, Zhou, *Gradient-free Online Learning
    in Continuous Games with Delayed Rewards*, ICML 2020.

    >>> from tarry.domains import Ball
    >>> GOLD.tuned(Ball(3), gradient_bound=1.0, value_bound=1.0).smoothing
    Power(scale=1, exponent=0.25, cap=1)
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

    def allocate(self, slots: int) -> PooledState:
        # A round adds one to what is tracked or pooled and, unless the pool is empty, takes one away. So both together
        # are never more than what was tracked when the pool was empty last, one withheld, and the round being played.
        room = slots + 2
        descent, pool = zeros_of(DescentState, self.dimension, slots), np.zeros((room, self.dimension))
        state = PooledState(descent, pool, make_heap(room), make_rows(room))
        verbs.restart(self, state, 1, 0.0)
        return state

    def restart(self, state: PooledState, t: int, magnitude: float) -> None:
        restart_descent(self.origin, state.descent, t, magnitude)
        for row in range(state.rows.marks[MADE]):
            discard(state.ages, row)
        free_rows(state.rows)

    def predict(self, state: PooledState, directions: Directions, t: int, play: Array) -> None:
        delta = radius(self.smoothing, state.descent.memory, t - state.descent.clock[BEFORE])
        direction(directions, t, play)
        for i in range(play.size):
            play[i] = state.descent.point[i] + delta * play[i]

    def absorb(
        self, state: PooledState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
    ) -> None:
        row = take_row(state.rows)
        into = state.pool[row]
        direction(directions, s, into)
        delta = radius(self.smoothing, state.descent.memory, s - state.descent.clock[BEFORE])
        scale = weight * (into.size / delta) * feedback[0]
        for i in range(into.size):
            into[i] *= scale
        push(state.ages, row, float(s))

    def advance(self, state: PooledState, t: int, pending: float) -> None:
        # The rate is asked for in quiet rounds too, since it may count the backlog.
        here = t - state.descent.clock[BEFORE]
        rate = next_rate(self.rate, state.descent.memory, here, pending)
        row = top(state.ages)
        if row < 0:
            return
        discard(state.ages, row)
        give_row(state.rows, row)
        point = state.descent.point
        for i in range(point.size):
            point[i] -= rate * state.pool[row, i]
        # The set of the *next* round: its radius is smaller, and the iterate must leave room for that one.
        keep = 1.0 - radius(self.smoothing, state.descent.memory, here + 1) / self.inner_radius
        project_shrunken(self.domain, self.origin, keep, point, state.descent.scratch)


class PooledState(NamedTuple):
    """Hold the iterate; the pool's estimates by row, oldest first in ``ages``; which rows are free."""

    descent: DescentState
    pool: np.ndarray
    ages: Heap
    rows: FreeList


CURRENT, EARLIER, BLOCKS, NEWS, CLOCKS = range(5)  # of ``BlockState.clock``


class DFTBL(OnShrunken, init=False):
    """Delayed follow-the-bandit-leader with blocks of ``block`` = b rounds around one centre, one value a round.

        x_t = y_m + δ u_t in block m = ⌈t/b⌉,   ĝ_s = (k/δ) f_s(x_s) u_s into the pool of the block of s
        y_{m+1} = argmin_{y ∈ K_δ} ⟨y, Σ pools⟩ + Σ_{i≤m} (α_i/2) |y − y_i|²,   over pools settled in block m or before

    u_t is uniform on the sphere, K_δ = o + (1 − δ/r)(K − o) the domain K drawn in towards its centre o, r its inner
    radius. ``rate`` is η_m = 1/(α_1 + … + α_m) of the m-th block, by time alone; ``smoothing`` is δ ≤ r. Regret of
    order √k T^(3/4) + √(max delay·T), and (kT)^(2/3) ln^(1/3) T + max delay·ln T for :meth:`strongly_convex`. A block
    is *settled* when it is over and every tracked round of it has been heard; under a capacity no bound is claimed.
    Wan, Yao, Song, Zhang, *Improved Regret for Bandit Convex Optimization with Delayed Feedback*, NeurIPS 2024.

    >>> from tarry.domains import Ball
    >>> DFTBL.tuned(Ball(2), gradient_bound=1.0, value_bound=1.0, horizon=10_000, max_delay=50).block
    245
    """

    base: DWFTRL
    smoothing: float
    block: int

    def __new__(cls, domain: Any, rate: Any, smoothing: float, block: int) -> Self:
        base = DWFTRL(as_domain(domain, "domain"), as_rate_of_time(rate, "rate", "blocks"))
        return cls.make(on_shrunken(base, smoothing), float(smoothing), as_int(block, "block", 1))

    @classmethod
    def tuned(cls, domain: Any, gradient_bound: float, value_bound: float, horizon: int, max_delay: int) -> Self:
        """Set b = ⌈z²⌉, η = R/(G√(2T(3b + 2·max delay))), z = kM/(Gδ), δ = min{r, √(√6 kMR/((2 + R/r)G)) T^(−1/4)}.

        Regret at most GR√(2T(3b + 2·max delay)) + (2 + R/r)GδT in expectation, unit weights (docs/bounds.md).
        """
        late = as_int(max_delay, "max_delay")
        sizes = scales_of(domain, gradient_bound, horizon, value_bound)
        k, inner, outer, gradient, value, rounds = sizes
        delta = min(inner, sqrt(sqrt(6.0) * k * value * outer / (sizes.bias * sqrt(rounds))))
        # In so long a block the noise of the estimates adds up to no more than their signal: delays cost their length
        # alone. Nothing is learnt before T exceeds b.
        block = ceil(sizes.length(delta) ** 2)
        return cls(domain, outer / (gradient * sqrt(2.0 * rounds * (3.0 * block + 2.0 * late))), delta, block)

    @classmethod
    def strongly_convex(
        cls, domain: Any, strong_convexity: float, gradient_bound: float, value_bound: float, horizon: int
    ) -> Self:
        """Set η_m = 1/(λbm), b = ⌈z²⌉, z = kM/(Gδ), δ = min{r, (6k²M² ln T/(λ(2 + R/r)GT))^(1/3)}.

        The source's exponents; the constants balance this project's estimate of the two terms and are not proved.
        """
        curvature = as_positive(strong_convexity, "strong_convexity")
        sizes = scales_of(domain, gradient_bound, horizon, value_bound)
        noise = 6.0 * (sizes.dimension * sizes.value) ** 2 * log(max(sizes.rounds, 2))
        delta = min(sizes.inner, (noise / (curvature * sizes.bias * sizes.rounds)) ** (1 / 3))
        block = ceil(sizes.length(delta) ** 2)
        return cls(domain, Power(1.0 / (curvature * block), 1.0), delta, block)

    def check_horizon(self, horizon: int | None) -> None:
        """Raise ValueError for games of more blocks than the rate's sequence has (None: a session)."""
        self.base.check_horizon(None if horizon is None else -(-horizon // self.block))

    def allocate(self, slots: int) -> BlockState:
        k, rows = self.dimension, slots + 1  # a block that is over holds a slot, the current one may hold none
        state = BlockState(
            base=zeros_of(LeaderState, k, slots),
            scratch=np.zeros(k),
            pools=np.zeros((rows, k)),
            out=np.zeros(rows, np.int64),
            held=np.zeros(slots, np.int64),
            settled=np.zeros(k),
            rows=make_rows(rows),
            clock=np.zeros(CLOCKS, np.int64),
        )
        verbs.restart(self, state, 1, 0.0)
        return state

    def restart(self, state: BlockState, t: int, magnitude: float) -> None:
        restart_leader(self.base.start, state.base, 1, magnitude)
        for slot in range(state.held.size):
            state.held[slot] = -1
        clear(state.settled)
        free_rows(state.rows)
        state.clock[CURRENT] = 0
        state.clock[EARLIER] = t - 1
        state.clock[BLOCKS] = 0
        state.clock[NEWS] = 0

    def predict(self, state: BlockState, directions: Directions, t: int, play: Array) -> None:
        direction(directions, t, play)
        for i in range(play.size):
            play[i] = state.base.point[i] + self.smoothing * play[i]

    def enter(self, state: BlockState, slot: int, t: int) -> None:
        leave(state, slot)  # its round was dropped, or weighed nothing
        # A row is taken when the block's first round is tracked: blocks of which nothing is heard need none.
        if state.clock[CURRENT] == 0:
            fresh = take_row(state.rows)
            state.clock[CURRENT] = fresh + 1
            state.out[fresh] = 0
            for i in range(state.settled.size):
                state.pools[fresh, i] = 0.0
        row = state.clock[CURRENT] - 1
        state.held[slot] = row
        state.out[row] += 1

    def forget(self, state: BlockState, slot: int) -> None:
        leave(state, slot)

    def absorb(
        self, state: BlockState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
    ) -> None:
        row = state.held[slot]
        if row < 0:
            return  # of an epoch that is over
        direction(directions, s, state.scratch)
        scale = weight * (state.scratch.size / self.smoothing) * feedback[0]
        for i in range(state.scratch.size):
            state.pools[row, i] += scale * state.scratch[i]
        leave(state, slot)

    def advance(self, state: BlockState, t: int, pending: float) -> None:
        if (t - state.clock[EARLIER]) % self.block != 0:
            return
        row = state.clock[CURRENT] - 1
        state.clock[CURRENT] = 0
        if row >= 0 and state.out[row] == 0:
            settle(state, row)
        if state.clock[NEWS] == 1:
            for i in range(state.settled.size):
                state.base.total[i] += state.settled[i]
                state.settled[i] = 0.0
            state.base.changed[0] = 1
            state.clock[NEWS] = 0
        state.clock[BLOCKS] += 1
        follow(self.base.domain, self.base.norm, self.base.rate, state.base, state.clock[BLOCKS], -1)


class BlockState(NamedTuple):
    """Hold the leader; pools and rounds out of each, by row; the row of each slot or -1; what is settled and not used.

    ``clock`` = (one more than the row of the current block or 0, rounds of earlier epochs, blocks ended, any news).
    """

    base: LeaderState
    scratch: np.ndarray
    pools: np.ndarray
    out: np.ndarray
    held: np.ndarray
    settled: np.ndarray
    rows: FreeList
    clock: np.ndarray


@step
def settle(state: BlockState, row: int) -> None:
    """Let the pool of a block be used: the block is over, and nothing of it is out."""
    for i in range(state.settled.size):
        state.settled[i] += state.pools[row, i]
    state.clock[NEWS] = 1
    give_row(state.rows, row)


@step
def leave(state: BlockState, slot: int) -> None:
    """Count the round that this slot holds, if it holds one, as out no more."""
    row = state.held[slot]
    if row < 0:
        return
    state.held[slot] = -1
    state.out[row] -= 1
    if state.out[row] == 0 and row != state.clock[CURRENT] - 1:
        settle(state, row)
