"""ODFTRL: follow the regularised leader of what has arrived and a hint of what has not."""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_int, as_positive
from tarry.domains import as_domain, project
from tarry.kernel import Parameters, verb
from tarry.learners.actions import even_weights, simplex_of, softmin
from tarry.learners.base import GRADIENT, absorb, advance, allocate, feedback_size, predict, restart
from tarry.learners.dwftrl import starting_point
from tarry.learners.entropic import Entropy, entropic_strength
from tarry.learners.hints import Hinted, as_hint, guess_missing, liken
from tarry.learners.norms import Euclidean, diameter_in, dual_size
from tarry.learners.ogd import show_point


class ODFTRL(Parameters, Hinted, init=False):
    """Optimistic delayed FTRL with a fixed regulariser; ``strength`` is λ, ``hint`` one of :mod:`tarry.learners.hints`.

        x_{t+1} = argmin_x ⟨Σ_{s∈O_{t+1}} w_s g_s + h_{t+1}, x⟩ + λψ(x)

    over O_{t+1}, what has arrived before round t + 1, and a hint h, with ψ(x) = |x − x_1|²/2, so x = Π(x_1 − (…)/λ), or
    on the simplex ψ(x) = Σ x_i ln x_i + ln K, so x ∝ exp(−(…)/λ).

    With v_t = w_t g_t and e_t = ‖h_t − v_t − Σ_{s∈B_t} v_s‖, B_t the rounds out when t begins, in the dual norm
    (|·|, or ‖·‖_∞ for :meth:`entropic`), the weighted regret is at most

        λψ(u) + (1/λ) Σ_t b_t,   b_t = (e_t² − max(0, e_t − ‖v_t‖)²)/2

    on every path: a delay costs through the error of the hint alone. The source states it for one fixed delay; its
    proof, in which missing gradients are a wrong hint, does not need that, nor unit weights. Without a hint it is
    DW-FTRL of rate 1/λ. Flaspohler et al., *Online Learning with Optimism and Delay*, ICML 2021.

    >>> from tarry.domains import Ball
    >>> ODFTRL.tuned(Ball(2), gradient_bound=1.0, horizon=100, total_delay=400).strength
    15.0
    """

    domain: Any
    strength: float
    hint: int
    start: np.ndarray
    norm: Any

    feedback = GRADIENT

    def __new__(cls, domain: Any, strength: float, *, hint: str = "none", start: ArrayLike | None = None) -> Self:
        as_domain(domain, "domain")
        level = as_positive(strength, "strength")
        return cls.make(domain, level, as_hint(hint), starting_point(domain, start), Euclidean())

    @classmethod
    def entropic(cls, dimension: int, strength: float, *, hint: str = "none") -> Self:
        """Entropy on the simplex of ``dimension`` experts."""
        domain, level = simplex_of(dimension), as_positive(strength, "strength")
        return cls.make(domain, level, as_hint(hint), even_weights(domain.dimension), Entropy())

    @classmethod
    def tuned_entropic(
        cls, dimension: int, *, horizon: int, total_delay: int, gradient_bound: float = 1.0, hint: str = "none"
    ) -> Self:
        """λ = G√((T + 2·total delay)/(2 ln K)), ‖g‖_∞ ≤ G: without a hint as ``EntropicFTRL.tuned``, the same bound."""
        return cls.entropic(dimension, entropic_strength(dimension, horizon, total_delay, gradient_bound), hint=hint)

    @classmethod
    def tuned(cls, domain: Any, *, gradient_bound: float, horizon: int, total_delay: int, hint: str = "none") -> Self:
        """λ = G√(T + 2·total delay)/D: without a hint and with unit weights regret at most GD√(T + 2·total delay)."""
        size, rounds = as_positive(gradient_bound, "gradient_bound"), as_int(horizon, "horizon", 1)
        cost = size * sqrt(rounds + 2 * as_int(total_delay, "total_delay"))
        return cls(domain, cost / as_domain(domain, "domain").diameter, hint=hint)

    @property
    def dimension(self) -> int:
        return int(self.start.size)

    @property
    def span(self) -> float:
        """The most that ψ can be on the domain, or a bound on it."""
        return float(diameter_in(self.norm, self.domain)) ** 2 / 2.0


class OptimisticState(NamedTuple):
    """``total`` = Σ w_s g_s, ``guess`` of one missing round, ``hint`` of all, ``mass`` = Σ w_s."""

    point: np.ndarray
    total: np.ndarray
    guess: np.ndarray
    hint: np.ndarray
    mass: np.ndarray
    scratch: np.ndarray


@verb
def lead(norm: Any, learner: Any, state: OptimisticState) -> None:
    """Move to the minimiser of ⟨scratch, x⟩ + λψ(x)."""


@lead.on(Euclidean)
def _nearest(norm: Any, learner: Any, state: Any) -> None:
    for i in range(state.point.size):
        state.point[i] = learner.start[i] - state.scratch[i] / learner.strength
    project(learner.domain, state.point, state.scratch)


@lead.on(Entropy)
def _softest(norm: Any, learner: Any, state: Any) -> None:
    softmin(state.scratch, learner.strength, state.point)


@allocate.on(ODFTRL)
def _allocate(learner: ODFTRL, slots: int) -> OptimisticState:
    k = learner.dimension
    return OptimisticState(
        np.array(learner.start), np.zeros(k), np.zeros(k), np.zeros(k), mass=np.zeros(1), scratch=np.zeros(k)
    )


@restart.on(ODFTRL)
def _restart(learner: Any, state: Any, t: Any, magnitude: Any) -> None:
    for i in range(state.point.size):
        state.point[i] = learner.start[i]
        state.total[i] = 0.0
        state.guess[i] = 0.0
        state.hint[i] = 0.0
    state.mass[0] = 0.0


@predict.on(ODFTRL)
def _predict(learner: Any, state: Any, directions: Any, t: Any, play: Any) -> None:
    show_point(state.point, play)


@absorb.on(ODFTRL)
def _absorb(learner: Any, state: Any, directions: Any, slot: Any, s: Any, weight: Any, feedback: Any) -> None:
    for i in range(state.total.size):
        state.total[i] += weight * feedback[i]
    liken(learner.hint, state.mass, weight, feedback, state.guess)


@advance.on(ODFTRL)
def _advance(learner: Any, state: Any, t: Any, pending: Any) -> None:
    guess_missing(learner.hint, state.guess, pending, state.hint)
    for i in range(state.total.size):
        state.scratch[i] = state.total[i] + state.hint[i]
    lead(learner.norm, learner, state)


@feedback_size.on(ODFTRL)
def _size(learner: Any, feedback: Any) -> Any:
    return dual_size(learner.norm, feedback)
