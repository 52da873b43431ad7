"""What learners from values share that estimate gradients for a learner of gradients.

    K_δ = o + (1 − δ/r)(K − o),   r the radius of the ball around the centre o of K;   y ∈ K_δ, |u| ≤ 1 ⇒ y + δu ∈ K

The base keeps its iterate y_t in K_δ and projects there; values at points around y_t make the estimate it is given
in place of the gradient. Directions are keyed and δ is fixed, so an estimate is made when its values arrive: nothing
is stored per pending round.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tarry.checks import as_int, as_positive
from tarry.domains import Shrink, as_domain
from tarry.kernel import verb
from tarry.learners.base import GRADIENT, VALUE, absorb, advance, allocate, enter, notice, predict, restart
from tarry.learners.bold import BOLD
from tarry.learners.dogd import DOGD
from tarry.learners.dogdsc import DOGDSC
from tarry.learners.dwftbl import inner_room
from tarry.learners.dwftrl import DWFTRL
from tarry.learners.ftl import FTL
from tarry.learners.immediate import check_base
from tarry.learners.interleaving import Interleaving
from tarry.learners.norms import Euclidean
from tarry.learners.ogd import OGD
from tarry.learners.solid import SOLID

# Of these it is known that nothing but ``domain`` and ``start`` was made from the domain.
MOVABLE = (OGD, DOGD, DWFTRL, DOGDSC, FTL)


@verb
def estimate(learner: Any, directions: Any, s: int, feedback: Any, out: Any) -> None:
    """Write the estimate of the gradient of round s from the values that came back."""


class OnShrunken:
    """The Python face of a learner with a ``base`` on the shrunken set and a fixed ``smoothing`` δ (mixin)."""

    __slots__ = ()

    base: Any
    smoothing: float

    feedback = VALUE

    @property
    def domain(self) -> Any:
        return self.base.domain.domain

    @property
    def dimension(self) -> int:
        return int(self.base.dimension)

    @property
    def rate(self) -> Any:
        return getattr(self.base, "rate", None)

    @property
    def needs_acknowledgements(self) -> bool:
        return getattr(self.base, "needs_acknowledgements", False)

    def check_horizon(self, horizon: int | None) -> None:
        """Refuse games longer than the base's sequence (None: a session, which has no end)."""
        check_base(self.base, horizon)


def as_radius(domain: Any, smoothing: float) -> float:
    """A radius that fits in the domain around its centre, or a sentence saying why not."""
    room = inner_room(as_domain(domain, "domain"))
    delta = as_positive(smoothing, "smoothing")
    if delta > room * (1 + 1e-12):
        raise ValueError(
            f"smoothing may not exceed the inner radius {room:g}, got {delta:g}: cap it with min(…, {room:g}), "
            "or take a larger domain"
        )
    return min(delta, room)


def on_shrunken(base: Any, smoothing: float) -> Any:
    """The same learner of gradients on K_δ, its start drawn in alike; or a sentence saying why not."""
    if isinstance(base, type) or getattr(base, "feedback", None) != GRADIENT:
        raise TypeError(f"base must be a learner of gradients such as OGD(domain, rate=…), got {base!r}")
    domain: Any = base.domain
    return _drawn_in(base, 1.0 - as_radius(domain, smoothing) / float(domain.inner_radius))


def _drawn_in(base: Any, factor: float) -> Any:
    if isinstance(base, (SOLID, BOLD, Interleaving)):
        return _changed(base, base=_drawn_in(base.base, factor))
    smaller = Shrink(base.domain, factor)
    if isinstance(base, MOVABLE) and isinstance(getattr(base, "norm", Euclidean()), Euclidean):
        return _changed(base, domain=smaller, start=smaller.center + factor * (base.start - smaller.center))
    if hasattr(base, "moved_to"):
        return _moved(base, smaller)
    raise TypeError(
        f"{type(base).__name__} cannot be moved to a smaller domain: use OGD, DOGD, DWFTRL with the Euclidean norm, "
        "FTL, DOGDSC, or SOLID, BOLD or Interleaving of these; one of your own needs a method moved_to(domain) that "
        "makes it again on that domain"
    )


def _changed(learner: Any, **changes: Any) -> Any:
    fields = zip(learner._fields, learner, strict=True)
    return type(learner).make(*(changes.get(name, value) for name, value in fields))


def _moved(base: Any, smaller: Any) -> Any:
    """A learner of one's own on the smaller domain."""
    made = base.moved_to(smaller)
    if getattr(made, "feedback", None) != GRADIENT or made.domain != smaller:
        raise TypeError(
            f"moved_to(domain) of {type(base).__name__} must return a learner of gradients on that domain, "
            f"{smaller!r}, got {made!r}"
        )
    return made


class Surrounded(NamedTuple):
    """The base's state, its iterate as it was shown last, and room for an estimate."""

    base: Any
    center: np.ndarray
    estimate: np.ndarray


@allocate.on(OnShrunken)
def _allocate(learner: Any, slots: int) -> Surrounded:
    return Surrounded(allocate(learner.base, slots), np.zeros(learner.dimension), np.zeros(learner.dimension))


@restart.on(OnShrunken)
def _restart(learner: Any, state: Any, t: Any, magnitude: Any) -> None:
    restart(learner.base, state.base, t, magnitude)


@predict.on(OnShrunken)
def _predict(learner: Any, state: Any, directions: Any, t: Any, play: Any) -> None:
    predict(learner.base, state.base, directions, t, state.center)
    for i in range(play.size):
        play[i] = state.center[i]


@notice.on(OnShrunken)
def _notice(learner: Any, state: Any, t: Any, tracked: Any) -> None:
    notice(learner.base, state.base, t, tracked)


@enter.on(OnShrunken)
def _enter(learner: Any, state: Any, slot: Any, t: Any) -> None:
    enter(learner.base, state.base, slot, t)


@absorb.on(OnShrunken)
def _absorb(learner: Any, state: Any, directions: Any, slot: Any, s: Any, weight: Any, feedback: Any) -> None:
    estimate(learner, directions, s, feedback, state.estimate)
    absorb(learner.base, state.base, directions, slot, s, weight, state.estimate)


@advance.on(OnShrunken)
def _advance(learner: Any, state: Any, t: Any, pending: Any) -> None:
    advance(learner.base, state.base, t, pending)


class Scales(NamedTuple):
    """The sizes tunings are made of: k, r, R, and what is bounded."""

    dimension: int
    inner: float
    outer: float
    gradient: float
    value: float
    rounds: int

    @property
    def bias(self) -> float:
        """(2 + R/r)G: the regret a round pays for each unit of smoothing."""
        return (2.0 + self.outer / self.inner) * self.gradient

    def length(self, smoothing: float) -> float:
        """z = kM/(Gδ): how much longer than G a one-point estimate may be; 1 at least."""
        return max(1.0, self.dimension * self.value / (self.gradient * smoothing))


def scales_of(domain: Any, gradient_bound: float, horizon: int, value_bound: float = 1.0) -> Scales:
    """The sizes of a domain and a game, checked."""
    return Scales(
        dimension=int(as_domain(domain, "domain").dimension),
        inner=inner_room(domain),
        outer=float(domain.outer_radius),
        gradient=as_positive(gradient_bound, "gradient_bound"),
        value=as_positive(value_bound, "value_bound"),
        rounds=as_int(horizon, "horizon", 1),
    )
