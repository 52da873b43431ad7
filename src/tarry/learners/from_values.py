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
from tarry.learners.base import (
    GRADIENT,
    VALUE,
    Directions,
    Learner,
    absorb,
    advance,
    allocate,
    enter,
    notice,
    predict,
    restart,
)
from tarry.learners.dwftbl import inner_room
from tarry.learners.reductions import Reducing
from tarry.learners.states import Array, show_point


@verb
def estimate(learner: OnShrunken, directions: Directions, s: int, feedback: Array, out: Array) -> None:
    """Write the estimate of the gradient of round s from the values that came back."""


class OnShrunken(Learner):
    """Base of learners with a ``base`` on the shrunken set and a fixed ``smoothing`` δ."""

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


def as_radius(domain: Any, smoothing: float) -> float:
    """Return a radius that fits in the domain around its centre; raise ValueError if it does not."""
    room = inner_room(as_domain(domain, "domain"))
    delta = as_positive(smoothing, "smoothing")
    if delta > room * (1 + 1e-12):
        raise ValueError(
            f"smoothing may not exceed the inner radius {room:g}, got {delta:g}: cap it with min(…, {room:g}), "
            "or take a larger domain"
        )
    return min(delta, room)


def on_shrunken(base: Any, smoothing: float) -> Any:
    """Return the same learner of gradients on K_δ, its start drawn in alike; raise TypeError if it cannot move."""
    if not isinstance(base, Learner) or base.feedback != GRADIENT:
        raise TypeError(f"base must be a learner of gradients such as OGD(domain, rate=…), got {base!r}")
    domain: Any = base.domain
    return _drawn_in(base, 1.0 - as_radius(domain, smoothing) / float(domain.inner_radius))


def _drawn_in(base: Learner, factor: float) -> Any:
    if isinstance(base, Reducing):
        return _changed(base, base=_drawn_in(base.base, factor))
    smaller = Shrink(base.domain, factor)
    if base.is_movable:
        return _changed(base, domain=smaller, start=smaller.center + factor * (base.start - smaller.center))
    made = base.moved_to(smaller)
    if made is None:
        raise TypeError(
            f"{type(base).__name__} cannot be moved to a smaller domain: use OGD, DOGD, DWFTRL with the Euclidean "
            "norm, FTL, DOGDSC, or SOLID, BOLD or Interleaving of these; one of your own needs a method "
            "moved_to(domain) that makes it again on that domain"
        )
    if not isinstance(made, Learner) or made.feedback != GRADIENT or made.domain != smaller:
        raise TypeError(
            f"moved_to(domain) of {type(base).__name__} must return a learner of gradients on that domain, "
            f"{smaller!r}, got {made!r}"
        )
    return made


def _changed(learner: Learner, **changes: Any) -> Any:
    """Return the same learner with some fields changed, which have been checked."""
    fields = zip(learner._fields, learner, strict=True)
    return type(learner).make(*(changes.get(name, value) for name, value in fields))


class Surrounded(NamedTuple):
    """The base's state, its iterate as it was shown last, and room for an estimate."""

    base: Any
    center: Array
    estimate: Array


@allocate.on(OnShrunken)
def _allocate(learner: OnShrunken, slots: int) -> Surrounded:
    return Surrounded(allocate(learner.base, slots), np.zeros(learner.dimension), np.zeros(learner.dimension))


@restart.on(OnShrunken)
def _restart(learner: OnShrunken, state: Surrounded, t: int, magnitude: float) -> None:
    restart(learner.base, state.base, t, magnitude)


@predict.on(OnShrunken)
def _predict(learner: OnShrunken, state: Surrounded, directions: Directions, t: int, play: Array) -> None:
    predict(learner.base, state.base, directions, t, state.center)
    show_point(state.center, play)


@notice.on(OnShrunken)
def _notice(learner: OnShrunken, state: Surrounded, t: int, tracked: int) -> None:
    notice(learner.base, state.base, t, tracked)


@enter.on(OnShrunken)
def _enter(learner: OnShrunken, state: Surrounded, slot: int, t: int) -> None:
    enter(learner.base, state.base, slot, t)


@absorb.on(OnShrunken)
def _absorb(
    learner: OnShrunken, state: Surrounded, directions: Directions, slot: int, s: int, weight: float, feedback: Array
) -> None:
    estimate(learner, directions, s, feedback, state.estimate)
    absorb(learner.base, state.base, directions, slot, s, weight, state.estimate)


@advance.on(OnShrunken)
def _advance(learner: OnShrunken, state: Surrounded, t: int, pending: int) -> None:
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
        """Return (2 + R/r)G, the regret a round pays for each unit of smoothing."""
        return (2.0 + self.outer / self.inner) * self.gradient

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
