"""Accelerated projected gradient descent with a certificate.

FISTA with backtracking and restarts. Convexity certifies what is reached: at any y with g ∈ ∂F(y) and
λ the strong convexity of F, every point z of the domain has

    F(z) ≥ F(y) + ⟨g, z − y⟩ + (λ/2)‖z − y‖²

and the right-hand side is minimised by the domain's linear minimiser, by the projection of y − g/λ,
or bounded through any projected step p = Π(y − ηg): ⟨g, p − z⟩ ≤ ‖y − p‖·D/η.

Beck and Teboulle (2009); O'Donoghue and Candès (2015) for the restarts.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, sqrt
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tarry.domains import nearest

Vector = NDArray[np.float64]

PATIENCE = 250


class Sample(NamedTuple):
    """F at a point: its value, the height of the supporting plane, and the plane's slope."""

    x: Vector
    value: float
    height: float
    slope: Vector


class Objective(Protocol):
    """A convex function."""

    strong_convexity: float

    def at(self, x: Vector) -> Sample: ...


class Search:
    """What is known of the minimum: the best point so far and a value that no point falls below."""

    def __init__(self, domain: Any, point: Vector) -> None:
        self.domain = domain
        self.point, self.value, self.low = point, inf, -inf

    @property
    def gap(self) -> float:
        """By how much the best value may at most be improved."""
        return max(0.0, self.value - self.low)

    def reached(self, goal: float) -> bool:
        """Whether the gap is at most this share of the value (or of 1)."""
        return self.gap <= goal * max(1.0, abs(self.value))

    def offer(self, sample: Sample) -> None:
        """Keep a point (with the exact value there) if it is the best."""
        if sample.value < self.value:
            self.point, self.value = sample.x, sample.value

    def raise_low(self, here: Sample, step: float, moved: Vector, strong_convexity: float) -> float:
        """Lift the lower bound by the plane at ``here``; return how far the plane falls from there."""
        falls = [inf] if here.slope.any() else [0.0]
        # A step lost in rounding must not look like a step that the domain took back.
        away = float(np.linalg.norm(moved - here.x)) + 1e-15 * float(np.linalg.norm(here.x))
        if np.isfinite(self.domain.diameter) and away > 0.0:
            falls.append(float(here.slope @ (here.x - moved)) + away * self.domain.diameter / step)
        corner = self.domain.linear_minimiser(here.slope)
        if corner is not None:
            falls.append(float(here.slope @ (here.x - corner)))
        if strong_convexity > 0.0:
            bottom = nearest(self.domain, here.x - here.slope / strong_convexity)
            d = here.x - bottom
            falls.append(float(here.slope @ d) - strong_convexity / 2 * float(d @ d))
        fall = max(0.0, min(falls))
        self.low = max(self.low, here.height - fall)
        return fall


def descend(
    search: Search, objective: Objective, goal: float, limit: int, enough: Callable[[Sample, float], bool]
) -> Sample:
    """Descend from the search's point; the last sample, where the gap is small or no longer shrinks.

    ``enough(sample, fall)`` may end it earlier; it sees each step's end and how far the objective may
    still fall.
    """
    domain = search.domain
    here = last = objective.at(search.point)
    step, momentum = _first_step(domain, objective, here), 1.0
    patience = _Patience(PATIENCE)
    for _ in range(limit):
        there, step = _advance(domain, objective, here, step)
        if there is None:
            return last
        before, last = last.x, there
        fall = search.raise_low(here, step, there.x, objective.strong_convexity)
        if enough(there, fall) or search.reached(goal) or patience.is_lost(search.gap):
            return last
        if (here.x - there.x) @ (there.x - before) > 0:
            here, momentum = there, 1.0
            continue
        ahead = (1.0 + sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        here = objective.at(nearest(domain, there.x + (momentum - 1.0) / ahead * (there.x - before)))
        momentum = ahead
        step *= 1.1
    return last


def _advance(domain: Any, objective: Objective, here: Sample, step: float) -> tuple[Sample | None, float]:
    """A projected step short enough for its quadratic upper bound; None where none is."""
    for _ in range(60):
        there = objective.at(nearest(domain, here.x - step * here.slope))
        d = there.x - here.x
        room = float(d @ d) / (2.0 * step)
        # Near the minimum the difference of values is rounding; the difference of slopes is not.
        if there.value - here.value - here.slope @ d <= room or (there.slope - here.slope) @ d <= room:
            return there, step
        step /= 2.0
    return None, step


def _first_step(domain: Any, objective: Objective, here: Sample) -> float:
    """The inverse of the curvature met on a short way downhill."""
    size = float(np.linalg.norm(here.slope))
    if size == 0.0:
        return 1.0
    stride = 0.1 * min(float(domain.outer_radius), 10.0) / size
    probe = objective.at(nearest(domain, here.x - stride * here.slope))
    turned = float(np.linalg.norm(probe.slope - here.slope))
    away = float(np.linalg.norm(probe.x - here.x))
    return min(away / turned, 1e6 * stride) if turned > 0.0 and away > 0.0 else 10.0 * stride


class _Patience:
    """Lost when a number has not fallen by a tenth for some turns."""

    def __init__(self, turns: int) -> None:
        self._turns, self._since, self._mark = turns, 0, inf

    def is_lost(self, number: float) -> bool:
        self._since += 1
        if number < 0.9 * self._mark:
            self._mark, self._since = number, 0
        return self._since > self._turns
