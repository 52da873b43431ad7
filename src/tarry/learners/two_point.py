"""Two values a round: the two-point estimate, for a learner of gradients."""

from __future__ import annotations

from math import log, sqrt
from typing import Any, Self

from tarry.checks import as_int
from tarry.learners.base import Directions, direction, query
from tarry.learners.dogd import DOGD
from tarry.learners.from_values import OnShrunken, estimate, scales_of
from tarry.learners.ogd import OGD
from tarry.learners.states import Array


class TwoPoint(OnShrunken):
    """A learner of gradients that sees two values a round; ``smoothing`` is δ, at most the domain's inner radius.

        ask at y_t ± δ u_t,   ĝ_s = (k/(2δ)) (f_s(y_s + δu_s) − f_s(y_s − δu_s)) u_s

    u_t is uniform on the sphere, y the base's iterate on K_δ = o + (1 − δ/r)(K − o), the domain K drawn in towards its
    centre o, r its inner radius. The game must grant two queries; a round loses the mean of its two values.

    The estimate has the same mean as with one point, but its length does not grow as δ falls: |ĝ| ≤ kG, and
    E|ĝ|² ≤ vG² with v = k²/max(1, k − 1), so δ may be as small as rounding allows. ``base`` is built on the game's
    domain and moved to K_δ; with OGD it takes a step per arrival, with DOGD, DOGDSC or DWFTRL a step a round. A
    weight multiplies its estimate. The recorded play is y_t, around which the game evaluates.

    Agarwal, Dekel, Xiao, *Optimal Algorithms for Online Convex Optimization with Multi-Point Bandit Feedback*, COLT
    2010; Shamir, *An Optimal Algorithm for Bandit and Zero-Order Convex Optimization with Two-Point Feedback*, JMLR
    2017 (arXiv 2015).

    >>> from tarry.domains import Ball
    >>> TwoPoint.agarwal(Ball(4), gradient_bound=1.0, horizon=100).rate
    Constant(value=0.05)
    >>> TwoPoint.shamir(Ball(4), gradient_bound=1.0, horizon=100).rate
    Constant(value=0.1)
    """

    queries = 2

    @classmethod
    def agarwal(cls, domain: Any, gradient_bound: float, horizon: int) -> Self:
        """η = D/(kG√T), δ = r ln T/T: regret of order kGD√T, no delay."""
        k, inner, _, gradient, _, rounds = scales_of(domain, gradient_bound, horizon)
        return cls(OGD(domain, domain.diameter / (k * gradient * sqrt(rounds))), small_radius(inner, rounds))

    @classmethod
    def strongly_convex(cls, domain: Any, strong_convexity: float, horizon: int) -> Self:
        """Agarwal's for λ-strongly convex losses: η_n = 1/(λn), δ = r ln T/T, regret of order k²(G²/λ) ln T."""
        sizes = scales_of(domain, 1.0, horizon)
        return cls(OGD.strongly_convex(domain, strong_convexity), small_radius(sizes.inner, sizes.rounds))

    @classmethod
    def shamir(cls, domain: Any, gradient_bound: float, horizon: int) -> Self:
        """η = D/(G√(kT)), δ = r ln T/T: regret of order GD√(kT), no delay."""
        k, inner, _, gradient, _, rounds = scales_of(domain, gradient_bound, horizon)
        return cls(OGD(domain, domain.diameter / (gradient * sqrt(k * rounds))), small_radius(inner, rounds))

    @classmethod
    def tuned(cls, domain: Any, gradient_bound: float, horizon: int, total_delay: int) -> Self:
        """η = R/(G√(vT + 2√v·total delay)) around DOGD, δ = min{r, R/((2 + R/r)T)}, the explicit one.

        Regret at most GR√(vT + 2√v·total delay) + GR in expectation, v as above (docs/methods.md).
        """
        late = as_int(total_delay, "total_delay")
        sizes = scales_of(domain, gradient_bound, horizon)
        k, inner, outer, gradient, _, rounds = sizes
        square = k * k / max(1, k - 1)
        rate = outer / (gradient * sqrt(square * rounds + 2.0 * sqrt(square) * late))
        return cls(DOGD(domain, rate), min(inner, outer * gradient / (sizes.bias * rounds)))


def small_radius(inner: float, rounds: int) -> float:
    """Return δ = r ln T/T (T = 2 where there is one round)."""
    return inner * log(max(rounds, 2)) / max(rounds, 2)


@query.on(TwoPoint)
def _query(learner: TwoPoint, directions: Directions, t: int, play: Array, points: Array) -> None:
    direction(directions, t, points[0])
    for i in range(play.size):
        move = learner.smoothing * points[0, i]
        points[0, i] = play[i] + move
        points[1, i] = play[i] - move


@estimate.on(TwoPoint)
def _estimate(learner: TwoPoint, directions: Directions, s: int, feedback: Array, out: Array) -> None:
    direction(directions, s, out)
    scale = (out.size / (2.0 * learner.smoothing)) * (feedback[0] - feedback[1])
    for i in range(out.size):
        out[i] *= scale
