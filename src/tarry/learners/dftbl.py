"""D-FTBL: follow the bandit leader, one move a block, from blocks whose values are all in."""

from __future__ import annotations

from math import ceil, log, sqrt
from typing import Any, NamedTuple, Self

import numpy as np

from tarry.checks import as_int, as_positive
from tarry.domains import as_domain
from tarry.kernel import step
from tarry.kernel.wheel import FreeList, free_rows, give_row, make_rows, take_row
from tarry.learners.base import Directions, absorb, advance, allocate, direction, enter, forget, predict, restart
from tarry.learners.dwftrl import DWFTRL, LeaderState, follow, restart_leader
from tarry.learners.from_values import OnShrunken, on_shrunken, scales_of
from tarry.learners.states import Array, zeros_of
from tarry.rates.base import Power, as_rate_of_time

CURRENT, BEFORE, BLOCKS, NEWS, CLOCKS = range(5)


class DFTBL(OnShrunken, init=False):
    """Delayed follow-the-bandit-leader with blocks of ``block`` = b rounds around one centre, one value a round.

        x_t = y_m + δ u_t in block m = ⌈t/b⌉,   ĝ_s = (k/δ) f_s(x_s) u_s into the pool of the block of s
        y_{m+1} = argmin_{y ∈ K_δ} ⟨y, Σ pools⟩ + Σ_{i≤m} (α_i/2) |y − y_i|²,   over pools settled in block m or before

    u_t is uniform on the sphere, K_δ = o + (1 − δ/r)(K − o) the domain K drawn in towards its centre o, r its inner
    radius. 1/η_m = α_1 + … + α_m: a constant η_m anchors at the centre, 1/(λbm) at all iterates alike.

    ``rate`` is η_m of the m-th block, by time alone; ``smoothing`` is δ, at most the domain's inner radius. In a block
    of b ≥ (kM/(Gδ))² rounds the noise of the estimates adds up to no more than their signal, so delays cost their
    length, not their length times the noise: order √k T^(3/4) + √(max delay·T), and (kT)^(2/3) ln^(1/3) T +
    max delay·ln T for :meth:`strongly_convex`.

    A block is *settled* when it is over and every round of it that was tracked has been heard; without a limit on the
    set that is the source's "complete". Under a capacity its pool holds the weighted estimates of those heard, which
    is unbiased; a learner is not told that a round was dropped, so it counts as out until its slot is taken again.
    No bound is claimed there. Memory: a pool for each slot.

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

        Regret at most GR√(2T(3b + 2·max delay)) + (2 + R/r)GδT in expectation, with unit weights (docs/methods.md): the
        source's order, this project's constants. Nothing is learnt before T exceeds b.
        """
        late = as_int(max_delay, "max_delay")
        sizes = scales_of(domain, gradient_bound, horizon, value_bound)
        k, inner, outer, gradient, value, rounds = sizes
        delta = min(inner, sqrt(sqrt(6.0) * k * value * outer / (sizes.bias * sqrt(rounds))))
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


class BlockState(NamedTuple):
    """The leader; pools and rounds out of each, by row; the row of each slot or -1; what is settled and not yet used.

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
def current_row(state: BlockState) -> int:
    """Return the row of the block being played, an empty one if it has none yet."""
    # A row is taken when the block's first round is tracked: blocks of which nothing is heard need none.
    if state.clock[CURRENT] == 0:
        row = take_row(state.rows)
        state.clock[CURRENT] = row + 1
        state.out[row] = 0
        for i in range(state.settled.size):
            state.pools[row, i] = 0.0
    return state.clock[CURRENT] - 1


@step
def settle(state: BlockState, row: int) -> None:
    """Nothing of a block that is over is out: its pool may be used."""
    for i in range(state.settled.size):
        state.settled[i] += state.pools[row, i]
    state.clock[NEWS] = 1
    give_row(state.rows, row)


@step
def leave(state: BlockState, slot: int) -> None:
    """The round that this slot holds, if it holds one, is out no more."""
    row = state.held[slot]
    if row < 0:
        return
    state.held[slot] = -1
    state.out[row] -= 1
    if state.out[row] == 0 and row != state.clock[CURRENT] - 1:
        settle(state, row)


@allocate.on(DFTBL)
def _allocate(learner: DFTBL, slots: int) -> BlockState:
    k, rows = learner.dimension, slots + 1  # a block that is over holds a slot, the current one may hold none
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
    restart(learner, state, 1, 0.0)
    return state


@restart.on(DFTBL)
def _restart(learner: DFTBL, state: BlockState, t: int, magnitude: float) -> None:
    restart_leader(learner.base.start, state.base, 1, magnitude)
    for slot in range(state.held.size):
        state.held[slot] = -1
    for i in range(state.settled.size):
        state.settled[i] = 0.0
    free_rows(state.rows)
    state.clock[CURRENT] = 0
    state.clock[BEFORE] = t - 1
    state.clock[BLOCKS] = 0
    state.clock[NEWS] = 0


@predict.on(DFTBL)
def _predict(learner: DFTBL, state: BlockState, directions: Directions, t: int, play: Array) -> None:
    direction(directions, t, play)
    for i in range(play.size):
        play[i] = state.base.point[i] + learner.smoothing * play[i]


@enter.on(DFTBL)
def _enter(learner: DFTBL, state: BlockState, slot: int, t: int) -> None:
    leave(state, slot)  # its round was dropped, or weighed nothing
    row = current_row(state)
    state.held[slot] = row
    state.out[row] += 1


@forget.on(DFTBL)
def _forget(learner: DFTBL, state: BlockState, slot: int) -> None:
    leave(state, slot)


@absorb.on(DFTBL)
def _absorb(
    learner: DFTBL, state: BlockState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
) -> None:
    row = state.held[slot]
    if row < 0:
        return  # of an epoch that is over
    direction(directions, s, state.scratch)
    scale = weight * (state.scratch.size / learner.smoothing) * feedback[0]
    for i in range(state.scratch.size):
        state.pools[row, i] += scale * state.scratch[i]
    leave(state, slot)


@advance.on(DFTBL)
def _advance(learner: DFTBL, state: BlockState, t: int, pending: int) -> None:
    if (t - state.clock[BEFORE]) % learner.block != 0:
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
    follow(learner.base.domain, learner.base.norm, learner.base.rate, state.base, state.clock[BLOCKS], -1)
