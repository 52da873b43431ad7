"""Values in place of gradients: a learner of gradients is given estimates from values around its iterate.

    K_δ = o + (1 − δ/r)(K − o),   r the radius of the ball around the centre o of K;   y ∈ K_δ, |u| ≤ 1 ⇒ y + δu ∈ K

The base keeps its iterate y_t in K_δ. Directions are keyed and δ is fixed, so nothing is stored per pending round.
"""

from __future__ import annotations

from math import log, sqrt
from typing import Any, NamedTuple, Self

import numpy as np

from tarry.checks import as_int, as_positive
from tarry.domains import Shrink
from tarry.domains.base import as_domain
from tarry.kernel import register_methods, verb
from tarry.learners import base as verbs
from tarry.learners.base import GRADIENT, VALUE, Directions, Learner, direction
from tarry.learners.descent import DOGD, DOGDSC, OGD
from tarry.learners.dwftbl import inner_room
from tarry.learners.dwftrl import DWFTRL
from tarry.learners.reductions import SOLID, Reducing
from tarry.learners.states import Array, show_point


@verb
def estimate(learner: Estimating, directions: Directions, s: int, feedback: Array, out: Array) -> None:
    """Write the estimate of the gradient of round s from the values that came back."""


class OnShrunken(Learner):
    """Share the traits of learners with a ``base`` on the shrunken set and a fixed ``smoothing`` δ."""

    base: Any
    smoothing: float

    feedback = VALUE

    @classmethod
    def complete(cls, fields: dict[str, Any]) -> None:
        fields["base"] = on_shrunken(fields["base"], fields["smoothing"])
        fields["smoothing"] = float(fields["smoothing"])

    @property
    def domain(self) -> Any:
        return self.base.domain.domain

    @property
    def rate(self) -> Any:
        return self.base.rate

    @property
    def needs_acknowledgements(self) -> bool:
        return bool(self.base.needs_acknowledgements)


def on_shrunken(base: Any, smoothing: float) -> Any:
    """Return the same learner of gradients on K_δ, its start drawn in alike.

    Raise TypeError if the learner cannot move, ValueError if δ does not fit in the domain around its centre.
    """
    if not isinstance(base, Learner) or base.feedback != GRADIENT:
        raise TypeError(f"base must be a learner of gradients such as OGD(domain, rate=…), got {base!r}")
    room = inner_room(as_domain(base.domain, "domain"))
    delta = as_positive(smoothing, "smoothing")
    # A radius computed from the domain's own may be off by rounding; it is cut to fit below.
    if delta > room * (1 + 1e-12):
        raise ValueError(
            f"smoothing may not exceed the inner radius {room:g}, got {delta:g}: cap it with min(…, {room:g}), "
            "or take a larger domain"
        )
    return _drawn_in(base, 1.0 - min(delta, room) / room)


def _drawn_in(base: Learner, factor: float) -> Any:
    if isinstance(base, Reducing):
        return _changed(base, base=_drawn_in(base.base, factor))
    # The start moves as every point of the domain does, so that it stays inside.
    smaller = Shrink(base.domain, factor)
    if base.is_movable:
        return _changed(base, domain=smaller, start=smaller.center + factor * (base.start - smaller.center))
    moved = base.moved_to(smaller)
    if moved is None:
        raise TypeError(
            f"{type(base).__name__} cannot be moved to a smaller domain: use OGD, DOGD, DWFTRL with the Euclidean "
            "norm, FTL, DOGDSC, or SOLID, BOLD or Interleaving of these; one of your own needs a method "
            "moved_to(domain) that makes it again on that domain"
        )
    if not isinstance(moved, Learner) or moved.feedback != GRADIENT or moved.domain != smaller:
        raise TypeError(
            f"moved_to(domain) of {type(base).__name__} must return a learner of gradients on that domain, "
            f"{smaller!r}, got {moved!r}"
        )
    return moved


def _changed(learner: Learner, **changes: Any) -> Any:
    """Return the same learner with some fields changed, which have been checked."""
    fields = zip(learner._fields, learner, strict=True)
    return type(learner).make(*(changes.get(name, value) for name, value in fields))


class Surrounded(NamedTuple):
    """Hold the base's state, its iterate as it was shown last, and room for an estimate."""

    base: Any
    center: Array
    estimate: Array


class Estimating(OnShrunken):
    """Give the base estimates of gradients, made when the values come by the method ``estimate``."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        register_methods(cls, (estimate,))

    def allocate(self, slots: int) -> Surrounded:
        return Surrounded(verbs.allocate(self.base, slots), np.zeros(self.dimension), np.zeros(self.dimension))

    def restart(self, state: Surrounded, t: int, magnitude: float) -> None:
        verbs.restart(self.base, state.base, t, magnitude)

    def predict(self, state: Surrounded, directions: Directions, t: int, play: Array) -> None:
        verbs.predict(self.base, state.base, directions, t, state.center)
        show_point(state.center, play)

    def notice(self, state: Surrounded, t: int, tracked: int) -> None:
        verbs.notice(self.base, state.base, t, tracked)

    def enter(self, state: Surrounded, slot: int, t: int) -> None:
        verbs.enter(self.base, state.base, slot, t)

    def absorb(
        self, state: Surrounded, directions: Directions, slot: int, s: int, weight: float, feedback: Array
    ) -> None:
        estimate(self, directions, s, feedback, state.estimate)
        verbs.absorb(self.base, state.base, directions, slot, s, weight, state.estimate)

    def advance(self, state: Surrounded, t: int, pending: float) -> None:
        verbs.advance(self.base, state.base, t, pending)


class Scales(NamedTuple):
    """Hold the sizes that tunings are made of: k, r, R, and what is bounded."""

    dimension: int
    inner: float
    outer: float
    gradient: float
    value: float
    rounds: int

    @property
    def bias(self) -> float:
        """Return (2 + R/r)G, the regret a round pays for each unit of smoothing."""
        return (2.0 + self.outer / self.inner) * self.gradient

    @property
    def small_radius(self) -> float:
        """Return δ = r ln T/T (T = 2 where there is one round)."""
        return self.inner * log(max(self.rounds, 2)) / max(self.rounds, 2)

    def length(self, smoothing: float) -> float:
        """Return z = kM/(Gδ), how much longer than G a one-point estimate may be; 1 at least."""
        return max(1.0, self.dimension * self.value / (self.gradient * smoothing))


def scales_of(domain: Any, gradient_bound: float, horizon: int, value_bound: float = 1.0) -> Scales:
    """Return the sizes of a domain and a game, checked."""
    return Scales(
        dimension=int(as_domain(domain, "domain").dimension),
        inner=inner_room(domain),
        outer=float(domain.outer_radius),
        gradient=as_positive(gradient_bound, "gradient_bound"),
        value=as_positive(value_bound, "value_bound"),
        rounds=as_int(horizon, "horizon", 1),
    )


class OnePoint(Estimating):
    """A learner of gradients that sees one value a round; ``smoothing`` is δ, at most the domain's inner radius.

        x_t = y_t + δ u_t,   ĝ_s = (k/δ) f_s(x_s) u_s,   y the base's iterate on K_δ = o + (1 − δ/r)(K − o)

    u_t is uniform on the sphere; ĝ_s has as its mean the gradient at y_s of f_s averaged over a ball of radius δ.
    ``base`` is OGD, DOGD, DWFTRL (Euclidean), DOGDSC, FTL, or SOLID, BOLD or Interleaving of these, built on the game's
    domain and moved to K_δ. The variance grows with the square of the values: subtract a constant from losses whose
    range is known. Flaxman, Kalai, McMahan, *Online convex optimization in the bandit setting*, SODA 2005.

    >>> from tarry.domains import Ball
    >>> learner = OnePoint.flaxman(Ball(3), gradient_bound=1.0, value_bound=1.0, horizon=10_000)
    >>> round(learner.smoothing, 4), round(learner.rate.value, 6)
    (0.0707, 0.000236)
    """

    @classmethod
    def flaxman(cls, domain: Any, gradient_bound: float, value_bound: float, horizon: int) -> Self:
        """Set δ = T^(−1/4) √(RkMr/(3(Gr + M))), η = Rδ/(kM√T): FKM around OGD, no delay.

        Regret at most 2T^(3/4) √(3RkM(G + M/r)) in expectation where δ < r, quoted from memory of the source;
        :meth:`bistritz` with no delay promises less.
        """
        k, inner, outer, gradient, value, rounds = scales_of(domain, gradient_bound, horizon, value_bound)
        wide = sqrt(outer * k * value * inner / (3.0 * (gradient * inner + value))) * rounds**-0.25
        delta = min(inner, wide)
        return cls(OGD(domain, outer * delta / (k * value * sqrt(rounds))), delta)

    @classmethod
    def bistritz(cls, domain: Any, gradient_bound: float, value_bound: float, horizon: int, total_delay: int) -> Self:
        """Set η = R/(G√(z²T + 2z·total delay)), z = kM/(Gδ): FKM with delays, around DOGD.

        Regret at most GR√(z²T + 2z·total delay) + (2 + R/r)GδT in expectation (docs/bounds.md). Bistritz, Zhou, Chen,
        Bambos, Blanchet, *No Weighted-Regret Learning in Adversarial Bandits with Delays*, JMLR 2022 (the update; the
        constants are this project's).
        """
        late = as_int(total_delay, "total_delay")
        sizes = scales_of(domain, gradient_bound, horizon, value_bound)
        k, inner, outer, gradient, value, rounds = sizes
        still = sqrt(k * value * outer / (sizes.bias * sqrt(rounds)))
        waiting = (outer * sqrt(2.0 * k * value * gradient * late) / (2.0 * sizes.bias * rounds)) ** (2 / 3)
        # δ balances the smoothing against the larger of the two terms under the root.
        delta = min(inner, max(still, waiting))
        z = sizes.length(delta)
        return cls(DOGD(domain, outer / (gradient * sqrt(z * z * rounds + 2.0 * z * late))), delta)

    @classmethod
    def ryabchenko(cls, domain: Any, gradient_bound: float, value_bound: float, horizon: int, total_delay: int) -> Self:
        """Set η = R/(G√(2z²T + 3·total delay)), z = kM/(Gδ), for dual averaging behind the reduction SOLID.

        Regret at most GR√(2z²T + 3·total delay) + (2 + R/r)GδT in expectation (docs/bounds.md): sums of estimates
        drift less than their lengths add up to. Ryabchenko, Attias, Roy, *A Reduction from Delayed to Immediate
        Feedback for Online Convex Optimization with Improved Guarantees*, 2026 (arXiv 2602.02634; the constants are
        this project's).
        """
        late = as_int(total_delay, "total_delay")
        sizes = scales_of(domain, gradient_bound, horizon, value_bound)
        k, inner, outer, gradient, value, rounds = sizes
        delta = min(inner, sqrt(sqrt(2.0) * k * value * outer / (sizes.bias * sqrt(rounds))))
        z = sizes.length(delta)
        rate = outer / (gradient * sqrt(2.0 * z * z * rounds + 3.0 * late))
        return cls(SOLID(DWFTRL(domain, rate)), delta)

    def predict(self, state: Surrounded, directions: Directions, t: int, play: Array) -> None:
        verbs.predict(self.base, state.base, directions, t, state.center)
        direction(directions, t, play)
        for i in range(play.size):
            play[i] = state.center[i] + self.smoothing * play[i]

    def estimate(self, directions: Directions, s: int, feedback: Array, out: Array) -> None:
        direction(directions, s, out)
        scale = (out.size / self.smoothing) * feedback[0]
        for i in range(out.size):
            out[i] *= scale


class TwoPoint(Estimating):
    """A learner of gradients that sees two values a round; ``smoothing`` is δ, at most the domain's inner radius.

        ask at y_t ± δ u_t,   ĝ_s = (k/(2δ)) (f_s(y_s + δu_s) − f_s(y_s − δu_s)) u_s

    u_t is uniform on the sphere, y the base's iterate on K_δ, ``base`` as for :class:`OnePoint`. A round loses the mean
    of its two values, and its recorded play is y_t. |ĝ| ≤ kG, and E|ĝ|² ≤ vG² with v = k²/max(1, k − 1), so δ may be as
    small as rounding allows. Agarwal, Dekel, Xiao, *Optimal Algorithms for Online Convex Optimization with Multi-Point
    Bandit Feedback*, COLT 2010; Shamir, *An Optimal Algorithm for Bandit and Zero-Order Convex Optimization with
    Two-Point Feedback*, JMLR 2017.

    >>> from tarry.domains import Ball
    >>> TwoPoint.shamir(Ball(4), gradient_bound=1.0, horizon=100).rate
    Constant(value=0.1)
    """

    queries = 2

    @classmethod
    def agarwal(cls, domain: Any, gradient_bound: float, horizon: int) -> Self:
        """Set η = D/(kG√T), δ = r ln T/T: regret of order kGD√T, no delay."""
        sizes = scales_of(domain, gradient_bound, horizon)
        rate = domain.diameter / (sizes.dimension * sizes.gradient * sqrt(sizes.rounds))
        return cls(OGD(domain, rate), sizes.small_radius)

    @classmethod
    def strongly_convex(cls, domain: Any, strong_convexity: float, horizon: int) -> Self:
        """Set η_n = 1/(λn), δ = r ln T/T, Agarwal's for λ-strongly convex losses: regret of order k²(G²/λ) ln T."""
        sizes = scales_of(domain, 1.0, horizon)
        return cls(OGD.strongly_convex(domain, strong_convexity), sizes.small_radius)

    @classmethod
    def shamir(cls, domain: Any, gradient_bound: float, horizon: int) -> Self:
        """Set η = D/(G√(kT)), δ = r ln T/T: regret of order GD√(kT), no delay."""
        sizes = scales_of(domain, gradient_bound, horizon)
        rate = domain.diameter / (sizes.gradient * sqrt(sizes.dimension * sizes.rounds))
        return cls(OGD(domain, rate), sizes.small_radius)

    @classmethod
    def tuned(cls, domain: Any, gradient_bound: float, horizon: int, total_delay: int) -> Self:
        """Set η = R/(G√(vT + 2√v·total delay)) around DOGD, δ = min{r, R/((2 + R/r)T)}.

        Regret at most GR√(vT + 2√v·total delay) + GR in expectation, v as above (docs/bounds.md).
        """
        late = as_int(total_delay, "total_delay")
        sizes = scales_of(domain, gradient_bound, horizon)
        k, inner, outer, gradient, _, rounds = sizes
        square = k * k / max(1, k - 1)
        rate = outer / (gradient * sqrt(square * rounds + 2.0 * sqrt(square) * late))
        return cls(DOGD(domain, rate), min(inner, outer * gradient / (sizes.bias * rounds)))

    def query(self, directions: Directions, t: int, play: Array, points: Array) -> None:
        direction(directions, t, points[0])
        for i in range(play.size):
            move = self.smoothing * points[0, i]
            points[0, i] = play[i] + move
            points[1, i] = play[i] - move

    def estimate(self, directions: Directions, s: int, feedback: Array, out: Array) -> None:
        direction(directions, s, out)
        scale = (out.size / (2.0 * self.smoothing)) * (feedback[0] - feedback[1])
        for i in range(out.size):
            out[i] *= scale


class Differences(Estimating):
    """A learner of gradients that sees k + 1 values a round; ``smoothing`` is δ, at most the domain's inner radius.

        ask at y_t and y_t + δ e_i, i = 1, …, k,   ĝ_{s,i} = (f_s(y_s + δe_i) − f_s(y_s))/δ

    y is the base's iterate on K_δ, ``base`` as for :class:`OnePoint`. A round loses the mean of its values, and its
    recorded play is y_t. For losses whose gradients are L-Lipschitz ĝ is within √k Lδ/2 of the gradient, and the base's
    bound holds up to (√k LD/2 + (2 + R/r)G)δT; for losses with kinks use :class:`TwoPoint`. Agarwal, Dekel, Xiao (COLT
    2010); with delays Wan, Tu, Zhang, *Online Strongly Convex Optimization with Unknown Delays*, Machine Learning 111,
    2022.

    >>> from tarry.domains import Ball
    >>> Differences.tuned(Ball(4), gradient_bound=1.0, horizon=100, total_delay=0).queries
    5
    """

    @classmethod
    def tuned(cls, domain: Any, gradient_bound: float, horizon: int, total_delay: int) -> Self:
        """Set η = R/(G√(T + 2·total delay)) for DOGD, δ = r ln T/T: regret GR√(T + 2·total delay) and δ's part."""
        rounds = as_int(horizon, "horizon", 1) + 2 * as_int(total_delay, "total_delay")
        sizes = scales_of(domain, gradient_bound, horizon)
        base = DOGD(domain, sizes.outer / (sizes.gradient * sqrt(rounds)))
        return cls(base, sizes.small_radius)

    @classmethod
    def strongly_convex(cls, domain: Any, strong_convexity: float, horizon: int, *, share: float = 1.0) -> Self:
        """Set δ = r ln T/T around DOGD-SC: regret of order (G²/λ)·max delay·ln T."""
        sizes = scales_of(domain, 1.0, horizon)
        return cls(DOGDSC(domain, strong_convexity, share=share), sizes.small_radius)

    @property
    def queries(self) -> int:
        return self.dimension + 1

    def query(self, directions: Directions, t: int, play: Array, points: Array) -> None:
        for j in range(points.shape[0]):
            for i in range(play.size):
                points[j, i] = play[i]
        for i in range(play.size):
            points[i + 1, i] += self.smoothing

    def estimate(self, directions: Directions, s: int, feedback: Array, out: Array) -> None:
        for i in range(out.size):
            out[i] = (feedback[i + 1] - feedback[0]) / self.smoothing
