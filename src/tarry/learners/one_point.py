"""One value a round: the one-point estimate, for a learner of gradients."""

from __future__ import annotations

from math import sqrt
from typing import Any, Self

from tarry.checks import as_int
from tarry.learners.base import Directions, direction, predict
from tarry.learners.dogd import DOGD
from tarry.learners.dwftrl import DWFTRL
from tarry.learners.from_values import OnShrunken, Surrounded, estimate, scales_of
from tarry.learners.ogd import OGD
from tarry.learners.solid import SOLID
from tarry.learners.states import Array


class OnePoint(OnShrunken):
    """A learner of gradients that sees one value a round; ``smoothing`` is δ, at most the domain's inner radius.

        x_t = y_t + δ u_t,   ĝ_s = (k/δ) f_s(x_s) u_s,   y the base's iterate on K_δ = o + (1 − δ/r)(K − o)

    u_t is uniform on the sphere, K_δ the domain K drawn in towards its centre o, r its inner radius; ĝ_s has as its
    mean the gradient at y_s of f_s averaged over a ball of radius δ.

    ``base`` is OGD, DOGD, DWFTRL (Euclidean), DOGDSC, FTL, or SOLID, BOLD or Interleaving of these, built on the game's
    domain and moved to K_δ: ``OnePoint(OGD(…))`` is FKM (:meth:`flaxman`), one step per value; ``OnePoint(DOGD(…))``
    is FKM with delays (:meth:`bistritz`), one step a round; ``OnePoint(SOLID(DWFTRL(…)))`` reduces late values to
    immediate ones (:meth:`ryabchenko`). A weight multiplies its estimate. The variance grows with the square of the
    values: subtract a constant from losses whose range is known.

    Flaxman, Kalai, McMahan, *Online convex optimization in the bandit setting*, SODA 2005.

    >>> from tarry.domains import Ball
    >>> learner = OnePoint.flaxman(Ball(3), gradient_bound=1.0, value_bound=1.0, horizon=10_000)
    >>> round(learner.smoothing, 4), round(learner.rate.value, 6)
    (0.0707, 0.000236)
    """

    @classmethod
    def flaxman(cls, domain: Any, gradient_bound: float, value_bound: float, horizon: int) -> Self:
        """FKM: δ = T^(−1/4) √(RkMr/(3(Gr + M))), η = Rδ/(kM√T), no delay.

        Regret at most 2T^(3/4) √(3RkM(G + M/r)) in expectation where δ < r, quoted from memory of the source;
        :meth:`bistritz` with no delay promises less.
        """
        k, inner, outer, gradient, value, rounds = scales_of(domain, gradient_bound, horizon, value_bound)
        wide = sqrt(outer * k * value * inner / (3.0 * (gradient * inner + value))) * rounds**-0.25
        delta = min(inner, wide)
        return cls(OGD(domain, outer * delta / (k * value * sqrt(rounds))), delta)

    @classmethod
    def bistritz(cls, domain: Any, gradient_bound: float, value_bound: float, horizon: int, total_delay: int) -> Self:
        """FKM with delays, fixed δ: η = R/(G√(z²T + 2z·total delay)), z = kM/(Gδ).

        Regret at most GR√(z²T + 2z·total delay) + (2 + R/r)GδT in expectation (docs/methods.md), of the source's
        order √k T^(3/4) + (k·mean delay)^(1/3) T^(2/3) at the δ chosen here: the larger of those that balance
        either term. Bistritz, Zhou, Chen, Bambos, Blanchet, *No Weighted-Regret Learning in Adversarial Bandits with
        Delays*, JMLR 2022 (the update; the constants are this project's).
        """
        late = as_int(total_delay, "total_delay")
        sizes = scales_of(domain, gradient_bound, horizon, value_bound)
        k, inner, outer, gradient, value, rounds = sizes
        still = sqrt(k * value * outer / (sizes.bias * sqrt(rounds)))
        waiting = (outer * sqrt(2.0 * k * value * gradient * late) / (2.0 * sizes.bias * rounds)) ** (2 / 3)
        delta = min(inner, max(still, waiting))
        z = sizes.length(delta)
        return cls(DOGD(domain, outer / (gradient * sqrt(z * z * rounds + 2.0 * z * late))), delta)

    @classmethod
    def ryabchenko(cls, domain: Any, gradient_bound: float, value_bound: float, horizon: int, total_delay: int) -> Self:
        """The reduction to immediate feedback, around dual averaging: η = R/(G√(2z²T + 3·total delay)), z = kM/(Gδ).

        Regret at most GR√(2z²T + 3·total delay) + (2 + R/r)GδT in expectation (docs/methods.md), of the source's order
        √(total delay) + √k T^(3/4): sums of estimates drift less than their lengths add up to, which a step per
        arrival with projections in between (:meth:`bistritz`) cannot use. Ryabchenko, Attias, Roy, *A Reduction from
        Delayed to Immediate Feedback for Online Convex Optimization with Improved Guarantees*, 2026 (arXiv 2602.02634;
        the idea; the constants are this project's).
        """
        late = as_int(total_delay, "total_delay")
        sizes = scales_of(domain, gradient_bound, horizon, value_bound)
        k, inner, outer, gradient, value, rounds = sizes
        delta = min(inner, sqrt(sqrt(2.0) * k * value * outer / (sizes.bias * sqrt(rounds))))
        z = sizes.length(delta)
        rate = outer / (gradient * sqrt(2.0 * z * z * rounds + 3.0 * late))
        return cls(SOLID(DWFTRL(domain, rate)), delta)


@predict.on(OnePoint)
def _predict(learner: OnePoint, state: Surrounded, directions: Directions, t: int, play: Array) -> None:
    predict(learner.base, state.base, directions, t, state.center)
    direction(directions, t, play)
    for i in range(play.size):
        play[i] = state.center[i] + learner.smoothing * play[i]


@estimate.on(OnePoint)
def _estimate(learner: OnePoint, directions: Directions, s: int, feedback: Array, out: Array) -> None:
    direction(directions, s, out)
    scale = (out.size / learner.smoothing) * feedback[0]
    for i in range(out.size):
        out[i] *= scale
