"""Losses with a kink, over a domain of known shape: a primal-dual interior-point method.

With u_t(x) = a_t·x + b_t and slopes −down_t ≤ s_t ≤ up_t, F is the larger side of the saddle

    min_{x ∈ domain} max_s  Σ_t ( s_t u_t(x) − (μ/2) s_t² ) + (ρ/2)‖x‖²

where μ is the losses' own smoothing and ρ the sum of their ridges. The weight of a round multiplies u_t, its μ and its
ridge. Any slopes inside their limits give a plane below F, so that every turn certifies what it has reached, whatever
rounding did to the turn itself. A turn costs a weighted Gram matrix of the features; some twenty bring the gap to 1e-9
of F.

Mehrotra, *On the Implementation of a Primal-Dual Interior Point Method*, SIAM Journal on Optimization 2, 1992; Portnoy,
Koenker, *The Gaussian Hare and the Laplacian Tortoise*, Statistical Science 12, 1997.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tarry.domains import Ball, Box, Ellipsoid, Product, Shift, Simplex, nearest
from tarry.game.descent import Sample, Vector
from tarry.kernel import entry
from tarry.losses.base import is_table, weighted_gram
from tarry.losses.supervised import Kinked, bend

TURNS = 60  # three times what any game took
ALIKE = np.ones(0)  # weights of rounds that all count 1
SHORT = 0.995  # of the way to the boundary: slopes and slacks stay positive


class Limits(NamedTuple):
    """A domain by inequalities ⟨q, x − c⟩ ≤ h, sides of boxes, (x − c)ᵀQ(x − c) ≤ h, and equations ⟨e, x⟩ = f."""

    lower: Vector  # −inf where there is none, as +inf above
    upper: Vector
    curved: list[tuple[Vector, Vector, float]]  # Q, c, h
    equal: list[tuple[Vector, float]]  # e, f


def limits_of(domain: Any) -> Limits | None:
    """Return a domain as inequalities with room between them, None where its shape is not known or it is flat."""
    kind, k = type(domain), int(domain.dimension)
    free = np.full(k, np.inf)
    if kind is Box:
        return Limits(domain.lower, domain.upper, [], []) if np.all(domain.lower < domain.upper) else None
    if kind is Ball:
        return Limits(-free, free, [(np.eye(k), domain.center, domain.radius**2)], [])
    if kind is Ellipsoid:
        return Limits(-free, free, [(domain.matrix, domain.center, domain.radius**2)], [])
    if kind is Simplex:
        return Limits(np.zeros(k), free, [], [(np.ones(k), domain.scale)]) if k > 1 else None
    if kind is Shift and (inner := limits_of(domain.domain)) is not None:
        by = domain.offset
        curved = [(q, c + by, h) for q, c, h in inner.curved]
        return Limits(inner.lower + by, inner.upper + by, curved, [(e, f + float(e @ by)) for e, f in inner.equal])
    if kind is Product:
        parts = [limits_of(domain.first), limits_of(domain.second)]
        if parts[0] is not None and parts[1] is not None:
            return _side_by_side(parts[0], parts[1])
    return None


def _side_by_side(first: Limits, second: Limits) -> Limits:
    m, n = first.lower.size, second.lower.size
    lower, upper = np.append(first.lower, second.lower), np.append(first.upper, second.upper)
    curved = [(np.pad(q, (0, n)), np.pad(c, (0, n)), h) for q, c, h in first.curved]
    curved += [(np.pad(q, (m, 0)), np.pad(c, (m, 0)), h) for q, c, h in second.curved]
    equal = [(np.pad(e, (0, n)), f) for e, f in first.equal] + [(np.pad(e, (m, 0)), f) for e, f in second.equal]
    return Limits(lower, upper, curved, equal)


@entry
def write_bends(losses: Any, first: int, last: int, out: Vector) -> None:
    """Write u at the prediction 0, ∂u/∂z, up and down of each round, one a row."""
    for t in range(first, last + 1):
        row = losses.rows.values[t - 1]
        out[t - 1, 0], out[t - 1, 1], out[t - 1, 2], out[t - 1, 3] = bend(losses, 0.0, row[row.size - 1])


def planes(
    domain: Any, losses: Any, horizon: int, stopped: Callable[[], None], weights: Vector = ALIKE
) -> Iterator[Sample]:
    """Yield points of the domain with planes below F, better from turn to turn; nothing where shapes are not known.

    Values are F's at the points. ``stopped`` is called before each turn and may raise an error.
    """
    limits = limits_of(domain)
    weights = weights if weights.size else np.ones(horizon)
    if limits is None or not isinstance(losses, Kinked) or not is_table(losses.rows) or not weights.any():
        return
    bends, features = np.zeros((horizon, 4)), losses.rows.values[:horizon, :-1]
    write_bends.dispatcher_for(losses)(losses, 1, horizon, bends)
    has_weight = weights > 0.0
    if not has_weight.all():
        bends, features, weights = bends[has_weight], features[has_weight], weights[has_weight]
    with np.errstate(all="ignore"):  # where rounding ends a turn, what is not finite ends the search
        yield from _Path(domain, limits, losses, features, bends, weights).turns(stopped)


class _Path:
    """The point x, slopes s and slacks of the losses, multipliers of the domain's limits, and how all of them move.

    u = above − below + μs, above·(up − s) = below·(down + s) = multiplier·room = τ, and τ falls to 0.
    """

    def __init__(
        self, domain: Any, limits: Limits, losses: Any, features: Vector, bends: Vector, weights: Vector
    ) -> None:
        self._domain, self._limits = domain, limits
        self._offset, self._turn, self._up, self._down = np.ascontiguousarray(bends.T)
        self._offset, self._turn = weights * self._offset, weights * self._turn
        self._features, self._ridge = features, float(weights.sum() * losses.ridge)
        self._smoothing = weights * losses.smoothing
        self._sides = np.eye(limits.lower.size)
        self._equal = np.array([e for e, _ in limits.equal]).reshape(-1, limits.lower.size)
        self._totals = np.array([f for _, f in limits.equal])
        self._x = np.array(domain.center, dtype=np.float64)
        u = self._at(self._x)
        # Slopes start in the middle, slacks and prices at the scale of the losses.
        self._s, far = (self._up - self._down) / 2, max(float(np.mean(np.abs(u))), 1e-12)
        self._above, self._below = np.maximum(u, 0.0) + far, np.maximum(-u, 0.0) + far
        self._prices = far * float(np.mean(self._up + self._down)) / 2 / self._room(self._x)
        self._levers = np.zeros(self._totals.size)

    def _at(self, x: Vector) -> Vector:
        return np.asarray(self._turn * (self._features @ x) + self._offset)

    def _pull(self, s: Vector) -> Vector:
        return np.asarray((self._turn * s) @ self._features)

    def _room(self, x: Vector) -> Vector:
        """Return how far x is inside each limit: lower sides, upper sides, curved ones."""
        low, high = np.isfinite(self._limits.lower), np.isfinite(self._limits.upper)
        curved = [h - (x - c) @ q @ (x - c) for q, c, h in self._limits.curved]
        return np.concatenate(((x - self._limits.lower)[low], (self._limits.upper - x)[high], curved))

    def _inwards(self) -> Vector:
        """Return the slopes of ``_room``, a row for each limit."""
        low, high = np.isfinite(self._limits.lower), np.isfinite(self._limits.upper)
        curved = [-2.0 * q @ (self._x - c) for q, c, _ in self._limits.curved]
        return np.concatenate((self._sides[low], -self._sides[high], np.reshape(curved, (-1, self._x.size))))

    def turns(self, stopped: Callable[[], None]) -> Iterator[Sample]:
        """Yield the plane of each turn until one makes no way."""
        for _ in range(TURNS):
            stopped()
            yield self._plane()
            try:
                if not self._move():
                    return
            except ValueError:  # rounding has eaten the curvature, or nothing is finite any more
                return

    def _plane(self) -> Sample:
        point = nearest(self._domain, self._x)  # rounding may have left the domain by an ulp
        u, s, ridge = self._at(point), self._s, self._ridge * float(point @ point) / 2
        steepest = np.where(u > 0.0, self._up, -self._down)
        if self._smoothing.any():
            steepest = np.clip(u / self._smoothing, -self._down, self._up)
        value, height = (float(a @ u) - float(self._smoothing * a @ a) / 2 + ridge for a in (steepest, s))
        return Sample(point, value, height, self._pull(s) + self._ridge * point)

    def _move(self) -> bool:
        """Make a predicted and corrected step; return whether it made way. Raise ValueError, before, where none is."""
        left, right, room, inwards = self._up - self._s, self._down + self._s, self._room(self._x), self._inwards()
        slack = (self._above * left, self._below * right, self._prices * room)
        count = sum(part.size for part in slack)
        level = sum(float(part.sum()) for part in slack) / count
        weights = 1.0 / (self._above / left + self._below / right + self._smoothing)
        solve = self._solver(weights, self._prices / room, inwards)
        off = self._at(self._x) - self._above + self._below - self._smoothing * self._s
        tilt = self._pull(self._s) + self._ridge * self._x - self._prices @ inwards + self._levers @ self._equal

        def step(goals: tuple[Vector, ...]) -> tuple[Vector, ...]:
            above, below, prices = (goal - part for goal, part in zip(goals, slack, strict=True))
            lag = off - above / left + below / right
            dx, levers = solve((prices / room) @ inwards - tilt - self._pull(weights * lag))
            ds = weights * (self._turn * (self._features @ dx) + lag)
            dp, dq = (above + self._above * ds) / left, (below - self._below * ds) / right
            return dx, ds, dp, dq, (prices - self._prices * (inwards @ dx)) / room, levers

        aimed = step(tuple(np.zeros(part.size) for part in slack))
        dx, ds, dp, dq, dprices, _ = aimed
        share = self._share(aimed)
        ahead = (self._above + share * dp) @ (left - share * ds) + (self._below + share * dq) @ (right + share * ds)
        ahead += (self._prices + share * dprices) @ (room + share * inwards @ dx)
        aim = level * (float(ahead) / count / level) ** 3
        # Curved limits bend away from the prediction: what their room loses is made up for.
        lost = room + inwards @ dx - self._room(self._x + dx)
        state = step((aim + dp * ds, aim - dq * ds, aim - dprices * (inwards @ dx) + self._prices * lost))
        share = min(1.0, SHORT * self._share(state))
        if not share > 1e-6 or not all(np.all(np.isfinite(part)) for part in state):
            return False
        before = (self._x, self._s, self._above, self._below, self._prices, self._levers)
        for part, change in zip(before, state, strict=True):
            part += share * change
        return True

    def _solver(self, weights: Vector, stiffness: Vector, inwards: Vector) -> Callable[[Vector], tuple[Vector, Vector]]:
        """Return what solves for the moves of x and of the levers; raise ValueError where rounding forbids."""
        from scipy.linalg import cho_factor, cho_solve  # a third of a second, for kinked losses alone

        bent = (inwards.T * stiffness) @ inwards
        bent[np.diag_indices_from(bent)] += self._ridge
        curved = self._limits.curved  # their prices stand last
        for (q, _, _), price in zip(curved, self._prices[self._prices.size - len(curved) :], strict=True):
            bent += 2.0 * price * q
        bent += weighted_gram(self._features, np.sqrt(weights) * self._turn)
        factor = cho_factor(bent)
        across = cho_solve(factor, self._equal.T)

        def solve(pull: Vector) -> tuple[Vector, Vector]:
            free = cho_solve(factor, pull)
            if not self._totals.size:
                return free, np.zeros(0)
            levers = np.linalg.solve(self._equal @ across, self._equal @ (self._x + free) - self._totals)
            return free - across @ levers, levers

        return solve

    def _share(self, step: tuple[Vector, ...]) -> float:
        """Return how much of a step keeps slopes within their limits, slacks positive and x inside, at most 1."""
        dx, ds, dp, dq, dprices, _ = step
        pairs = [(self._up - self._s, -ds), (self._down + self._s, ds), (self._above, dp), (self._below, dq)]
        pairs.append((self._prices, dprices))
        share = 1.0
        for have, change in pairs:
            share = min(share, 1.0 / max(1e-300, float(np.max(-change / have, initial=0.0))))
        while share > 1e-9 and not np.all(self._room(self._x + share * dx) > 0.0):
            share *= 0.9  # limits may be curved, and a tenth more or less is nothing
        return share
