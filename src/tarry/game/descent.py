"""Newton's descent over a domain that is known by its projection alone.

Each step minimises the quadratic model q(d) = ⟨g, d⟩ + ½dᵀHd over x + d ∈ domain. With the projection Π,
a multiplier ρ > 0 and the resolvent a(w) = (H + ρI)⁻¹(ρw − g), the minimiser is a(w) where the residual

    r(w) = Π(x + 2a − w) − x − a

of Douglas and Rachford's splitting is zero. Splitting alone (w ← w + r) takes as many steps as the features
differ in scale; Newton's steps on r = 0, with the projection differentiated numerically, take a handful:
on a polytope they find the active face, on a curved set they converge quadratically. H is softened to
H + τI at first, τ falling to 0, so that each solution starts near the next.

Douglas and Rachford (1956); Eckstein and Bertsekas (1992); Qi and Sun (1993) for Newton's steps on r.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tarry.domains import project
from tarry.kernel import entry

Vector = NDArray[np.float64]

STEPS = 100  # of Newton's descent: a limit for losses that are not convex, others take some ten
# Widths of differences, of the radius: a first guess that sees the whole domain, the least that rounding leaves
# digits to, and the usual one, about the cube root of rounding, which balances it against the third derivative.
WIDEST, NARROWEST, USUAL = 1e-3, 1e-9, 1e-5
SOFTENING = 1e-3  # H + τI: τ falls by this, so that each solution starts near the next and few are needed
TURNS = 40  # on one model: Newton's steps on r = 0 take a handful, splittings in between the rest
SPLITTINGS = 10  # when Newton's step fails: enough to leave the face on which it failed
TILT = 1e-3  # the least ρ, in slopes per radius: a smaller one would let w grow beyond where rounding is small
POINT = 1e-100  # the radius taken for a domain of one point, which has none


@entry
def project_rows(domain: Any, points: Vector, scratch: Vector) -> None:
    for i in range(points.shape[0]):
        project(domain, points[i], scratch)


class Projection:
    """A domain's projection of a point, or of each row of a matrix: one step takes thousands of them."""

    def __init__(self, domain: Any) -> None:
        self._domain, self._run = domain, project_rows.dispatcher_for(domain)
        self.radius = max(float(domain.outer_radius), POINT)

    def __call__(self, points: Vector) -> Vector:
        rows = np.array(points, ndmin=2, order="C")
        self._run(self._domain, rows, np.zeros(rows.shape[1]))  # its own scratch: threads may share a projection
        return rows.reshape(points.shape)


class Sample(NamedTuple):
    """F at a point: its value, the height of a plane below F there, and the plane's slope."""

    x: Vector
    value: float
    height: float  # below the value where losses are smoothed from kinked ones
    slope: Vector


class Objective(Protocol):
    """A convex function.

    The curvature of an earlier point serves for as long as each fall of the model is at most ``enough`` of the last.
    """

    enough: float

    def at(self, x: Vector) -> Sample: ...
    def curvature(self, here: Sample, before: Vector | None) -> Vector: ...


class Turn(NamedTuple):
    """Where the descent is, the model's step from there, and how far the model falls by it."""

    here: Sample
    step: Vector
    fall: float


def descend(domain: Any, objective: Objective, start: Vector) -> Iterator[Turn]:
    """Yield Newton's turns from a point of the domain, until rounding or the limit ends them."""
    project_to, here, turn, idle = Projection(domain), objective.at(start), None, 0
    curvature = objective.curvature(here, None)
    for _ in range(STEPS):
        best = _turn(project_to, here, curvature)
        if turn is not None and best.fall > objective.enough * turn.fall:
            curvature = objective.curvature(here, curvature)
            best = _turn(project_to, here, curvature)
        turn = best
        yield turn
        idle += turn.fall <= 1e-16 * max(1.0, abs(here.value))
        there = None if idle > 2 else _along(objective, here, project_to(here.x + turn.step))
        if there is None:
            return
        here = there


def _turn(project_to: Projection, here: Sample, curvature: Vector) -> Turn:
    # Where losses overflow there is no model: no step, and the search keeps what it has.
    if not np.all(np.isfinite(curvature)):
        return Turn(here, np.zeros(here.x.size), 0.0)
    step = model_step(project_to, here, curvature)
    return Turn(here, step, -float(here.slope @ step + step @ curvature @ step / 2))


def differences(domain: Any, at: Callable[[Vector], Sample], here: Sample, before: Vector | None) -> Vector:
    """Return the Hessian by second-order differences of slopes towards the domain's centre, two passes per entry.

    An earlier Hessian tells how far F is close to its quadratic model; without one, differences are wide.
    """
    k, radius = here.x.size, max(float(domain.outer_radius), POINT)
    widths = np.full(k, WIDEST * radius)
    if before is not None:
        scales = np.sqrt(max(1.0, abs(here.value)) / np.maximum(np.diag(before), 1e-300))
        widths = np.clip(USUAL * scales, NARROWEST * radius, WIDEST * radius)
    columns = np.zeros((k, k))
    for i in range(k):
        unit = np.zeros(k)
        widths[i] = max(widths[i], 1e-8 * abs(here.x[i]))  # wide against the rounding of x
        unit[i] = widths[i] if here.x[i] <= domain.center[i] else -widths[i]
        near, far = at(here.x + unit), at(here.x + 2 * unit)
        columns[i] = (4 * (near.slope - here.slope) - (far.slope - here.slope)) / (2 * unit[i])
    if not np.all(np.isfinite(columns)):
        return columns
    values, axes = np.linalg.eigh((columns + columns.T) / 2)
    # Rounding makes eigenvalues of a convex function negative, and the model would have no minimum.
    return np.asarray((axes * np.maximum(values, 0.0)) @ axes.T)


def _along(objective: Objective, here: Sample, target: Vector) -> Sample | None:
    """Return the first of halved steps to the target at which F still falls, or has fallen enough."""
    d, share = target - here.x, 1.0
    expected = float(here.slope @ d)
    for _ in range(40):
        there = objective.at(here.x + share * d)
        # Falling there means, for a convex function, having fallen all the way.
        if there.slope @ d <= 0.0 or there.value <= here.value + 1e-4 * share * expected:
            return there
        share /= 2.0
    return None


def model_step(project_to: Projection, here: Sample, curvature: Vector) -> Vector:
    """Return the d that minimises ⟨slope, d⟩ + ½dᵀHd over the domain."""
    # The resolvent's d: x + d may leave the domain by rounding, but H·d is more exact than x + d would leave it.
    values, axes = np.linalg.eigh(curvature)
    flat = max(1e-15 * values[-1], 1e-12 * float(np.linalg.norm(here.slope)) / project_to.radius, 1e-300)
    values = np.maximum(values, flat)
    d, soft = np.zeros(here.x.size), float(values[-1])
    while soft > 0.0:
        soft = SOFTENING * soft if soft > values[0] else 0.0
        slope = here.slope + axes @ (values * (axes.T @ d))
        d = d + _Splitting(project_to, here.x + d, slope, values + soft, axes).solve()
    return d


class _Splitting:
    """The residual r of one quadratic model, and its zero."""

    def __init__(self, project_to: Projection, x: Vector, slope: Vector, values: Vector, axes: Vector) -> None:
        self._project, self._x, self._slope = project_to, x, slope
        self._radius = project_to.radius
        # Where H is nearly 0, w must still stay where its rounding is small against the domain.
        tilt = TILT * float(np.linalg.norm(slope)) / self._radius
        self._rho = max(float(np.sqrt(values[0]) * np.sqrt(values[-1])), tilt)
        self._inverse = (axes / (values + self._rho)) @ axes.T

    def _resolvent(self, w: Vector) -> Vector:
        return np.asarray(self._inverse @ (self._rho * w - self._slope))

    def _residual(self, w: Vector) -> Vector:
        a = self._resolvent(w)
        return np.asarray(self._project(self._x + 2 * a - w) - self._x - a)

    def solve(self) -> Vector:
        """Return the minimiser, from d = 0."""
        w = self._slope / self._rho
        r = self._residual(w)
        rounding = 4e-16 * (self._radius + float(np.linalg.norm(w)) + float(np.linalg.norm(self._x)))
        for _ in range(TURNS):
            if np.linalg.norm(r) <= rounding:
                break
            solution = self._newton(w, r)
            if solution is None and np.linalg.norm(r) <= 100 * rounding:
                break
            if solution is not None:
                w, r = solution
                continue
            for _ in range(SPLITTINGS):
                w = w + r
                r = self._residual(w)
        return self._resolvent(w)

    def _newton(self, w: Vector, r: Vector) -> tuple[Vector, Vector] | None:
        """Return Newton's step on r = 0, halved until the residual shrinks; None if it does not."""
        slopes = self._projection_slopes(self._x + 2 * self._resolvent(w) - w)
        a = self._rho * self._inverse
        step = np.linalg.lstsq(slopes @ (2 * a - np.eye(w.size)) - a, r, rcond=None)[0]
        share, size = 1.0, float(np.linalg.norm(r))
        while share > 0.01:
            there = w - share * step
            left = self._residual(there)
            if np.linalg.norm(left) <= (1.0 - 0.3 * share) * size:
                return there, left
            share /= 2.0
        return None

    def _projection_slopes(self, point: Vector) -> Vector:
        """Return the projection's derivative, by central differences."""
        width = 1e-7 * max(float(np.linalg.norm(point - self._x)), self._radius)
        shifts = width * np.eye(point.size)
        up, down = point + shifts, point - shifts
        return np.asarray((self._project(up) - self._project(down)) / np.diag(up - down)[:, None]).T
