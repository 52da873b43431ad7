"""AdaGrad with delays, by coordinate: AdaptiveRevision, which revises late steps; on a box AdaGrad and FTRLProximal."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import NonNegative, Positive, as_int
from tarry.domains import Box, project
from tarry.domains.base import as_array, as_vector
from tarry.errors import ArgumentError
from tarry.kernel import KW_ONLY
from tarry.learners import states
from tarry.learners.base import GRADIENT, Directions, Learner, Starting
from tarry.learners.states import AnyDomain, AnyPoint, Array, Vector, VectorBySlot
from tarry.rates.base import Facts


class RevisionState(NamedTuple):
    """Hold the play ``point``, ``free`` = x, ``applied`` = b, ``level`` = z, ``peak`` = z′, ``seen`` = b_s by slot."""

    point: Vector
    free: Vector
    applied: Vector
    level: Vector
    peak: Vector
    seen: VectorBySlot
    scratch: Vector


class AdaptiveRevision(Starting):
    """Delay-tolerant AdaGrad, coordinate by coordinate; ``scale`` is a, ``floor`` the first z = z′.

        m = b − b_s,   η₀ = a/√z′,   z ← z + g² + 2gm,   z′ ← max(z′, z),   η = a/√z′
        x ← x − ηg + (η₀ − η)m,   b ← b + g          in every coordinate, at the feedback g = w_s g_s of round s

    b is the sum of gradients applied so far, b_s as it was when round s was played. The source speaks of the whole
    space and of feedback in order; here the projection of x is played, a heuristic that states no regret. McMahan,
    Streeter, *Delay-Tolerant Algorithms for Asynchronous Distributed Online Learning*, NIPS 2014.
    """

    domain: AnyDomain
    scale: Positive
    _: KW_ONLY
    floor: Positive = 1.0
    start: AnyPoint = None

    state = RevisionState

    def restart(self, state: RevisionState, t: int, magnitude: float) -> None:
        for i in range(state.point.size):
            state.point[i] = self.start[i]
            state.free[i] = self.start[i]
            state.applied[i] = 0.0
            state.level[i] = self.floor
            state.peak[i] = self.floor

    def enter(self, state: RevisionState, slot: int, t: int) -> None:
        states.keep_play(state.applied, state.seen, slot)

    def absorb(
        self, state: RevisionState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
    ) -> None:
        for i in range(state.free.size):
            g = weight * feedback[i]
            missed = state.applied[i] - state.seen[slot, i]
            before = self.scale / sqrt(state.peak[i])
            # z may fall where gradients cancel, z′ may not: steps never grow again.
            state.level[i] += g * g + 2.0 * g * missed
            state.peak[i] = max(state.peak[i], state.level[i])
            rate = self.scale / sqrt(state.peak[i])
            state.free[i] += (before - rate) * missed - rate * g
            state.applied[i] += g

    def advance(self, state: RevisionState, t: int, pending: float) -> None:
        # Projecting x itself would break the revision, which takes back steps as they were made.
        states.show_point(state.free, state.point)
        project(self.domain, state.point, state.scratch)


def _as_box(domain: Any, name: str) -> Box:
    """Return a box; raise TypeError for other domains."""
    if not isinstance(domain, Box):
        raise TypeError(f"coordinates need intervals of their own: the {name} must be a Box, got {domain!r}")
    return domain


def _each(given: Any, name: str, domain: Box, *, is_zero_good: bool = False) -> np.ndarray:
    """Return one positive number for each coordinate, from a number or a vector; else raise ValueError."""
    values = as_array(given, name)
    sizes = as_vector(np.full(domain.dimension, values) if values.ndim == 0 else values, name, domain.dimension)
    if not np.all((sizes > 0) | (is_zero_good & (sizes == 0))):
        raise ArgumentError(name, f"must be {'0 or ' * is_zero_good}positive in every coordinate", sizes)
    return sizes


def _balanced(domain: Any) -> np.ndarray:
    """Return D_i/√2 for the sides D_i of a box: there D²/(2α) + α is least."""
    sides = np.asarray(_as_box(domain, "domain").upper - domain.lower)
    # A side of length 0 leaves its coordinate nothing to learn: any α will do.
    return np.asarray(np.where(sides > 0, sides, 1.0) / sqrt(2.0))


class AdaGradState(NamedTuple):
    """Hold ``level`` = Λ, ``heard`` = Σ |v_r| of what has come, ``seen`` = that sum when a round played, by slot."""

    point: Vector
    level: Vector
    heard: Vector
    seen: VectorBySlot


class AdaGrad(Learner):
    """AdaGrad on a box, coordinate by coordinate, a step per feedback; ``scale`` is α, one number or one for each.

        Λ ← Λ + v² + 2c|v| Σ_{r heard while s was out} |v_r|,   x ← clip(x − αv/√Λ),   v = w_s g_s

    in every coordinate; Λ is the ``allowance`` at first. With ``overlap`` c = 0 late gradients are taken as they come.
    Nothing late, :meth:`tuned` has regret at most √2·Σ_i D_i√n_i, D_i the sides and n_i = Σ v_i². With c = 1 steps
    shrink with what overlaps: for unit weights and every round tracked, :meth:`delayed` has regret at most
    √2·Σ_i D_i√Λ_i, proved in docs/bounds.md. Duchi, Hazan, Singer, *Adaptive Subgradient Methods for Online Learning
    and Stochastic Optimization*, JMLR 12, 2011. Delays: after Joulani, György, Szepesvári, *Delay-Tolerant Online
    Convex Optimization*, AAAI 2016 (the idea, from the abstract; allowance and constant are this project's).

    >>> from tarry.domains import Box
    >>> AdaGrad.delayed(Box([-1.0, 0.0], [1.0, 4.0]), gradient_bound=1.0, max_delay=2).allowance.tolist()
    [36.0, 36.0]
    """

    domain: Annotated[Box, _as_box]
    scale: Any
    _: KW_ONLY
    overlap: NonNegative = 0.0
    allowance: Any = 0.0
    max_delay: int = 0
    start: AnyPoint = None

    feedback = GRADIENT
    state = AdaGradState

    @classmethod
    def complete(cls, fields: dict[str, Any]) -> None:
        box = fields["domain"]
        fields["start"] = states.starting_point(box, fields["start"])
        fields["scale"] = _each(fields["scale"], "scale", box)
        fields["allowance"] = _each(fields["allowance"], "allowance", box, is_zero_good=True)
        fields["max_delay"] = as_int(fields["max_delay"], "max_delay")

    @classmethod
    def tuned(cls, domain: Box, *, start: ArrayLike | None = None) -> Self:
        """Set α_i = D_i/√2: regret at most √2·Σ D_i√n_i without delay, whatever the gradients' size."""
        return cls(domain, _balanced(domain), start=start)

    @classmethod
    def delayed(cls, domain: Box, gradient_bound: ArrayLike, max_delay: int, *, start: ArrayLike | None = None) -> Self:
        """Set α_i = D_i/√2, c = 1 and the allowance 2τ(4τ + 1)G_i² for delays of at most ``max_delay`` = τ.

        ``gradient_bound`` is G, one number or one for each coordinate.
        """
        scale, late = _balanced(domain), as_int(max_delay, "max_delay")
        steep = _each(gradient_bound, "gradient_bound", domain)
        # Up to 2τ feedbacks come while a round is out, so Λ may grow by so much before a step that it concerns.
        allowance = 2 * late * (4 * late + 1) * steep**2
        return cls(domain, scale, overlap=1.0, allowance=allowance, max_delay=late, start=start)

    def doubts(self, facts: Facts) -> Iterator[str]:
        late = facts.max_delay
        if self.overlap > 0 and late > self.max_delay:
            yield f"AdaGrad allows for delays of up to {self.max_delay}, here are some of {late}: give max_delay={late}"

    def restart(self, state: AdaGradState, t: int, magnitude: float) -> None:
        states.show_point(self.start, state.point)
        states.show_point(self.allowance, state.level)
        states.clear(state.heard)

    def enter(self, state: AdaGradState, slot: int, t: int) -> None:
        states.keep_play(state.heard, state.seen, slot)

    def absorb(
        self, state: AdaGradState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
    ) -> None:
        low, high = self.domain.lower, self.domain.upper
        for i in range(state.point.size):
            v = weight * feedback[i]
            size, meanwhile = abs(v), state.heard[i] - state.seen[slot, i]
            state.level[i] += size * (size + 2.0 * self.overlap * meanwhile)
            state.heard[i] += size
            if state.level[i] > 0.0:  # else nothing but zeros has come
                moved = state.point[i] - self.scale[i] * v / sqrt(state.level[i])
                state.point[i] = min(high[i], max(low[i], moved))


class ProximalState(NamedTuple):
    """Hold ``total`` = L, ``anchor`` = Σ (1/η_s − 1/η_{s−1})(x_s − x_1), ``squares`` = n, ``root`` = √n as applied."""

    point: Vector
    total: Vector
    anchor: Vector
    squares: Vector
    root: Vector


class FTRLProximal(Learner):
    """Per-coordinate adaptive FTRL on a box; ``scale`` is α, one number or one for each coordinate, ``floor`` is β.

        n_t = Σ_{s∈O_{t+1}} (w_s g_s)²,   1/η_t = (β + √n_t)/α,   1/η_0 = β/α,   L = Σ_{s∈O_{t+1}} w_s g_s
        x_{t+1} = argmin_x L·x + Σ_{s≤t} (1/η_s − 1/η_{s−1})/2 · (x − x_s)² + (β/α + ridge)/2 · (x − x_1)²

    in every coordinate, over its interval. O_{t+1} is what has arrived before round t + 1. Nothing late, D_i the sides
    and n_i = Σ w²g_i²: regret at most Σ_i (D_i²/(2α_i) + α_i)√n_i + (β/α_i + ridge)/2 · (u_i − x_{1,i})²; with delays
    nothing is proved. McMahan et al., *Ad Click Prediction: a View from the Trenches*, KDD 2013 (without its lasso);
    McMahan, *A Survey of Algorithms and Analysis for Adaptive Online Learning*, JMLR 18, 2017.

    >>> from tarry.domains import Box
    >>> FTRLProximal.tuned(Box([-1.0, 0.0], [1.0, 4.0])).scale.round(3).tolist()
    [1.414, 2.828]
    """

    domain: Annotated[Box, _as_box]
    scale: Any
    _: KW_ONLY
    floor: NonNegative = 0.0
    ridge: NonNegative = 0.0
    start: AnyPoint = None

    feedback = GRADIENT
    state = ProximalState

    @classmethod
    def complete(cls, fields: dict[str, Any]) -> None:
        fields["start"] = states.starting_point(fields["domain"], fields["start"])
        fields["scale"] = _each(fields["scale"], "scale", fields["domain"])

    @classmethod
    def tuned(cls, domain: Box, *, start: ArrayLike | None = None) -> Self:
        """Set α_i = D_i/√2: regret at most √2·Σ D_i√n_i without delay, whatever the gradients' size."""
        return cls(domain, _balanced(domain), start=start)

    def restart(self, state: ProximalState, t: int, magnitude: float) -> None:
        states.show_point(self.start, state.point)
        states.clear(state.total)
        states.clear(state.anchor)
        states.clear(state.squares)
        states.clear(state.root)

    def absorb(
        self, state: ProximalState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
    ) -> None:
        for i in range(state.total.size):
            g = weight * feedback[i]
            state.total[i] += g
            state.squares[i] += g * g

    def advance(self, state: ProximalState, t: int, pending: float) -> None:
        low, high = self.domain.lower, self.domain.upper
        for i in range(state.point.size):
            root, scale = sqrt(state.squares[i]), self.scale[i]
            state.anchor[i] += (root - state.root[i]) / scale * (state.point[i] - self.start[i])
            state.root[i] = root
            # 0 where nothing has come and there is no floor: the coordinate stays.
            stiffness = (self.floor + root) / scale + self.ridge
            if stiffness > 0.0:
                free = self.start[i] + (state.anchor[i] - state.total[i]) / stiffness
                state.point[i] = min(high[i], max(low[i], free))
