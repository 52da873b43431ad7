"""Scale-free leaders: regularisers as large as the gradients seen, or as what arrivals prove to have been lost."""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple, Self

from numpy.typing import ArrayLike

from tarry.checks import as_positive
from tarry.domains.base import as_domain, project
from tarry.kernel import KW_ONLY, field, step
from tarry.learners.base import GRADIENT, Directions, Learner, absorb, advance, enter, restart
from tarry.learners.states import (
    AnyDomain,
    AnyPoint,
    Array,
    Number,
    Vector,
    VectorBySlot,
    keep_play,
    reach_of,
    starting_point,
)


class SOLOState(NamedTuple):
    """``total`` = L, ``squares`` = Q."""

    point: Vector
    total: Vector
    squares: Number
    scratch: Vector


class SOLO(Learner):
    """Scale-free FTRL: it knows neither the gradients' size nor the horizon, and rescaled losses change no play.

        x = Π( x_1 − scale · L / √Q ),   L = Σ w_s g_s,  Q = Σ w_s² |g_s|²   over what has arrived

    Nothing late and unit weights: R(u) ≤ (|u − x_1|²/(2·scale) + 2.75·scale)√Q + 3.5·min{scale·√(T−1), D}·max|g|.
    ``scale`` defaults to D/√5.5, which balances the first two at |u − x_1| = D: 2.35·D√Q; :meth:`original` is the
    source's. With delays its theory is silent. Weights multiply gradients, in Q too.

    Orabona, Pál, *Scale-Free Online Learning*, Theoretical Computer Science 716, 2018 (whose other method is
    :class:`AdaFTRL`).

    >>> from tarry.domains import Ball
    >>> round(SOLO(Ball(2)).scale, 4)
    0.8528
    """

    domain: AnyDomain
    _: KW_ONLY
    scale: float = field(default=None)
    start: AnyPoint = field(default=None)

    feedback = GRADIENT
    state = SOLOState

    @classmethod
    def complete(cls, fields: dict[str, Any]) -> None:
        domain, scale = fields["domain"], fields["scale"]
        fields["scale"] = as_positive(domain.diameter / sqrt(5.5) if scale is None else scale, "scale")
        fields["start"] = starting_point(domain, fields["start"])

    @classmethod
    def original(cls, domain: Any, *, start: ArrayLike | None = None) -> Self:
        """Set scale = ρ/√5.5, ρ the most |x − x_1| can be: the source's f on bounded domains, regret at most 9.41·ρ√Q.

        It multiplies a λ-strongly convex f of at most F by √(2.75/(λF)), where 2√2.75 + 3.5√8 < 13.3 bounds the
        regret by 13.3·√(F/λ)·√Q, nothing late; here f = |x − x_1|²/2, λ = 1, F = ρ²/2.
        """
        reach = reach_of(as_domain(domain, "domain"), starting_point(domain, start))
        return cls(domain, scale=reach / sqrt(5.5), start=start)


@restart.on(SOLO)
def _restart_solo(learner: SOLO, state: SOLOState, t: int, magnitude: float) -> None:
    for i in range(state.point.size):
        state.point[i] = learner.start[i]
        state.total[i] = 0.0
    state.squares[0] = 0.0


@absorb.on(SOLO)
def _absorb_solo(
    learner: SOLO, state: SOLOState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
) -> None:
    for i in range(feedback.size):
        g = weight * feedback[i]
        state.total[i] += g
        state.squares[0] += g * g


@advance.on(SOLO)
def _advance_solo(learner: SOLO, state: SOLOState, t: int, pending: int) -> None:
    if state.squares[0] == 0.0:
        return  # nothing but zeros has come: 0/0 would follow
    rate = learner.scale / sqrt(state.squares[0])
    for i in range(state.point.size):
        state.point[i] = learner.start[i] - rate * state.total[i]
    project(learner.domain, state.point, state.scratch)


class AdaFTRLState(NamedTuple):
    """``total`` = L, ``growth`` = Δ, ``plays`` by slot, and room for a minimiser."""

    point: Vector
    total: Vector
    growth: Number
    other: Vector
    scratch: Vector
    plays: VectorBySlot


class AdaFTRL(Learner, init=False):
    """Scale-free FTRL on bounded domains: it knows neither the gradients' size nor the horizon.

        x = argmin_x ⟨L, x⟩ + Δ f(x) = Π( x_1 − L/(λΔ) ),   f(x) = (λ/2)|x − x_1|²,   L = Σ_arrived w_s g_s
        Φ(L) = min_x ⟨L, x⟩ + Δ f(x),   at an arrival g = w_s g_s:   Δ ← Δ + max(0, ⟨g, x_s⟩ − Φ(L) + Φ(L − g))

    L with g in it. While Δ = 0 nothing has arrived and x = x_1; the first arrival adds |g| times the most |x − x_1| can
    be.

    On every path, for all delays and weights, the weighted regret is at most (1 + f(u))·Δ, Δ as it is in the end.
    Nothing late: Δ ≤ √((D² + 1/λ) Q), Q = Σ w²|g|². With delays Δ grows by the drift ⟨g, x_s − argmin(L − g)⟩ as well,
    and for that sum nothing more is proved. ``curvature`` is λ; by default it makes (1 + λr²/2)√(D² + 1/λ) least, r the
    most |x − x_1| can be: 2.1·D√Q for r = D, 1.53·D√Q for r = D/2. Keeps the plays of tracked rounds.

    The original's first regulariser is zero and its first plays minimise ⟨L, x⟩; here the first increment is a bound
    on that gap instead of the gap, which its proof allows and which asks no linear minimiser of a domain. Orabona,
    Pál, *Scale-Free Online Learning*, Theoretical Computer Science 716, 2018; the form for delays is this project's.

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
        first = starting_point(domain, start)
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
        """c in regret ≤ c·√Σ w²|g|² without delay, for every u."""
        return (1.0 + 0.5 * self.curvature * self.reach**2) * sqrt(self.domain.diameter**2 + 1.0 / self.curvature)


@restart.on(AdaFTRL)
def _restart_ada(learner: AdaFTRL, state: AdaFTRLState, t: int, magnitude: float) -> None:
    for i in range(state.point.size):
        state.point[i] = learner.start[i]
        state.total[i] = 0.0
    state.growth[0] = 0.0


@enter.on(AdaFTRL)
def _enter_ada(learner: AdaFTRL, state: AdaFTRLState, slot: int, t: int) -> None:
    keep_play(state.point, state.plays, slot)


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


@absorb.on(AdaFTRL)
def _absorb_ada(
    learner: AdaFTRL, state: AdaFTRLState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
) -> None:
    total, growth = state.total, state.growth
    squares, own = 0.0, 0.0
    for i in range(total.size):
        squares += feedback[i] * feedback[i]
        own += weight * feedback[i] * state.plays[slot, i]
    # Φ(L − g) must be taken before g is added: there is one L only.
    before = least_value(learner, state, state.other) if growth[0] > 0.0 else 0.0
    for i in range(total.size):
        total[i] += weight * feedback[i]
    if growth[0] > 0.0:
        growth[0] += max(0.0, own - least_value(learner, state, state.other) + before)
    else:
        growth[0] = weight * sqrt(squares) * learner.reach


@advance.on(AdaFTRL)
def _advance_ada(learner: AdaFTRL, state: AdaFTRLState, t: int, pending: int) -> None:
    if state.growth[0] > 0.0:
        least_value(learner, state, state.point)
