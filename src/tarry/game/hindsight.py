"""The minimum of the summed losses F = Σ_t f_t over the domain, with a certificate.

Each evaluation is one compiled pass over the rounds. Projected gradient descent does most problems;
where features differ much in scale it is slow, and Newton's steps finish: the curvature by differences
of slopes, the quadratic model minimised over the domain without further passes. Losses with a kink are
solved through smooth lower bounds of decreasing smoothing, whose slopes certify the exact losses
(``tarry.losses.base.support``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tarry.domains import nearest
from tarry.game.descent import Sample, Search, Vector, descend
from tarry.kernel import entry
from tarry.losses.base import fetch, gradient, support, value

GOAL = 1e-9
KINKED_GOAL = 1e-6
LIMIT = 300
STAGES = 12
IDLE_STAGES = 4
NEWTON_STEPS = 20
NEWTON_DIMENSION = 64
MODEL_LIMIT = 2000


class Minimum(NamedTuple):
    """A point of the domain, F there, and by how much F could at most be smaller elsewhere."""

    point: Vector
    value: float
    gap: float


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

    def at(self, x: Vector) -> Sample:
        slope, sums = np.zeros(x.size), np.zeros(2)
        self._pass(self._losses, self._horizon, x, self._row, self._one, slope, sums)
        return Sample(x, float(sums[0]), float(sums[1]), slope)


class _Model:
    """The quadratic model of F around a sample."""

    def __init__(self, around: Sample, curvature: Vector) -> None:
        self._around, self._curvature = around, curvature
        self.strong_convexity = 0.0

    def at(self, x: Vector) -> Sample:
        d = x - self._around.x
        bent = self._curvature @ d
        fall = float(self._around.slope @ d + bent @ d / 2)
        return Sample(x, fall, fall, self._around.slope + bent)


class _Exact:
    """Offers what a stage finds to the search: at once, or through the losses it is smoothed from."""

    def __init__(self, search: Search, smoothed_from: _Objective | None) -> None:
        self._search, self._from, self._turn = search, smoothed_from, 0

    def sees(self, sample: Sample, fall: float) -> bool:
        """Whether the rest of the stage is worth little against what smoothing costs."""
        if self._from is None:
            self._search.offer(sample)
            return False
        self._turn += 1
        if self._turn % 10:
            return False
        exact = self._from.at(sample.x)
        self._search.offer(exact)
        return fall <= 0.1 * (exact.value - sample.height)

    def closes(self, sample: Sample) -> None:
        """Offer a stage's last point."""
        self._search.offer(sample if self._from is None else self._from.at(sample.x))


def minimise(domain: Any, losses: Any, horizon: int) -> Minimum:
    """The best fixed action over rounds 1..horizon.

    The gap is at most 1e-9·max(1, |F|) where that is reached within the limits (1e-6 for losses with
    a kink), else what was reached; it is always certified.
    """
    search, objective = Search(domain, nearest(domain, domain.center)), _Objective(losses, horizon)
    if not hasattr(losses, "smoothed"):
        _solve(search, objective, None, GOAL)
        return Minimum(search.point, search.value, search.gap)
    first = objective.at(search.point)
    search.offer(first)
    smoothing, idle = max(abs(first.value) / horizon, 1e-12), 0
    for _ in range(STAGES):
        before = search.gap
        _solve(search, _Objective(losses.smoothed(smoothing), horizon), objective, KINKED_GOAL)
        idle = idle + 1 if search.gap > 0.7 * before else 0
        if search.reached(KINKED_GOAL) or idle == IDLE_STAGES:
            break
        smoothing /= 8.0
    return Minimum(search.point, search.value, search.gap)


def _solve(search: Search, objective: _Objective, smoothed_from: _Objective | None, goal: float) -> None:
    """Descend from the search's point; if that is not enough, go on by Newton's steps."""
    exact, ended = _Exact(search, smoothed_from), False

    def enough(sample: Sample, fall: float) -> bool:
        nonlocal ended
        ended = exact.sees(sample, fall)
        return ended

    last = descend(search, objective, goal, LIMIT, enough)
    exact.closes(last)
    if not ended and not search.reached(goal) and last.x.size <= NEWTON_DIMENSION:
        exact.closes(_polish(search, objective, exact, last, goal))


def _polish(search: Search, objective: _Objective, exact: _Exact, here: Sample, goal: float) -> Sample:
    """Newton's steps over the domain, each shortened until the losses fall along it."""
    for _ in range(NEWTON_STEPS):
        curvature = _curvature(search.domain, objective, here)
        if not np.all(np.isfinite(curvature)):
            return here
        there = _along(objective, here, _newton_point(search, here, curvature, goal))
        if there is None:
            return here
        step = 1.0 / max(float(np.linalg.norm(curvature, 2)), 1e-300)
        moved = nearest(search.domain, there.x - step * there.slope)
        fall = search.raise_low(there, step, moved, objective.strong_convexity)
        here = there
        if exact.sees(here, fall) or search.reached(goal):
            return here
    return here


def _curvature(domain: Any, objective: _Objective, here: Sample) -> Vector:
    """The Hessian by differences of slopes, one pass per entry, towards the domain's centre."""
    k, width = here.x.size, 1e-7 * min(float(domain.outer_radius), 1e5)
    columns = np.zeros((k, k))
    for i in range(k):
        x = here.x.copy()
        x[i] += width if x[i] <= domain.center[i] else -width
        columns[i] = (objective.at(x).slope - here.slope) / (x[i] - here.x[i])
    return np.asarray((columns + columns.T) / 2)


def _newton_point(search: Search, here: Sample, curvature: Vector, goal: float) -> Vector:
    """The model's minimiser over the domain: in one solve where it lies inside."""
    domain, size = search.domain, float(np.trace(curvature)) / here.x.size
    steady = curvature + 1e-14 * size * np.eye(here.x.size)
    free = here.x - np.linalg.lstsq(steady, here.slope, rcond=None)[0]
    inside = nearest(domain, free)
    if np.linalg.norm(inside - free) <= 1e-12 * float(domain.outer_radius):
        return inside
    model = Search(domain, here.x)

    def keep(sample: Sample, fall: float) -> bool:
        model.offer(sample)
        return False

    descend(model, _Model(here, steady), 0.1 * goal * max(1.0, abs(search.value)), MODEL_LIMIT, keep)
    return model.point


def _along(objective: _Objective, here: Sample, target: Vector) -> Sample | None:
    """The first of halved steps to the target at which the losses still fall, or have fallen enough."""
    d, share = target - here.x, 1.0
    expected = float(here.slope @ d)
    for _ in range(40):
        there = objective.at(here.x + share * d)
        # Falling there means, for a convex function, having fallen all the way.
        if there.slope @ d <= 0.0 or there.value <= here.value + 1e-4 * share * expected:
            return there
        share /= 2.0
    return None
