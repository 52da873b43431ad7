"""Weighted ridge regression, online: follow the leader of delayed and weighted examples."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, Self

import numpy as np

from tarry.checks import as_positive
from tarry.domains.base import as_domain, project
from tarry.learners.base import EXAMPLE, Directions, Learner, absorb, predict, restart
from tarry.learners.states import Array, Integer, Vector


class RidgeState(NamedTuple):
    """``inverse`` = P, ``leader`` = z, ``moved`` = whether z moved since it was last shown."""

    inverse: Annotated[np.ndarray, ("k", "k")]
    leader: Vector
    scratch: Vector
    moved: Integer


class Ridge(Learner, init=False):
    """The ridge regression of all examples heard so far, each with its weight; no step to tune.

        x_{t+1} = Π( argmin_x ½ Σ_{s∈O_{t+1}} w_s (⟨φ_s, x⟩ − y_s)² + (λ/2)‖x‖² )

    over the features φ_s and labels y_s that have arrived. Kept are the inverse P of A = λI + Σ w_s φ_s φ_sᵀ and the
    leader z = P Σ w_s y_s φ_s. An example of weight w moves both by Sherman and Morrison's formula, with u = Pφ and
    c = w / (1 + w⟨φ, u⟩):

        P ← P − c·uuᵀ        z ← z + c·(y − ⟨φ, z⟩)·u

    O(k²) per used arrival, O(k) per round otherwise.

    ``penalty`` is λ > 0; the first play is the domain's point nearest 0. The leader in R^k is projected on the domain:
    where it lies inside, this is the constrained leader itself; since λ‖z‖² ≤ Σ w_s y_s², a ball of radius
    max|y|·√(Σw/λ) around 0 never touches it. Takes ``feedback="example"``. Rounding costs at most about ‖A‖/λ
    units in the last place, so a tiny λ with long features is not for this learner. It states no regret.

    Hoerl, Kennard, *Ridge Regression: Biased Estimation for Nonorthogonal Problems*, Technometrics 12, 1970.

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


@restart.on(Ridge)
def _restart(learner: Ridge, state: RidgeState, t: int, magnitude: float) -> None:
    for i in range(state.leader.size):
        state.leader[i] = 0.0
        for j in range(state.leader.size):
            state.inverse[i, j] = 0.0
        state.inverse[i, i] = 1.0 / learner.penalty
    state.moved[0] = 1


@predict.on(Ridge)
def _predict(learner: Ridge, state: RidgeState, directions: Directions, t: int, play: Array) -> None:
    if state.moved[0] == 0:
        return
    for i in range(play.size):
        play[i] = state.leader[i]
    project(learner.domain, play, state.scratch)
    state.moved[0] = 0


@absorb.on(Ridge)
def _absorb(
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
