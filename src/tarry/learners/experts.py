"""Experts without tuning: regret matching (DORM, DORM+), exponential weights (AdaHedgeD, DUB)."""

from __future__ import annotations

from math import exp, inf, log, sqrt
from typing import Annotated, Any, NamedTuple

import numpy as np

from tarry.kernel import step
from tarry.learners import optimistic
from tarry.learners.base import Directions
from tarry.learners.entropic_ftrl import largest_entry, softmin
from tarry.learners.optimistic import HintedExperts, OptimisticState
from tarry.learners.states import Array, Number, NumberBySlot, Vector, VectorBySlot, clear, keep_play, show_point


class MatchingState(NamedTuple):
    """Hold the play, summed regrets, regrets of this round, the guess, the hint, Σ w_s, and by slot the plays."""

    point: Vector
    regrets: Vector
    fresh: Vector
    guess: Vector
    hint: Vector
    mass: Number
    plays: VectorBySlot


class Matching(HintedExperts, init=False):
    """Share state and regrets between DORM and DORM+."""

    state = MatchingState

    def restart(self, state: MatchingState, t: int, magnitude: float) -> None:
        for i in range(state.point.size):
            state.point[i] = 1.0 / state.point.size
        clear(state.regrets)
        clear(state.fresh)
        clear(state.guess)
        clear(state.hint)
        clear(state.mass)

    def enter(self, state: MatchingState, slot: int, t: int) -> None:
        keep_play(state.point, state.plays, slot)

    def absorb(
        self, state: MatchingState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
    ) -> None:
        inner = 0.0
        for i in range(feedback.size):
            inner += feedback[i] * state.plays[slot, i]
        share = optimistic.share_of(self.hint, state.mass, weight)
        for i in range(feedback.size):
            state.guess[i] = optimistic.likened(self.hint, share, weight, state.guess[i], inner - feedback[i])
            state.fresh[i] += weight * (inner - feedback[i])


@step
def match_positive(point: Array) -> None:
    """Keep positive entries, in proportion; even ones where there is none."""
    mass = 0.0
    for i in range(point.size):
        mass += max(0.0, point[i])
    for i in range(point.size):
        point[i] = max(0.0, point[i]) / mass if mass > 0.0 else 1.0 / point.size


class DORM(Matching, init=False):
    """Delayed regret matching over ``dimension`` experts; nothing to tune.

        r_s = ⟨g_s, x_s⟩ 1 − g_s,   R = Σ_{s∈O_{t+1}} w_s r_s,   x_{t+1} ∝ max(0, R + h_{t+1})

    over O_{t+1}, what has arrived before round t + 1, with a ``hint`` h of the regrets still missing
    (:mod:`tarry.learners.optimistic`); x_{t+1} is uniform where no entry is positive. With m_t = w_t‖r_t‖₂ and no hint
    the weighted regret is on every path at most √Σ_t (m_t² + 2 m_t Σ_{s∈B_t} m_s), B_t the rounds out when t begins
    (docs/bounds.md). Flaspohler et al., Online Learning with Optimism and Delay (ICML 2021), with q = 2.

    >>> DORM(2, hint="previous").needs_acknowledgements
    False
    """

    def advance(self, state: MatchingState, t: int, pending: float) -> None:
        optimistic.guess_missing(self.hint, state.guess, pending, state.hint)
        for i in range(state.point.size):
            state.regrets[i] += state.fresh[i]
            state.fresh[i] = 0.0
            state.point[i] = state.regrets[i] + state.hint[i]
        match_positive(state.point)


class DORMPlus(Matching, init=False):
    """Delayed regret matching+ over ``dimension`` experts, with the ``hint`` and the bound of :class:`DORM`.

        P ← max(0, P + Σ_{s arrives in t} w_s r_s + h_{t+1} − h_t),   r_s = ⟨g_s, x_s⟩ 1 − g_s,   x_{t+1} ∝ P

    An expert that was poor for long is taken up as soon as it is good, and never quite dropped: where one expert stays
    best, the regret grows as √T and DORM's does not (docs/methods.md). Flaspohler et al. (ICML 2021), with q = 2.

    >>> DORMPlus(2, hint="recent").needs_acknowledgements
    True
    """

    def advance(self, state: MatchingState, t: int, pending: float) -> None:
        for i in range(state.point.size):
            state.regrets[i] += state.fresh[i] - state.hint[i]
            state.fresh[i] = 0.0
        optimistic.guess_missing(self.hint, state.guess, pending, state.hint)
        for i in range(state.point.size):
            # The arrivals of a round are summed before the cut: regrets of one round may cancel.
            state.regrets[i] = max(0.0, state.regrets[i] + state.hint[i])
            state.point[i] = state.regrets[i]
        match_positive(state.point)


class Hedging(HintedExperts, init=False):
    """Share start and play of exponential weights: their state has a ``leader`` and sums for their ``tuning``."""

    def restart(self, state: Any, t: int, magnitude: float) -> None:
        for i in range(state.leader.point.size):
            state.leader.point[i] = 1.0 / state.leader.point.size
        optimistic.clear_sums(state.leader)
        clear(state.tuning)

    def predict(self, state: Any, directions: Directions, t: int, play: Array) -> None:
        show_point(state.leader.point, play)


@step
def keep_expected(leader: OptimisticState, by_slot: Array, slot: int) -> None:
    """Keep θ + h, the sum of gradients that the play of this slot was made for."""
    for i in range(leader.total.size):
        by_slot[slot, i] = leader.total[i] + leader.hint[i]


NOW, PLAYED = range(2)  # of ``AdaHedgeDState.tuning``


class AdaHedgeDState(NamedTuple):
    """Hold the leader, ``tuning`` = (λ, the λ that made the play); by slot the play, its λ, and θ + h of then."""

    leader: OptimisticState
    missed: Vector
    tuning: Annotated[np.ndarray, (2,)]
    plays: VectorBySlot
    played_at: NumberBySlot
    seen: VectorBySlot


class AdaHedgeD(Hedging, init=False):
    """Exponential weights over ``dimension`` experts that tune themselves; nothing to know.

        x_{t+1} = softmin(θ + h_{t+1}, λ) ∝ exp(−(θ + h_{t+1})_i/λ),   θ = Σ_{s∈O_{t+1}} w_s g_s,   h a hint

    over O_{t+1}, what has arrived before round t + 1. When s arrives, let g = w_s g_s, θ include it, λ_s and h_s be
    those that made x_s, and o the sum of what has arrived since x_s was made, g included, less h_s. Then

        x̄ = softmin(θ, λ_s)                      a = ⟨g, x_s − x̄⟩
                                                  b = gap(o, x_s)
        x̂ = softmin(θ − min(1, ‖g‖/‖o‖) o, λ_s)  c = gap(min(1, ‖g‖/‖o‖) o, x̂) + ⟨g, x_s − x̂⟩
        λ ← λ + max(0, min(a, b, c))/ln K

    with sup norms and gap(v, x) = λ_s ln Σ_i x_i exp(−v_i/λ_s) + ⟨v, x⟩, at λ_s = 0 ⟨θ, x⟩ − min_i θ_i. λ starts at 0
    (follow the leader). o is the original's sum where delays are constant. ``hint`` as in :class:`DORM`. Flaspohler et
    al., Online Learning with Optimism and Delay (ICML 2021).
    """

    state = AdaHedgeDState

    def enter(self, state: AdaHedgeDState, slot: int, t: int) -> None:
        keep_play(state.leader.point, state.plays, slot)
        keep_expected(state.leader, state.seen, slot)
        state.played_at[slot] = state.tuning[PLAYED]

    def absorb(
        self, state: AdaHedgeDState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
    ) -> None:
        total, missed, other = state.leader.total, state.missed, state.leader.scratch
        played, temperature = state.plays[slot], state.played_at[slot]
        optimistic.hear(self.hint, state.leader, weight, feedback)
        for i in range(total.size):
            missed[i] = total[i] - state.seen[slot, i]
        softmin(total, temperature, other)
        drift = lost_to(feedback, weight, played, other)
        whole = mixability_gap(total, missed, 1.0, played, temperature)
        # Of the error only as much is charged as the gradient itself could have caused.
        size, error = weight * largest_entry(feedback), largest_entry(missed)
        share = size / error if error > size else 1.0
        for i in range(total.size):
            other[i] = total[i] - share * missed[i]
        softmin(other, temperature, other)
        part = mixability_gap(total, missed, share, other, temperature) + lost_to(feedback, weight, played, other)
        state.tuning[NOW] += max(0.0, min(drift, min(whole, part))) / log(total.size)

    def advance(self, state: AdaHedgeDState, t: int, pending: float) -> None:
        state.tuning[PLAYED] = state.tuning[NOW]
        optimistic.foresee(self.hint, state.leader, pending)
        softmin(state.leader.scratch, state.tuning[PLAYED], state.leader.point)


@step
def mixability_gap(total: Array, missed: Array, share: float, x: Array, temperature: float) -> float:
    """Return gap(share·missed, x)."""
    inner = 0.0
    low = inf  # measured from the smallest entry, no exponential overflows
    for i in range(x.size):
        inner += x[i] * (share * missed[i] if temperature > 0.0 else total[i])
        if temperature <= 0.0:
            low = min(low, total[i])
        elif x[i] > 0.0:
            low = min(low, share * missed[i])
    if temperature <= 0.0:
        return inner - low
    mass = 0.0
    for i in range(x.size):
        if x[i] > 0.0:
            mass += x[i] * exp((low - share * missed[i]) / temperature)
    return temperature * log(mass) + inner - low


@step
def lost_to(gradient: Array, weight: float, played: Array, other: Array) -> float:
    """Return ⟨w g, x_s − other⟩."""
    lost = 0.0
    for i in range(gradient.size):
        lost += weight * gradient[i] * (played[i] - other[i])
    return lost


ARRIVED, LARGEST, SQUARES = range(3)  # of ``DUBState.tuning``


class DUBState(NamedTuple):
    """Hold the leader; by slot θ + h and Σ a at the play.

    ``tuning`` = (Σ a, its largest part while a round was out, Σ (a² + 2b ln K)).
    """

    leader: OptimisticState
    tuning: Annotated[np.ndarray, (3,)]
    seen: VectorBySlot
    arrived: NumberBySlot


class DUB(Hedging, init=False):
    """Exponential weights over ``dimension`` experts, tuned by the delayed upper bound; nothing to know.

        x_{t+1} ∝ exp(−(θ + h_{t+1})_i/λ),   θ = Σ w_s g_s over what has arrived,   h a hint
        λ = (2 max_s Σ_{r arrived while s was out} a_r + √Σ_s (a_s² + 2 ln K · b_s)) / ln K
        a_s = 2 min(‖g‖, ‖o‖),   b_s = ‖o‖²/2 − max(0, ‖o‖ − ‖g‖)²/2

    with g, o and ``hint`` as in :class:`AdaHedgeD`; more careful, and cheaper. Flaspohler et al. (ICML 2021).

    >>> DUB(3, hint="previous").needs_acknowledgements
    False
    """

    state = DUBState

    def enter(self, state: DUBState, slot: int, t: int) -> None:
        keep_expected(state.leader, state.seen, slot)
        state.arrived[slot] = state.tuning[ARRIVED]

    def absorb(
        self, state: DUBState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
    ) -> None:
        leader, sums = state.leader, state.tuning
        optimistic.hear(self.hint, leader, weight, feedback)
        for i in range(leader.total.size):
            leader.scratch[i] = leader.total[i] - state.seen[slot, i]
        size, error = weight * largest_entry(feedback), largest_entry(leader.scratch)
        beyond = max(0.0, error - size)
        change = 2.0 * min(size, error)
        sums[LARGEST] = max(sums[LARGEST], sums[ARRIVED] - state.arrived[slot])
        sums[ARRIVED] += change
        sums[SQUARES] += change * change + log(leader.total.size) * (error * error - beyond * beyond)

    def advance(self, state: DUBState, t: int, pending: float) -> None:
        optimistic.foresee(self.hint, state.leader, pending)
        softmin(state.leader.scratch, temperature_of(state.tuning, state.leader.total.size), state.leader.point)


@step
def temperature_of(sums: Array, dimension: int) -> float:
    """Return λ."""
    return (2.0 * sums[LARGEST] + sqrt(sums[SQUARES])) / log(dimension)
