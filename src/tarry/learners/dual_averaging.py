"""Dual averaging that tunes itself: to gradients (SOLO), to losses proved (AdaFTRL), to overlaps (AdaDelay)."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_int, as_positive
from tarry.domains.base import as_domain, project
from tarry.kernel import KW_ONLY, step
from tarry.learners import states
from tarry.learners.base import GRADIENT, Directions, Learner, Starting
from tarry.learners.states import AnyDomain, AnyPoint, Array, Number, NumberBySlot, Vector, VectorBySlot
from tarry.rates.base import SLACK, Facts


def reach_of(domain: Any, start: Array) -> float:
    """Return the most that |x − start| can be on the domain, or a bound on it."""
    away = float(np.linalg.norm(start - np.asarray(domain.center)))
    return float(min(domain.diameter, domain.outer_radius + away))


class SOLOState(NamedTuple):
    """Hold the play, ``total`` = L and ``squares`` = Q."""

    point: Vector
    total: Vector
    squares: Number
    scratch: Vector


class SOLO(Starting):
    """Scale-free FTRL: neither the gradients' size nor the horizon is known, and rescaled losses change no play.

        x = Π( x_1 − scale · L / √Q ),   L = Σ w_s g_s,  Q = Σ w_s² |g_s|²   over what has arrived

    Nothing late and unit weights: R(u) ≤ (|u − x_1|²/(2·scale) + 2.75·scale)√Q + 3.5·min{scale·√(T−1), D}·max|g|.
    ``scale`` defaults to D/√5.5, which balances the first two at |u − x_1| = D: 2.35·D√Q. With delays nothing is
    proved. Orabona, Pál, *Scale-Free Online Learning*, Theoretical Computer Science 716, 2018.

    >>> from tarry.domains import Ball
    >>> round(SOLO(Ball(2)).scale, 4)
    0.8528
    """

    domain: AnyDomain
    _: KW_ONLY
    scale: float = None  # type: ignore[assignment]  # ``complete`` finds one
    start: AnyPoint = None

    state = SOLOState

    @classmethod
    def complete(cls, fields: dict[str, Any]) -> None:
        super().complete(fields)
        scale, across = fields["scale"], fields["domain"].diameter
        fields["scale"] = as_positive(across / sqrt(5.5) if scale is None else scale, "scale")

    @classmethod
    def original(cls, domain: Any, *, start: ArrayLike | None = None) -> Self:
        """Set scale = ρ/√5.5, ρ the most |x − x_1| can be, the source's on bounded domains: regret at most 9.41·ρ√Q."""
        # The source multiplies a λ-strongly convex f ≤ F by √(2.75/(λF)), where 2√2.75 + 3.5√8 < 13.3 bounds the
        # regret by 13.3·√(F/λ)·√Q, nothing late; here f = |x − x_1|²/2, λ = 1, F = ρ²/2.
        reach = reach_of(as_domain(domain, "domain"), states.starting_point(domain, start))
        return cls(domain, scale=reach / sqrt(5.5), start=start)

    def restart(self, state: SOLOState, t: int, magnitude: float) -> None:
        states.show_point(self.start, state.point)
        states.clear(state.total)
        states.clear(state.squares)

    def absorb(
        self, state: SOLOState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
    ) -> None:
        for i in range(feedback.size):
            g = weight * feedback[i]
            state.total[i] += g
            state.squares[0] += g * g

    def advance(self, state: SOLOState, t: int, pending: float) -> None:
        if state.squares[0] == 0.0:
            return  # nothing but zeros has come: 0/0 would follow
        rate = self.scale / sqrt(state.squares[0])
        for i in range(state.point.size):
            state.point[i] = self.start[i] - rate * state.total[i]
        project(self.domain, state.point, state.scratch)


class AdaFTRLState(NamedTuple):
    """Hold the play, ``total`` = L, ``growth`` = Δ, ``plays`` by slot, and room for a minimiser."""

    point: Vector
    total: Vector
    growth: Number
    other: Vector
    scratch: Vector
    plays: VectorBySlot


class AdaFTRL(Learner, init=False):
    """Scale-free FTRL on bounded domains: neither the gradients' size nor the horizon is known.

        x = argmin_x ⟨L, x⟩ + Δ f(x) = Π( x_1 − L/(λΔ) ),   f(x) = (λ/2)|x − x_1|²,   L = Σ_arrived w_s g_s
        Φ(L) = min_x ⟨L, x⟩ + Δ f(x),   at an arrival g = w_s g_s:   Δ ← Δ + max(0, ⟨g, x_s⟩ − Φ(L) + Φ(L − g))

    L with g in it; the first arrival adds |g| times r, the most |x − x_1| can be. On every path, for all delays and
    weights, the weighted regret is at most (1 + f(u))·Δ, Δ as it is in the end. Nothing late: Δ ≤ √((D² + 1/λ) Q),
    Q = Σ w²|g|². ``curvature`` is λ; by default it makes (1 + λr²/2)√(D² + 1/λ) least: 2.1·D√Q for r = D, 1.53·D√Q for
    r = D/2. Orabona, Pál, *Scale-Free Online Learning*, Theoretical Computer Science 716, 2018; the form for delays is
    this project's.

    >>> from tarry.domains import Ball
    >>> round(AdaFTRL(Ball(2)).regret_factor, 4)
    3.0555
    """

    domain: Any
    curvature: float
    reach: float
    start: Array

    feedback = GRADIENT
    state = AdaFTRLState

    def __new__(cls, domain: Any, *, curvature: float | None = None, start: ArrayLike | None = None) -> Self:
        as_domain(domain, "domain")
        first = states.starting_point(domain, start)
        across, reach = as_positive(domain.diameter, "the domain's diameter"), reach_of(domain, first)
        # Where the derivative of (1 + λr²/2)√(D² + 1/λ) in λ is zero.
        best = (sqrt(0.25 + 4.0 * (across / reach) ** 2) - 0.5) / (2.0 * across**2)
        return cls.make(domain, as_positive(best if curvature is None else curvature, "curvature"), reach, first)

    @classmethod
    def original(cls, domain: Any, *, start: ArrayLike | None = None) -> Self:
        """Set λ = 1/(2D²), where the source's √3·max{D, 1/√(2λ)}·(1 + f(u))·√Q balances (quoted from memory)."""
        across = as_positive(as_domain(domain, "domain").diameter, "the domain's diameter")
        return cls(domain, curvature=0.5 / across**2, start=start)

    @property
    def regret_factor(self) -> float:
        """Return c in regret ≤ c·√Σ w²|g|² without delay, for every u."""
        return (1.0 + 0.5 * self.curvature * self.reach**2) * sqrt(self.domain.diameter**2 + 1.0 / self.curvature)

    def restart(self, state: AdaFTRLState, t: int, magnitude: float) -> None:
        states.show_point(self.start, state.point)
        states.clear(state.total)
        states.clear(state.growth)

    def enter(self, state: AdaFTRLState, slot: int, t: int) -> None:
        states.keep_play(state.point, state.plays, slot)

    def absorb(
        self, state: AdaFTRLState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
    ) -> None:
        total, growth = state.total, state.growth
        squares, inner = 0.0, 0.0
        for i in range(total.size):
            squares += feedback[i] * feedback[i]
            inner += weight * feedback[i] * state.plays[slot, i]
        # Φ(L − g) must be taken before g is added: there is one L only.
        before = least_value(self, state, state.other) if growth[0] > 0.0 else 0.0
        for i in range(total.size):
            total[i] += weight * feedback[i]
        if growth[0] > 0.0:
            growth[0] += max(0.0, inner - least_value(self, state, state.other) + before)
        else:
            # The source's first gap needs a linear minimiser; this bound on it, which its proof allows, needs none.
            growth[0] = weight * sqrt(squares) * self.reach

    def advance(self, state: AdaFTRLState, t: int, pending: float) -> None:
        if state.growth[0] > 0.0:
            least_value(self, state, state.point)


@step
def least_value(learner: AdaFTRL, state: AdaFTRLState, out: Array) -> float:
    """Return Φ(L) where Δ > 0, and write its minimiser."""
    stiffness = learner.curvature * state.growth[0]
    for i in range(out.size):
        out[i] = learner.start[i] - state.total[i] / stiffness
    project(learner.domain, out, state.scratch)
    value = 0.0
    for i in range(out.size):
        moved = out[i] - learner.start[i]
        value += state.total[i] * out[i] + 0.5 * stiffness * moved * moved
    return value


NORMS, PRODUCTS, SUMS = range(3)  # of ``AdaDelayState.sums``


class AdaDelayState(NamedTuple):
    """Hold ``total`` = Σ w_s g_s, ``sums`` = (Σ n_s, Λ less the allowance), ``seen`` = Σ n_s when a round played."""

    point: Vector
    total: Vector
    sums: Annotated[np.ndarray, (SUMS,)]
    seen: NumberBySlot
    scratch: Vector


class AdaDelay(Learner, init=False):
    """Delayed dual averaging that adapts to the gradients, for delays of at most ``max_delay`` = τ.

        x_{t+1} = Π( x_1 − η_t Σ_s w_s g_s ),   η_t = D/√(2Λ_t),
        Λ_t = Σ_s n_s² + 2 Σ_{r<s out together} n_r n_s + G²(τ + 1)(3τ + 1),   n_s = w_s|g_s|

    Sums are over what came by the end of round t. With unit weights and every round tracked the regret is at most
    √2·D√Λ_T, proved in docs/bounds.md. The form is the source's, the allowance and the constant are this project's;
    weights above 1 may exceed the allowance. Hsieh, Iutzeler, Malick, Mertikopoulos, *Multi-Agent Online Optimization
    with Delays: Asynchronicity, Adaptivity, and Optimism*, JMLR 23, 2022.

    >>> from tarry.domains import Ball
    >>> AdaDelay(Ball(2), gradient_bound=1.0, max_delay=3).allowance
    40.0
    """

    domain: Any
    scale: float
    allowance: float
    start: Array

    feedback = GRADIENT
    state = AdaDelayState

    def __new__(cls, domain: Any, gradient_bound: float, max_delay: int, *, start: ArrayLike | None = None) -> Self:
        as_domain(domain, "domain")
        tau = as_int(max_delay, "max_delay")
        allowance = allowance_for(as_positive(gradient_bound, "gradient_bound"), tau)
        return cls.make(domain, domain.diameter / sqrt(2.0), allowance, states.starting_point(domain, start))

    def doubts(self, facts: Facts) -> Iterator[str]:
        steep, late = facts.gradient_bound, facts.max_delay
        if steep is not None and allowance_for(steep, late) > self.allowance * (1 + 2 * SLACK):
            yield (
                f"AdaDelay allows G²(τ + 1)(3τ + 1) = {self.allowance:g} for what is out, but with gradients of up to "
                f"{steep:g} and delays of up to {late} that is {allowance_for(steep, late):g}: give "
                f"gradient_bound={steep:g}, max_delay={late}"
            )

    def restart(self, state: AdaDelayState, t: int, magnitude: float) -> None:
        states.show_point(self.start, state.point)
        states.clear(state.total)
        states.clear(state.sums)

    def enter(self, state: AdaDelayState, slot: int, t: int) -> None:
        state.seen[slot] = state.sums[NORMS]

    def absorb(
        self, state: AdaDelayState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
    ) -> None:
        squares = 0.0
        for i in range(feedback.size):
            squares += feedback[i] * feedback[i]
            state.total[i] += weight * feedback[i]
        size = weight * sqrt(squares)
        # Σ n of what arrived since round s played: these were out together with it, and each pair counts once.
        state.sums[PRODUCTS] += size * (size + 2.0 * (state.sums[NORMS] - state.seen[slot]))
        state.sums[NORMS] += size

    def advance(self, state: AdaDelayState, t: int, pending: float) -> None:
        rate = self.scale / sqrt(self.allowance + state.sums[PRODUCTS])
        for i in range(state.point.size):
            state.point[i] = self.start[i] - rate * state.total[i]
        project(self.domain, state.point, state.scratch)


def allowance_for(gradient_bound: float, max_delay: int) -> float:
    """Return G²(τ + 1)(3τ + 1)."""
    # Rounds not in by t − 1 lie in B_t ∪ {t}: at most τ + 1, in at most 1.5·τ(τ + 1) pairs of which one is not in.
    return gradient_bound**2 * (max_delay + 1) * (3 * max_delay + 1)
