"""DW-FTBL: follow the bandit leader on delayed and weighted values."""

from __future__ import annotations

from bisect import bisect_left
from math import sqrt
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_int, as_positive
from tarry.domains.base import as_domain, as_vector
from tarry.learners.base import VALUE, Directions, direction
from tarry.learners.dwftrl import LeaderState, Leading
from tarry.learners.norms import Euclidean
from tarry.learners.states import Array, starting_point
from tarry.rates.base import Rate, as_rate, radius

LARGEST = 1e300  # a magnitude beyond all guesses: radii grow with it, so the widest is found here


class DWFTBL(Leading, init=False):
    """Delayed-weighted FTBL for values (bandit feedback).

        x_t = o + (1 − δ_t/r)(y_t − o) + δ_t u_t,   ĝ_t = (k/δ_t) f_t(x_t) u_t
        y_{t+1} = argmin_y ⟨y, Σ_{s∈O_{t+1}} w_s ĝ_s⟩ + Σ_{s≤t} (α_s/2) |y − y_s|²,   α_1 + … + α_t = 1/η_t

    u_t is uniform on the sphere, o the middle of a ball of radius r inside the domain, O_{t+1} what has arrived before
    round t + 1. ``rate`` is η_t, ``smoothing`` δ_t ≤ r; while δ_t = r plays explore only. ``origin`` and
    ``inner_radius`` default to the domain's own inner ball. The bound is (B) of docs/theory.md. Ryabchenko, Attias,
    Roy, *Capacity-Constrained Online Convex Optimization with Delayed Feedback*, 2026.

    >>> from tarry.domains import Ball
    >>> from tarry.rates import Power
    >>> DWFTBL(Ball(3), rate=0.01, smoothing=Power(4.0, 0.5, cap=1.0)).exploration_rounds(1000)
    16
    """

    domain: Any
    rate: Any
    smoothing: Any
    start: Array
    origin: Array
    inner_radius: float
    norm: Euclidean

    feedback = VALUE

    def __new__(
        cls,
        domain: Any,
        rate: Any,
        smoothing: Any,
        *,
        start: ArrayLike | None = None,
        origin: ArrayLike | None = None,
        inner_radius: float | None = None,
    ) -> Self:
        as_domain(domain, "domain")
        middle = as_vector(domain.center if origin is None else origin, "origin", domain.dimension)
        room = inner_room(domain, middle if origin is not None else None, inner_radius)
        rule = as_rate(smoothing, "smoothing")
        check_smoothing(rule, room)
        return cls.make(domain, as_rate(rate, "rate"), rule, starting_point(domain, start), middle, room, Euclidean())

    @classmethod
    def unlimited(cls, domain: Any, gradient_bound: float, value_bound: float, horizon: int, total_delay: int) -> Self:
        """Set δ = r min{1, √(νk) T^(−1/4)}, ν = M/(Gr), η = D/(G√(6(Tz² + total delay))), z = max{1, kM/(Gδ)}.

        With unit weights the regret is at most GD√(6(Tz² + total delay)) + 3GDTδ/r in expectation, D the diameter
        (docs/proofs.md, B): the order √(total delay) + √k T^(3/4) of Ryabchenko, Attias, Roy 2026 (arXiv 2602.02634).
        """
        rounds, late = as_int(horizon, "horizon", 1), as_int(total_delay, "total_delay")
        room, slope = inner_room(as_domain(domain, "domain")), as_positive(gradient_bound, "gradient_bound")
        length = domain.dimension * as_positive(value_bound, "value_bound") / slope
        delta = min(room, sqrt(length * room / sqrt(rounds)))
        energy = 6.0 * (rounds * max(1.0, length / delta) ** 2 + late)
        return cls(domain, domain.diameter / (slope * sqrt(energy)), delta)

    def exploration_rounds(self, horizon: int, *, magnitude: float = 1.0) -> int:
        """Return how many of the first rounds explore only, δ_t = r, in an epoch of this magnitude."""
        memory = np.array([0.0, magnitude])  # nothing summed yet

        def learns(t: int) -> bool:
            return bool(radius(self.smoothing, memory, t) < self.inner_radius)

        return bisect_left(range(1, int(horizon) + 1), True, key=learns)  # smoothing never increases: a prefix explores

    def predict(self, state: LeaderState, directions: Directions, t: int, play: Array) -> None:
        delta = radius(self.smoothing, state.memory, t - state.before[0])
        keep = 1.0 - delta / self.inner_radius
        direction(directions, t, play)
        for i in range(play.size):
            center = self.origin[i] + keep * (state.point[i] - self.origin[i])
            play[i] = center + delta * play[i]

    def absorb(
        self, state: LeaderState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
    ) -> None:
        # Directions are keyed, so what a late value needs is computed again: nothing is stored per pending round.
        direction(directions, s, state.scratch)
        # Epochs begin with an empty set, so s is a round of this one and its radius can be computed again.
        delta = radius(self.smoothing, state.memory, s - state.before[0])
        scale = weight * (state.point.size / delta) * feedback[0]
        for i in range(state.point.size):
            state.total[i] += scale * state.scratch[i]
        state.changed[0] = 1

    def smoothing_in_force(self, state: LeaderState, t: int) -> float:
        return radius(self.smoothing, state.memory, t - state.before[0])


def inner_room(domain: Any, origin: Array | None = None, given: float | None = None) -> float:
    """Return the radius of a ball around the origin (default: the centre) in the domain; raise ValueError for none."""
    room = float(domain.inner_radius if origin is None else domain.depth(origin))
    if given is None:
        if room <= 0:
            raise ValueError(
                f"bandit feedback needs a ball inside the domain, but {type(domain).__name__} has inner "
                "radius 0 there: use a full-dimensional domain (parametrise the simplex in its affine hull), or Exp3"
            )
        return room
    asked = as_positive(given, "inner_radius")
    # A radius computed by the caller may be off by rounding.
    if asked > room * (1 + 1e-12):
        raise ValueError(f"inner_radius {asked} does not fit in the domain, at most {room} does")
    return asked


def check_smoothing(rule: Rate, room: float) -> None:
    """Raise ValueError for a radius that is ever larger than the room there is."""
    first = float(radius(rule, np.array([0.0, LARGEST]), 1))  # rules never increase in t, nor fall in the magnitude
    if first > room * (1 + 1e-12):
        raise ValueError(
            f"smoothing may not exceed the inner radius {room:g}, got {first:g} in round 1: "
            f"cap it with min(…, {room:g})"
        )
