"""Leaders without a rate: FTL of the quadratics that have arrived, Ridge of the examples that have arrived."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple, Self

import numpy as np

from tarry.checks import Positive, as_positive
from tarry.domains import as_domain, project
from tarry.kernel import KW_ONLY, field
from tarry.learners import states
from tarry.learners.base import EXAMPLE, GRADIENT, Directions, Learner, absorb, advance, enter, predict, restart
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


class FTL(Learner):
    """The reduction of late to immediate feedback for λ-strongly convex losses; only λ is known.

        x = argmin_x Σ w_s ( ⟨g_s, x⟩ + (λ/2) |x − x_s|² ) = Π( (Σ w_s x_s − (1/λ) Σ w_s g_s) / Σ w_s )

    over what has arrived, x_s where round s *played*. With unit weights and every round tracked the regret is at most
    ((G + λD)²/λ)(½ + σ_max)(1 + ln T), where λD ≤ 2G (docs/methods.md). ``SOLID(DWFTRL(…, inverse_time(λ)))`` centres
    the quadratics where the learner stands when s arrives, ``DWFTRL(…, inverse_time(λ))`` at all plays, heard or not.

    Ryabchenko, Attias, Roy, *A Reduction from Delayed to Immediate Feedback for Online Convex Optimization with
    Improved Guarantees*, 2026 (arXiv 2602.02634; the idea, from the abstract; the constants are this project's).
    """

    domain: AnyDomain
    strong_convexity: Positive
    _: KW_ONLY
    start: AnyPoint = field(default=None)

    feedback = GRADIENT
    state = FTLState
    is_movable = True

    @classmethod
    def complete(cls, fields: dict[str, Any]) -> None:
        fields["start"] = states.starting_point(fields["domain"], fields["start"])

    def doubts(self, facts: Facts) -> Iterator[str]:
        """Yield a warning about losses that are flatter than λ."""
        return warn_if_less_convex(self, facts, "DOGD or DWFTRL")


@restart.on(FTL)
def _restart(learner: FTL, state: FTLState, t: int, magnitude: float) -> None:
    for i in range(state.point.size):
        state.point[i] = learner.start[i]
        state.total[i] = 0.0
        state.anchor[i] = 0.0
    state.mass[0] = 0.0


@enter.on(FTL)
def _enter(learner: FTL, state: FTLState, slot: int, t: int) -> None:
    states.keep_play(state.point, state.plays, slot)


@absorb.on(FTL)
def _absorb(
    learner: FTL, state: FTLState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
) -> None:
    # w f is wλ-strongly convex: the weight is that of the whole quadratic.
    state.mass[0] += weight
    for i in range(state.total.size):
        state.total[i] += weight * feedback[i]
        state.anchor[i] += weight * state.plays[slot, i]


@advance.on(FTL)
def _advance(learner: FTL, state: FTLState, t: int, pending: int) -> None:
    if state.mass[0] == 0.0:
        return  # nothing has come: the start stands
    for i in range(state.point.size):
        state.point[i] = (state.anchor[i] - state.total[i] / learner.strong_convexity) / state.mass[0]
    project(learner.domain, state.point, state.scratch)


class RidgeState(NamedTuple):
    """Hold ``inverse`` = P, ``leader`` = z, ``moved`` = whether z moved since it was last shown."""

    inverse: Annotated[np.ndarray, ("k", "k")]
    leader: Vector
    scratch: Vector
    moved: Integer


class Ridge(Learner, init=False):
    """The ridge regression of all examples heard so far, each with its weight; no step to tune.

        x_{t+1} = Π( argmin_x ½ Σ_{s∈O_{t+1}} w_s (⟨φ_s, x⟩ − y_s)² + (λ/2)‖x‖² )

    over the features φ_s and labels y_s that have arrived. Kept are the inverse P of A = λI + Σ w_s φ_s φ_sᵀ and the
    leader z = P Σ w_s y_s φ_s. Sherman and Morrison's formula moves both, with u = Pφ and c = w / (1 + w⟨φ, u⟩), in
    O(k²):

        P ← P − c·uuᵀ        z ← z + c·(y − ⟨φ, z⟩)·u

    ``penalty`` is λ > 0. A ball of radius max|y|·√(Σw/λ) around 0 never touches z. Rounding costs about ‖A‖/λ units in
    the last place, so a tiny λ with long features is not for this learner. Hoerl, Kennard, *Ridge Regression: Biased
    Estimation for Nonorthogonal Problems*, Technometrics 12, 1970.

    >>> from tarry.domains import Ball
    >>> from tarry.learners.base import allocate
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


@restart.on(Ridge)
def _restart_ridge(learner: Ridge, state: RidgeState, t: int, magnitude: float) -> None:
    for i in range(state.leader.size):
        state.leader[i] = 0.0
        for j in range(state.leader.size):
            state.inverse[i, j] = 0.0
        state.inverse[i, i] = 1.0 / learner.penalty
    state.moved[0] = 1


@predict.on(Ridge)
def _predict(learner: Ridge, state: RidgeState, directions: Directions, t: int, play: Array) -> None:
    if state.moved[0] == 0:
        return  # ``play`` still holds the projected leader
    states.show_point(state.leader, play)
    project(learner.domain, play, state.scratch)
    state.moved[0] = 0


@absorb.on(Ridge)
def _absorb_ridge(
    learner: Ridge, state: RidgeState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
) -> None:
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
