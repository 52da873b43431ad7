"""Leaders without a rate: FTL of quadratics, Ridge of examples, FPL of linear costs, perturbed once."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import Annotated, Any, NamedTuple, Self

import numpy as np

from tarry.checks import Positive, as_int, as_positive
from tarry.domains import Ball, Box, Domain, Ellipsoid, Product, Shift, Simplex, project
from tarry.domains.base import as_domain
from tarry.kernel import KW_ONLY, verb, verb_with_default
from tarry.kernel.keyed import uniform_at
from tarry.learners import states
from tarry.learners.base import EXAMPLE, GRADIENT, Directions, Learner, RecordedDirections, Starting
from tarry.learners.states import AnyDomain, AnyPoint, Array, Integer, Number, Vector, VectorBySlot
from tarry.rates.base import Facts, warn_if_less_convex


class FTLState(NamedTuple):
    """Hold ``total`` = Σ w_s g_s, ``anchor`` = Σ w_s x_s, ``mass`` = Σ w_s, ``plays`` by slot."""

    point: Vector
    total: Vector
    anchor: Vector
    mass: Number
    scratch: Vector
    plays: VectorBySlot


class FTL(Starting):
    """The reduction of late to immediate feedback for λ-strongly convex losses; only λ is known.

        x = argmin_x Σ w_s ( ⟨g_s, x⟩ + (λ/2) |x − x_s|² ) = Π( (Σ w_s x_s − (1/λ) Σ w_s g_s) / Σ w_s )

    over what has arrived, x_s where round s *played*. With unit weights and every round tracked the regret is at most
    ((G + λD)²/λ)(½ + σ_max)(1 + ln T), where λD ≤ 2G (docs/bounds.md). ``SOLID(DWFTRL(…, inverse_time(λ)))`` centres
    the quadratics where the learner stands when s arrives, ``DWFTRL(…, inverse_time(λ))`` at all plays, heard or not.
    Ryabchenko, Attias, Roy, *A Reduction from Delayed to Immediate Feedback for Online Convex Optimization with
    Improved Guarantees*, 2026 (arXiv 2602.02634; the idea, from the abstract; the constants are this project's).
    """

    domain: AnyDomain
    strong_convexity: Positive
    _: KW_ONLY
    start: AnyPoint = None

    state = FTLState
    is_movable = True

    def doubts(self, facts: Facts) -> Iterator[str]:
        return warn_if_less_convex(self, facts, "DOGD or DWFTRL")

    def restart(self, state: FTLState, t: int, magnitude: float) -> None:
        states.show_point(self.start, state.point)
        states.clear(state.total)
        states.clear(state.anchor)
        states.clear(state.mass)

    def enter(self, state: FTLState, slot: int, t: int) -> None:
        states.keep_play(state.point, state.plays, slot)

    def absorb(
        self, state: FTLState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
    ) -> None:
        # w f is wλ-strongly convex: the weight is that of the whole quadratic.
        state.mass[0] += weight
        for i in range(state.total.size):
            state.total[i] += weight * feedback[i]
            state.anchor[i] += weight * state.plays[slot, i]

    def advance(self, state: FTLState, t: int, pending: float) -> None:
        if state.mass[0] == 0.0:
            return  # nothing has come: the start stands
        for i in range(state.point.size):
            state.point[i] = (state.anchor[i] - state.total[i] / self.strong_convexity) / state.mass[0]
        project(self.domain, state.point, state.scratch)


class RidgeState(NamedTuple):
    """Hold ``inverse`` = P, ``leader`` = z, ``moved`` = whether z moved since it was last shown."""

    inverse: Annotated[np.ndarray, ("k", "k")]
    leader: Vector
    scratch: Vector
    moved: Integer


class Ridge(Learner, init=False):
    """The ridge regression of all examples heard so far, each with its weight; no step to tune. It states no regret.

        x_{t+1} = Π( argmin_x ½ Σ_{s∈O_{t+1}} w_s (⟨φ_s, x⟩ − y_s)² + (λ/2)‖x‖² )

    over the features φ_s and labels y_s that have arrived, in O(k²) each: kept are the inverse P of A = λI + Σ w_s φ_s
    φ_sᵀ and the leader z = P Σ w_s y_s φ_s. ``penalty`` is λ > 0. A ball of radius max|y|·√(Σw/λ) around 0 never
    touches z. Rounding costs about ‖A‖/λ units in the last place, so a tiny λ with long features is not for this
    learner. Hoerl, Kennard, *Ridge Regression: Biased Estimation for Nonorthogonal Problems*, Technometrics 12, 1970.

    >>> from tarry.domains import Ball
    >>> from tarry.learners.base import absorb, allocate
    >>> learner = Ridge(Ball(2, radius=100.0), penalty=1.0)
    >>> state = allocate(learner, 1)
    >>> absorb(learner, state, None, 0, 1, 2.0, np.array([1.0, 0.0, 3.0]))  # weight 2, label 3
    >>> state.leader.tolist()
    [2.0, 0.0]
    """

    domain: Any
    penalty: float
    dimension: int

    feedback = EXAMPLE
    state = RidgeState

    def __new__(cls, domain: Any, penalty: float = 1.0) -> Self:
        as_domain(domain, "domain")
        return cls.make(domain, as_positive(penalty, "penalty"), int(domain.dimension))

    def restart(self, state: RidgeState, t: int, magnitude: float) -> None:
        for i in range(state.leader.size):
            state.leader[i] = 0.0
            for j in range(state.leader.size):
                state.inverse[i, j] = 0.0
            state.inverse[i, i] = 1.0 / self.penalty
        state.moved[0] = 1

    def predict(self, state: RidgeState, directions: Directions, t: int, play: Array) -> None:
        if state.moved[0] == 0:
            return  # ``play`` still holds the projected leader
        states.show_point(state.leader, play)
        project(self.domain, play, state.scratch)
        state.moved[0] = 0

    def absorb(
        self, state: RidgeState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
    ) -> None:
        # Sherman and Morrison: with u = Pφ and c = w/(1 + w⟨φ, u⟩), P ← P − c·uuᵀ and z ← z + c·(y − ⟨φ, z⟩)·u.
        k, u = state.leader.size, state.scratch
        for i in range(k):
            u[i] = 0.0
        for j in range(k):
            if feedback[j] != 0.0:  # one-hot features are mostly zeros
                for i in range(k):
                    u[i] += state.inverse[j, i] * feedback[j]
        reach = error = 0.0
        for i in range(k):
            reach += feedback[i] * u[i]
            error += feedback[i] * state.leader[i]
        gain = weight / (1.0 + weight * reach)
        error = feedback[k] - error
        for i in range(k):
            state.leader[i] += gain * error * u[i]
            for j in range(k):
                state.inverse[i, j] -= gain * (u[i] * u[j])  # in this order it stays symmetric to the bit
        state.moved[0] = 1


class FPLState(NamedTuple):
    """Hold ``total`` = Σ w_s c_s, and ``scratch``, the same with the noise."""

    total: Vector
    scratch: Vector


class FPL(Learner):
    """Follow the perturbed leader, for **linear** losses fixed in advance; ``spread`` is 1/ε.

        x_t = argmin_x ⟨x, p + Σ_{s∈O_t} w_s c_s⟩,   p uniform on [0, 1/ε]^k, drawn once

    f_t(x) = ⟨c_t, x⟩, and O_t is what has arrived before round t. With unit weights and every round tracked E R_T ≤
    εRA(T + total delay) + W/ε, where |c_t|₁ ≤ A, ⟨c_t, x − y⟩ ≤ R and |x − y|₁ ≤ W on the domain. Recorded directions
    give their first row times 1/ε in place of the noise. Quanrud, Khashabi, *Online Learning with Adversarial Delays*,
    NIPS 2015; Kalai, Vempala, *Efficient Algorithms for Online Decision Problems*, Journal of Computer and System
    Sciences 71, 2005, whose argument gives the constants.

    >>> from tarry.domains import Simplex
    >>> FPL.tuned(Simplex(5), size=1.0, span=1.0, width=2.0, horizon=100, total_delay=100).spread
    10.0
    """

    domain: AnyDomain
    spread: Positive

    feedback = GRADIENT
    state = FPLState

    @classmethod
    def complete(cls, fields: dict[str, Any]) -> None:
        if not has_least(fields["domain"]):
            raise TypeError(f"FPL needs a formula for least points, which {fields['domain']!r} has not: use DOGD there")

    @classmethod
    def tuned(cls, domain: Any, *, size: float, span: float, width: float, horizon: int, total_delay: int) -> Self:
        """Set 1/ε = √(RA(T + total delay)/W), A = size, R = span, W = width: E R_T ≤ 2√(WRA(T + total delay))."""
        rounds = as_int(horizon, "horizon", 1) + as_int(total_delay, "total_delay")
        moved = as_positive(size, "size") * as_positive(span, "span") * rounds
        return cls(domain, sqrt(moved / as_positive(width, "width")))

    def doubts(self, facts: Facts) -> Iterator[str]:
        if facts.is_curved:
            name = type(facts.losses).__name__
            with_ridge = " with a ridge" if name == "Linear" else ""  # what bends linear losses; known by name only
            yield (
                "FPL draws its noise once, which is proved for linear losses fixed in advance, and "
                f"{name} losses{with_ridge} are not linear: use DOGD or DWFTRL"
            )

    def restart(self, state: FPLState, t: int, magnitude: float) -> None:
        states.clear(state.total)

    def predict(self, state: FPLState, directions: Directions, t: int, play: Array) -> None:
        # The noise is the seed's, the same in every round and every epoch: hashed again rather than stored.
        for i in range(play.size):
            state.scratch[i] = state.total[i] + self.spread * noise(directions, i)
        least(self.domain, state.scratch, play)

    def absorb(
        self, state: FPLState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
    ) -> None:
        states.add_weighted(state.total, weight, feedback)


@verb
def least(domain: Domain, cost: Array, out: Array) -> None:
    """Write a point of the domain where ⟨cost, x⟩ is least."""


def has_least(domain: Any) -> bool:
    """Return whether a domain, with all it is made of, answers ``least``."""
    if not any(isinstance(domain, kind) for kind in least.members):
        return False
    return all(has_least(part) for part in domain if hasattr(part, "linear_minimiser"))


@least.on(Ball)
def _on_ball(domain: Ball, cost: Array, out: Array) -> None:
    squares = 0.0
    for i in range(cost.size):
        squares += cost[i] * cost[i]
    reach = domain.radius / sqrt(squares) if squares > 0.0 else 0.0
    for i in range(cost.size):
        out[i] = domain.center[i] - reach * cost[i]


@least.on(Box)
def _on_box(domain: Box, cost: Array, out: Array) -> None:
    for i in range(cost.size):
        out[i] = domain.lower[i] if cost[i] > 0.0 else domain.upper[i]


@least.on(Simplex)
def _on_simplex(domain: Simplex, cost: Array, out: Array) -> None:
    best = 0  # ties go to the first, so that plays do not depend on rounding of equal costs
    for i in range(cost.size):
        out[i] = 0.0
        if cost[i] < cost[best]:
            best = i
    out[best] = domain.scale


@least.on(Ellipsoid)
def _on_ellipsoid(domain: Ellipsoid, cost: Array, out: Array) -> None:
    for j in range(cost.size):
        out[j] = 0.0
    # The least point is o − r·A⁻¹c/√(cᵀA⁻¹c), A by its axes.
    squares = 0.0
    for i in range(cost.size):
        along = 0.0
        for j in range(cost.size):
            along += domain.axes[i, j] * cost[j]
        squares += along * along / domain.eigenvalues[i]
        for j in range(cost.size):
            out[j] += domain.axes[i, j] * along / domain.eigenvalues[i]
    reach = domain.radius / sqrt(squares) if squares > 0.0 else 0.0
    for j in range(cost.size):
        out[j] = domain.center[j] - reach * out[j]


@least.on(Product)
def _on_product(domain: Product, cost: Array, out: Array) -> None:
    least(domain.first, cost[: domain.split], out[: domain.split])
    least(domain.second, cost[domain.split :], out[domain.split :])


@least.on(Shift)
def _on_shift(domain: Shift, cost: Array, out: Array) -> None:
    least(domain.domain, cost, out)
    for i in range(cost.size):
        out[i] += domain.offset[i]


@verb_with_default
def noise(source: Any, i: int) -> float:
    """Return the i-th entry of the noise on (0, 1], hashed or recorded."""
    return uniform_at(source.key, 0, i)  # rounds count from 1, so no direction shares this draw


@noise.on(RecordedDirections)
def _read(source: RecordedDirections, i: int) -> float:
    return source.values[0, i]
