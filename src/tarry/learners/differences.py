"""k + 1 values a round: forward differences along the axes, for a learner of gradients."""

from __future__ import annotations

from math import sqrt
from typing import Any, Self

from tarry.checks import as_int
from tarry.learners.base import Directions, query
from tarry.learners.dogd import DOGD, DOGDSC
from tarry.learners.from_values import OnShrunken, estimate, scales_of
from tarry.learners.states import Array
from tarry.learners.two_point import small_radius


class Differences(OnShrunken):
    """A learner of gradients that sees k + 1 values a round; ``smoothing`` is δ, at most the domain's inner radius.

        ask at y_t and y_t + δ e_i, i = 1, …, k,   ĝ_{s,i} = (f_s(y_s + δe_i) − f_s(y_s))/δ

    y is the base's iterate on K_δ = o + (1 − δ/r)(K − o), the domain K drawn in towards its centre o, r its inner
    radius. Nothing is drawn. The game must grant k + 1 queries; a round loses the mean of its k + 1 values.

    For linear losses ĝ is the gradient, so this is the base itself on K_δ; for losses whose gradients are L-Lipschitz
    it is within √k Lδ/2 of it, and the base's bound (for gradients as long as ĝ) holds up to (√k LD/2 + (2 + R/r)G)δT.
    Losses with kinks have no such bound: use :class:`TwoPoint`. ``base`` as there; the recorded play is y_t. O(k²) a
    round, the values included.

    Agarwal, Dekel, Xiao, *Optimal Algorithms for Online Convex Optimization with Multi-Point Bandit Feedback*, COLT
    2010; with delays and :meth:`strongly_convex`, Wan, Tu, Zhang, *Online Strongly Convex Optimization with Unknown
    Delays*, Machine Learning 111, 2022 (arXiv 2103.11354).

    >>> from tarry.domains import Ball
    >>> Differences.tuned(Ball(4), gradient_bound=1.0, horizon=100, total_delay=0).queries
    5
    """

    @classmethod
    def tuned(cls, domain: Any, gradient_bound: float, horizon: int, total_delay: int) -> Self:
        """DOGD with η = R/(G√(T + 2·total delay)), δ = r ln T/T: regret at most GR√(T + 2·total delay) and δ's part."""
        rounds = as_int(horizon, "horizon", 1) + 2 * as_int(total_delay, "total_delay")
        sizes = scales_of(domain, gradient_bound, horizon)
        base = DOGD(domain, sizes.outer / (sizes.gradient * sqrt(rounds)))
        return cls(base, small_radius(sizes.inner, sizes.rounds))

    @classmethod
    def strongly_convex(cls, domain: Any, strong_convexity: float, horizon: int, *, share: float = 1.0) -> Self:
        """DOGD-SC from values: δ = r ln T/T, regret of order (G²/λ)·max delay·ln T."""
        sizes = scales_of(domain, 1.0, horizon)
        base = DOGDSC(domain, strong_convexity, share=share)
        return cls(base, small_radius(sizes.inner, sizes.rounds))

    @property
    def queries(self) -> int:
        return self.dimension + 1


@query.on(Differences)
def _query(learner: Differences, directions: Directions, t: int, play: Array, points: Array) -> None:
    for j in range(points.shape[0]):
        for i in range(play.size):
            points[j, i] = play[i]
    for i in range(play.size):
        points[i + 1, i] += learner.smoothing


@estimate.on(Differences)
def _estimate(learner: Differences, directions: Directions, s: int, feedback: Array, out: Array) -> None:
    for i in range(out.size):
        out[i] = (feedback[i + 1] - feedback[0]) / learner.smoothing
