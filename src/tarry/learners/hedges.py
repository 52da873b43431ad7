"""Exponential weights whose temperature follows what delays have cost (AdaHedgeD), or may have cost (DUB)."""

from __future__ import annotations

from math import exp, inf, log, sqrt
from typing import Annotated, NamedTuple

import numpy as np

from tarry.kernel import step
from tarry.learners.actions import softmin
from tarry.learners.base import Directions, absorb, advance, enter, restart
from tarry.learners.hints import HintedExperts, clear_sums, foresee, liken
from tarry.learners.states import Array, Number, NumberBySlot, Vector, VectorBySlot, keep_play


class AdaHedgeDState(NamedTuple):
    """``temperature`` = (λ, the λ that made the play); by slot the play, its λ, and θ + h as they were then."""

    point: Vector
    total: Vector
    guess: Vector
    hint: Vector
    mass: Number
    scratch: Vector
    missed: Vector
    temperature: Annotated[np.ndarray, (2,)]
    plays: VectorBySlot
    played_at: NumberBySlot
    seen: VectorBySlot


class AdaHedgeD(HintedExperts, init=False):
    """Exponential weights over ``dimension`` experts that tune themselves; nothing to know.

        x_{t+1} = softmin(θ + h_{t+1}, λ) ∝ exp(−(θ + h_{t+1})_i/λ),   θ = Σ_{s∈O_{t+1}} w_s g_s,   h a hint

    over O_{t+1}, what has arrived before round t + 1. When s arrives, let g = w_s g_s, θ include it, λ_s and h_s be
    those that made x_s, and o the sum of what has arrived since x_s was made, g included, less h_s. Then

        x̄ = softmin(θ, λ_s)                      a = ⟨g, x_s − x̄⟩
                                                  b = gap(o, x_s)
        x̂ = softmin(θ − min(1, ‖g‖/‖o‖) o, λ_s)  c = gap(min(1, ‖g‖/‖o‖) o, x̂) + ⟨g, x_s − x̂⟩
        λ ← λ + max(0, min(a, b, c))/ln K

    with sup norms and gap(v, x) = λ_s ln Σ_i x_i exp(−v_i/λ_s) + ⟨v, x⟩, at λ_s = 0 ⟨θ, x⟩ − min_i θ_i.

    The temperature λ starts at 0 (follow the leader) and grows by what each arrival proves to have been lost. Play,
    temperature and θ are kept for each tracked round. Arrivals may come in any order: what a round missed is taken to
    be what arrived while it was out, which is the original's sum where delays are constant. ``hint`` guesses the
    missing gradients: "recent", "previous" or "mean" (:mod:`tarry.learners.hints`). Flaspohler et al., Online Learning
    with Optimism and Delay (ICML 2021).

    >>> AdaHedgeD(3).dimension
    3
    """

    state = AdaHedgeDState


NOW, PLAYED = range(2)


@restart.on(AdaHedgeD)
def _restart_ada(learner: AdaHedgeD, state: AdaHedgeDState, t: int, magnitude: float) -> None:
    for i in range(state.point.size):
        state.point[i] = 1.0 / state.point.size
    clear_sums(state)
    state.temperature[NOW] = 0.0
    state.temperature[PLAYED] = 0.0


@enter.on(AdaHedgeD)
def _enter_ada(learner: AdaHedgeD, state: AdaHedgeDState, slot: int, t: int) -> None:
    keep_play(state.point, state.plays, slot)
    for i in range(state.total.size):
        state.seen[slot, i] = state.total[i] + state.hint[i]
    state.played_at[slot] = state.temperature[PLAYED]


@step
def largest_entry(v: Array) -> float:
    """Return ‖v‖_∞."""
    size = 0.0
    for i in range(v.size):
        size = max(size, abs(v[i]))
    return size


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


@absorb.on(AdaHedgeD)
def _absorb_ada(
    learner: AdaHedgeD, state: AdaHedgeDState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
) -> None:
    total, missed, other = state.total, state.missed, state.scratch
    played, temperature = state.plays[slot], state.played_at[slot]
    for i in range(total.size):
        total[i] += weight * feedback[i]
        missed[i] = total[i] - state.seen[slot, i]
    liken(learner.hint, state.mass, weight, feedback, state.guess)
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
    state.temperature[NOW] += max(0.0, min(drift, min(whole, part))) / log(total.size)


@advance.on(AdaHedgeD)
def _advance_ada(learner: AdaHedgeD, state: AdaHedgeDState, t: int, pending: int) -> None:
    state.temperature[PLAYED] = state.temperature[NOW]
    foresee(learner.hint, state, pending)
    softmin(state.scratch, state.temperature[PLAYED], state.point)


ARRIVED, LARGEST, SQUARES = range(3)


class DUBState(NamedTuple):
    """``sums`` = (Σ a, its largest part while a round was out, Σ (a² + 2b ln K)); by slot θ + h and Σ a at the play."""

    point: Vector
    total: Vector
    guess: Vector
    hint: Vector
    mass: Number
    scratch: Vector
    sums: Annotated[np.ndarray, (3,)]
    seen: VectorBySlot
    arrived: NumberBySlot


class DUB(HintedExperts, init=False):
    """Exponential weights over ``dimension`` experts, tuned by the delayed upper bound; nothing to know.

        x_{t+1} ∝ exp(−(θ + h_{t+1})_i/λ),   θ = Σ w_s g_s over what has arrived,   h a hint
        λ = (2 max_s Σ_{r arrived while s was out} a_r + √Σ_s (a_s² + 2 ln K · b_s)) / ln K
        a_s = 2 min(‖g‖, ‖o‖),   b_s = ‖o‖²/2 − max(0, ‖o‖ − ‖g‖)²/2

    where, as s arrives, g = w_s g_s and o is the sum of what has arrived since x_s was made, g included, less the hint
    of then; sup norms.

    More careful than :class:`AdaHedgeD`, and cheaper: of each tracked round only θ and one number are kept. ``hint``
    guesses the missing gradients: "recent", "previous" or "mean" (:mod:`tarry.learners.hints`). Flaspohler et al.,
    Online Learning with Optimism and Delay (ICML 2021).

    >>> DUB(3, hint="previous").needs_acknowledgements
    False
    """

    state = DUBState


@restart.on(DUB)
def _restart_dub(learner: DUB, state: DUBState, t: int, magnitude: float) -> None:
    for i in range(state.point.size):
        state.point[i] = 1.0 / state.point.size
    clear_sums(state)
    for i in range(state.sums.size):
        state.sums[i] = 0.0


@enter.on(DUB)
def _enter_dub(learner: DUB, state: DUBState, slot: int, t: int) -> None:
    for i in range(state.total.size):
        state.seen[slot, i] = state.total[i] + state.hint[i]
    state.arrived[slot] = state.sums[ARRIVED]


@step
def temperature_of(sums: Array, dimension: int) -> float:
    """Return λ."""
    return (2.0 * sums[LARGEST] + sqrt(sums[SQUARES])) / log(dimension)


@absorb.on(DUB)
def _absorb_dub(
    learner: DUB, state: DUBState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
) -> None:
    sums = state.sums
    for i in range(state.total.size):
        state.total[i] += weight * feedback[i]
        state.scratch[i] = state.total[i] - state.seen[slot, i]
    liken(learner.hint, state.mass, weight, feedback, state.guess)
    size, error = weight * largest_entry(feedback), largest_entry(state.scratch)
    beyond = max(0.0, error - size)
    own = 2.0 * min(size, error)
    sums[LARGEST] = max(sums[LARGEST], sums[ARRIVED] - state.arrived[slot])
    sums[ARRIVED] += own
    sums[SQUARES] += own * own + log(state.total.size) * (error * error - beyond * beyond)


@advance.on(DUB)
def _advance_dub(learner: DUB, state: DUBState, t: int, pending: int) -> None:
    foresee(learner.hint, state, pending)
    softmin(state.scratch, temperature_of(state.sums, state.total.size), state.point)
