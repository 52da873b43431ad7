"""SOLO FTRL: follow the regularised leader, with a regulariser as large as the gradients seen."""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple, Self

from numpy.typing import ArrayLike

from tarry.checks import as_positive
from tarry.domains import as_domain, project
from tarry.kernel import KW_ONLY, field
from tarry.learners.base import GRADIENT, Directions, Learner, absorb, advance, restart
from tarry.learners.states import AnyDomain, AnyPoint, Array, Number, Vector, reach_of, starting_point


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
        """scale = ρ/√5.5, ρ the most |x − x_1| can be: the source's f on bounded domains, regret at most 9.41·ρ√Q.

        It multiplies a λ-strongly convex f of at most F by √(2.75/(λF)), where 2√2.75 + 3.5√8 < 13.3 bounds the
        regret by 13.3·√(F/λ)·√Q, nothing late; here f = |x − x_1|²/2, λ = 1, F = ρ²/2.
        """
        reach = reach_of(as_domain(domain, "domain"), starting_point(domain, start))
        return cls(domain, scale=reach / sqrt(5.5), start=start)


@restart.on(SOLO)
def _restart(learner: SOLO, state: SOLOState, t: int, magnitude: float) -> None:
    for i in range(state.point.size):
        state.point[i] = learner.start[i]
        state.total[i] = 0.0
    state.squares[0] = 0.0


@absorb.on(SOLO)
def _absorb(
    learner: SOLO, state: SOLOState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
) -> None:
    for i in range(feedback.size):
        g = weight * feedback[i]
        state.total[i] += g
        state.squares[0] += g * g


@advance.on(SOLO)
def _advance(learner: SOLO, state: SOLOState, t: int, pending: int) -> None:
    if state.squares[0] == 0.0:
        return
    rate = learner.scale / sqrt(state.squares[0])
    for i in range(state.point.size):
        state.point[i] = learner.start[i] - rate * state.total[i]
    project(learner.domain, state.point, state.scratch)
