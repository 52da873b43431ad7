"""The minimum of the summed losses over the domain, with a certificate.

Accelerated projected gradient descent (FISTA with backtracking and restarts) on F = Σ_t f_t, one
compiled pass over the rounds per evaluation. Convexity certifies what is reached: at any y with
g ∈ ∂F(y) and λ the strong convexity of F, every point z of the domain has

    F(z) ≥ F(y) + ⟨g, z − y⟩ + (λ/2)‖z − y‖²

and the right-hand side is minimised by the domain's linear minimiser, by the projection of y − g/λ,
or bounded through any projected step p = Π(y − ηg): ⟨g, p − z⟩ ≤ ‖y − p‖·D/η. Losses with a kink are
solved through smooth lower bounds of decreasing smoothing, whose slopes certify the exact losses
(``tarry.losses.base.support``).

Beck and Teboulle (2009); O'Donoghue and Candès (2015) for the restarts.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarry.domains import nearest
from tarry.kernel import entry
from tarry.losses.base import fetch, gradient, support, value

Vector = NDArray[np.float64]

GOAL = 1e-9
KINKED_GOAL = 1e-6
LIMIT = 3000
STAGE_LIMIT = 400
STAGES = 12
PATIENCE = 250


class Minimum(NamedTuple):
    """A point of the domain, F there, and by how much F could at most be smaller elsewhere."""

    point: Vector
    value: float
    gap: float


class _Sample(NamedTuple):
    """F at a point: its value, the height of the supporting plane, and the plane's slope."""

    x: Vector
    value: float
    height: float
    slope: Vector


@entry
def _sum_losses(losses: Any, horizon: Any, x: Any, row: Any, one: Any, slope: Any, sums: Any) -> None:
    for t in range(1, horizon + 1):
        fetch(losses.rows, t, row)
        height = value(losses, row, x)
        sums[0] += height
        sums[1] += support(losses, row, x, height)
        gradient(losses, row, x, one)
        for i in range(x.size):
            slope[i] += one[i]


class _Objective:
    """F and its supporting planes."""

    def __init__(self, losses: Any, horizon: int) -> None:
        self._losses, self._horizon = losses, horizon
        self._pass = _sum_losses.of(losses)
        self._row, self._one = np.zeros(losses.rows.width), np.zeros(losses.dimension)
        self.strong_convexity = horizon * float(losses.strong_convexity)

    def at(self, x: Vector) -> _Sample:
        slope, sums = np.zeros(x.size), np.zeros(2)
        self._pass(self._losses, self._horizon, x, self._row, self._one, slope, sums)
        return _Sample(x, float(sums[0]), float(sums[1]), slope)


class _Search:
    """What is known of the minimum: the best point so far and a value that no point falls below."""

    def __init__(self, domain: Any, point: Vector) -> None:
        self.domain = domain
        self.point, self.value, self.low = point, inf, -inf

    @property
    def gap(self) -> float:
        return max(0.0, self.value - self.low)

    def reached(self, goal: float) -> bool:
        return self.gap <= goal * max(1.0, abs(self.value))

    def offer(self, sample: _Sample) -> None:
        """Keep a point (with the exact value there) if it is the best."""
        if sample.value < self.value:
            self.point, self.value = sample.x, sample.value

    def raise_low(self, here: _Sample, step: float, moved: Vector, strong_convexity: float) -> float:
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


def minimise(domain: Any, losses: Any, horizon: int) -> Minimum:
    """The best fixed action over rounds 1..horizon.

    The gap is at most 1e-9·max(1, |F|) where that is reached within the limits (1e-6 for losses with
    a kink), else what was reached; it is always certified.
    """
    search = _Search(domain, nearest(domain, domain.center))
    if hasattr(losses, "smoothed"):
        _continue(search, losses, horizon)
    else:
        _descend(search, _Objective(losses, horizon), None, GOAL, LIMIT)
    return Minimum(search.point, search.value, search.gap)


def _continue(search: _Search, losses: Any, horizon: int) -> None:
    """Solve for decreasing smoothing, each stage from the best point of the one before."""
    exact = _Objective(losses, horizon)
    first = exact.at(search.point)
    search.offer(first)
    smoothing = max(abs(first.value) / horizon, 1e-12)
    for _ in range(STAGES):
        _descend(search, _Objective(losses.smoothed(smoothing), horizon), exact, KINKED_GOAL, STAGE_LIMIT)
        if search.reached(KINKED_GOAL):
            return
        smoothing /= 8.0


def _descend(
    search: _Search, objective: _Objective, exact: _Objective | None, goal: float, limit: int
) -> None:
    """FISTA from the search's point until its gap is small, or it no longer shrinks.

    With ``exact`` the objective is a smooth lower bound of it, and the stage also ends when what is
    left of its own gap is little against what smoothing costs.
    """
    domain = search.domain
    x = search.point
    here = objective.at(x)
    step, momentum = _first_step(domain, objective, here), 1.0
    patience = _Patience(PATIENCE)
    for turn in range(limit):
        there, step = _advance(domain, objective, here, step)
        if there is None:
            return
        fall = search.raise_low(here, step, there.x, objective.strong_convexity)
        if exact is None:
            search.offer(here)
            search.offer(there)
        elif turn % 10 == 9 or fall <= 1e-3 * goal * abs(search.value):
            sample = exact.at(there.x)
            search.offer(sample)
            if fall <= 0.1 * (sample.value - there.height):
                return
        if search.reached(goal) or patience.is_lost(search.gap):
            return
        if (here.x - there.x) @ (there.x - x) > 0:
            here, x, momentum = there, there.x, 1.0
            continue
        ahead = (1.0 + sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        y = nearest(domain, there.x + (momentum - 1.0) / ahead * (there.x - x))
        here, x, momentum = objective.at(y), there.x, ahead
        step *= 1.1


def _advance(domain: Any, objective: _Objective, here: _Sample, step: float) -> tuple[_Sample | None, float]:
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


def _first_step(domain: Any, objective: _Objective, here: _Sample) -> float:
    """The inverse of the curvature met on a short way downhill."""
    size = float(np.linalg.norm(here.slope))
    if size == 0.0:
        return 1.0
    stride = 0.1 * min(domain.outer_radius, 10.0) / size
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
