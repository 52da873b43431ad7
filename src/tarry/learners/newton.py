"""The online Newton step: steps in a norm that follows the gradients."""

from __future__ import annotations

from math import sqrt
from typing import Annotated, Any, NamedTuple, Self

import numpy as np

from tarry.checks import Positive, as_int, as_positive
from tarry.domains.base import Domain, as_domain, project
from tarry.kernel import KW_ONLY, step
from tarry.learners import states
from tarry.learners.base import Directions, Starting
from tarry.learners.states import AnyDomain, AnyPoint, Array, Vector

Matrix = Annotated[np.ndarray, ("k", "k")]
Room = Annotated[np.ndarray, (3, "k")]  # for ``nearest_by``

TURNS = 500  # of a projection: some twenty, warm from the last play; a stop for matrices without a condition
STILL = 1e-12  # a move, relative to the point, that ends a projection


@step
def nearest_by(domain: Domain, matrix: Array, largest: float, free: Array, point: Array, room: Array) -> None:
    """Move ``point``, which lies in the domain, to argmin_x (x − z)ᵀA(x − z) there; z = ``free``, A ≤ ``largest``.

    Projected gradient steps with momentum, which is dropped where it points uphill: O(k²) each. Beck, Teboulle, *A Fast
    Iterative Shrinkage-Thresholding Algorithm*, 2009; O'Donoghue, Candès, *Adaptive Restart*, 2015.
    """
    ahead, fresh, scratch = room[0], room[1], room[2]
    away, size = 0.0, 1.0
    for i in range(free.size):
        fresh[i] = free[i]
        size = max(size, abs(free[i]))
    project(domain, fresh, scratch)
    for i in range(free.size):
        away = max(away, abs(fresh[i] - free[i]))
    if away <= STILL * size:  # z lies in the domain
        states.show_point(fresh, point)
        return
    states.show_point(point, ahead)
    pace = 1.0
    for _ in range(TURNS):
        for i in range(free.size):
            slope = 0.0
            for j in range(free.size):
                slope += matrix[i, j] * (ahead[j] - free[j])
            fresh[i] = ahead[i] - slope / largest
        project(domain, fresh, scratch)
        uphill, moved, size = 0.0, 0.0, 1.0
        for i in range(free.size):
            uphill += (ahead[i] - fresh[i]) * (fresh[i] - point[i])
            moved = max(moved, abs(ahead[i] - fresh[i]))
            size = max(size, abs(fresh[i]))
        before = 1.0 if uphill > 0.0 else pace
        pace = 0.5 + sqrt(0.25 + before * before)
        momentum = 0.0 if uphill > 0.0 else (before - 1.0) / pace
        for i in range(free.size):
            ahead[i] = fresh[i] + momentum * (fresh[i] - point[i])
            point[i] = fresh[i]
        if moved <= STILL * size:
            return


class NewtonState(NamedTuple):
    """Hold ``matrix`` = A and its ``inverse``; ``free`` = the step before it is projected."""

    point: Vector
    matrix: Matrix
    inverse: Matrix
    free: Vector
    room: Room


class ONS(Starting):
    """Online Newton step, for losses with f(u) ≥ f(x) + ⟨g, u − x⟩ + (γ/2)⟨g, u − x⟩²; ``curvature`` is γ, ``floor`` ε.

        A ← A + w_s g_s g_sᵀ,   x ← Π_A( x − (w_s/γ) A⁻¹ g_s )      at the feedback of round s,   A = εI at first

    Π_A is the nearest point in the norm of A. Nothing late, the regret is at most γεD²/2 + (k/(2γ)) ln(1 + G²T/(kε));
    with delays of at most τ, unit weights and ε ≥ 2τG², the last term takes the factor 1 + 3√2·τ(1 + γGD), proved in
    docs/bounds.md. λ-strongly convex losses have γ = λ/G². O(k²) a feedback, and for each turn of a projection. Hazan,
    Agarwal, Kale, *Logarithmic Regret Algorithms for Online Convex Optimization*, Machine Learning 69, 2007; delays are
    this project's.

    >>> from tarry.domains import Ball
    >>> ONS.exp_concave(Ball(3), exp_concavity=0.1, gradient_bound=2.0)
    ONS(domain=Ball(center=[0., 0., 0.], radius=1), curvature=0.03125, floor=256, start=[0., 0., 0.])
    """

    domain: AnyDomain
    curvature: Positive
    floor: Positive
    _: KW_ONLY
    start: AnyPoint = None

    state = NewtonState

    @classmethod
    def exp_concave(
        cls, domain: Any, exp_concavity: float, gradient_bound: float, *, max_delay: int = 0, start: Any = None
    ) -> Self:
        """Set γ = ½min{1/(4GD), α} and ε = max{1/(γD)², 2τG²}, for α-exp-concave losses with gradients of at most G."""
        across = as_positive(as_domain(domain, "domain").diameter, "the domain's diameter")
        steep, late = as_positive(gradient_bound, "gradient_bound"), as_int(max_delay, "max_delay")
        curvature = min(0.25 / (steep * across), as_positive(exp_concavity, "exp_concavity")) / 2
        return cls(domain, curvature, max((curvature * across) ** -2, 2 * late * steep**2), start=start)

    def restart(self, state: NewtonState, t: int, magnitude: float) -> None:
        states.show_point(self.start, state.point)
        for i in range(state.point.size):
            for j in range(state.point.size):
                state.matrix[i, j] = 0.0
                state.inverse[i, j] = 0.0
            state.matrix[i, i] = self.floor
            state.inverse[i, i] = 1.0 / self.floor

    def absorb(
        self, state: NewtonState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
    ) -> None:
        # Sherman and Morrison: with u = A⁻¹g of the old A and c = w/(1 + w⟨g, u⟩), A⁻¹ ← A⁻¹ − c·uuᵀ, so w·A⁻¹g = c·u.
        k, u = state.point.size, state.room[0]
        reach = 0.0
        for i in range(k):
            u[i] = 0.0
            for j in range(k):
                u[i] += state.inverse[i, j] * feedback[j]
            reach += feedback[i] * u[i]
        gain = weight / (1.0 + weight * reach)
        largest = 0.0
        for i in range(k):
            row = 0.0
            for j in range(k):
                state.inverse[i, j] -= gain * (u[i] * u[j])
                state.matrix[i, j] += weight * (feedback[i] * feedback[j])
                row += abs(state.matrix[i, j])
            largest = max(largest, row)  # no eigenvalue exceeds the largest sum of a row
            state.free[i] = state.point[i] - gain / self.curvature * u[i]
        nearest_by(self.domain, state.matrix, largest, state.free, state.point, state.room)
