"""AdaptiveRevision: per-coordinate steps that are revised when late gradients show they were too long."""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

from tarry.checks import Positive
from tarry.domains import project
from tarry.kernel import KW_ONLY, field
from tarry.learners.base import GRADIENT, Directions, Learner, absorb, advance, enter, restart
from tarry.learners.states import (
    AnyDomain,
    AnyPoint,
    Array,
    Vector,
    VectorBySlot,
    keep_play,
    show_point,
    starting_point,
)


class RevisionState(NamedTuple):
    """``point`` = the play, ``free`` = x, ``applied`` = b, ``level`` = z, ``peak`` = z′, ``seen`` = b_s by slot."""

    point: Vector
    free: Vector
    applied: Vector
    level: Vector
    peak: Vector
    seen: VectorBySlot
    scratch: Vector


class AdaptiveRevision(Learner):
    """Delay-tolerant AdaGrad, coordinate by coordinate; ``scale`` is a, ``floor`` the first z = z′.

        m = b − b_s,   η₀ = a/√z′,   z ← z + g² + 2gm,   z′ ← max(z′, z),   η = a/√z′
        x ← x − ηg + (η₀ − η)m,   b ← b + g          in every coordinate, at the feedback g = w_s g_s of round s

    b is the sum of gradients applied so far, b_s as it was when round s was played; z sums what they have cost, and z′
    is the most that has been.

    Nothing late: AdaGrad. The method lives in the whole space, and projecting its iterate would break the revision;
    so x moves freely and its projection is played, for which no bound is proved. In the whole space, with feedback in
    order, regret of the order |u|√(Σ g² + 2 g·(gradients applied while g was out)) per coordinate, a of the order of
    |u|; the source's constants are not at hand. Weights multiply gradients, in z too. Keeps b_s for every tracked
    round.

    McMahan, Streeter, *Delay-Tolerant Algorithms for Asynchronous Distributed Online Learning*, NIPS 2014.

    >>> from tarry.domains import Ball
    >>> AdaptiveRevision(Ball(2), scale=1.0).floor
    1.0
    """

    domain: AnyDomain
    scale: Positive
    _: KW_ONLY
    floor: Positive = 1.0
    start: AnyPoint = field(default=None)

    feedback = GRADIENT
    state = RevisionState

    @classmethod
    def complete(cls, fields: dict[str, Any]) -> None:
        fields["start"] = starting_point(fields["domain"], fields["start"])


@restart.on(AdaptiveRevision)
def _restart(learner: AdaptiveRevision, state: RevisionState, t: int, magnitude: float) -> None:
    for i in range(state.point.size):
        state.point[i] = learner.start[i]
        state.free[i] = learner.start[i]
        state.applied[i] = 0.0
        state.level[i] = learner.floor
        state.peak[i] = learner.floor


@enter.on(AdaptiveRevision)
def _enter(learner: AdaptiveRevision, state: RevisionState, slot: int, t: int) -> None:
    keep_play(state.applied, state.seen, slot)


@absorb.on(AdaptiveRevision)
def _absorb(
    learner: AdaptiveRevision,
    state: RevisionState,
    directions: Directions,
    slot: int,
    s: int,
    weight: float,
    feedback: Array,
) -> None:
    for i in range(state.free.size):
        g = weight * feedback[i]
        missed = state.applied[i] - state.seen[slot, i]
        before = learner.scale / sqrt(state.peak[i])
        # z may fall where gradients cancel, z′ may not: steps never grow again.
        state.level[i] += g * g + 2.0 * g * missed
        state.peak[i] = max(state.peak[i], state.level[i])
        rate = learner.scale / sqrt(state.peak[i])
        state.free[i] += (before - rate) * missed - rate * g
        state.applied[i] += g


@advance.on(AdaptiveRevision)
def _advance(learner: AdaptiveRevision, state: RevisionState, t: int, pending: int) -> None:
    show_point(state.free, state.point)
    project(learner.domain, state.point, state.scratch)
