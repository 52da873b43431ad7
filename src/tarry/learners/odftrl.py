"""ODFTRL: follow the regularised leader of what has arrived and a hint of what has not."""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple, Self

from numpy.typing import ArrayLike

from tarry.checks import as_int, as_positive
from tarry.domains.base import as_domain, project
from tarry.kernel import verb
from tarry.learners.actions import even_weights, simplex_of, softmin
from tarry.learners.base import GRADIENT, Directions, absorb, advance, feedback_size, restart
from tarry.learners.entropic_ftrl import Entropy, entropic_strength
from tarry.learners.hints import Hinted, as_hint, clear_sums, foresee, liken
from tarry.learners.norms import Euclidean, Norm, diameter_in, dual_size
from tarry.learners.states import Array, Number, Vector, add_weighted, show_point, starting_point


class OptimisticState(NamedTuple):
    """``total`` = Σ w_s g_s, ``guess`` of one missing round, ``hint`` of all, ``mass`` = Σ w_s."""

    point: Vector
    total: Vector
    guess: Vector
    hint: Vector
    mass: Number
    scratch: Vector


class ODFTRL(Hinted, init=False):
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
    start: Array
    norm: Norm

    feedback = GRADIENT
    state = OptimisticState

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
    def span(self) -> float:
        """The most that ψ can be on the domain, or a bound on it."""
        return float(diameter_in(self.norm, self.domain)) ** 2 / 2.0


@verb
def lead(norm: Norm, learner: ODFTRL, state: OptimisticState) -> None:
    """Move to the minimiser of ⟨scratch, x⟩ + λψ(x)."""


@lead.on(Euclidean)
def _nearest(norm: Euclidean, learner: ODFTRL, state: OptimisticState) -> None:
    for i in range(state.point.size):
        state.point[i] = learner.start[i] - state.scratch[i] / learner.strength
    project(learner.domain, state.point, state.scratch)


@lead.on(Entropy)
def _softest(norm: Entropy, learner: ODFTRL, state: OptimisticState) -> None:
    softmin(state.scratch, learner.strength, state.point)


@restart.on(ODFTRL)
def _restart(learner: ODFTRL, state: OptimisticState, t: int, magnitude: float) -> None:
    show_point(learner.start, state.point)
    clear_sums(state)


@absorb.on(ODFTRL)
def _absorb(
    learner: ODFTRL, state: OptimisticState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
) -> None:
    add_weighted(state.total, weight, feedback)
    liken(learner.hint, state.mass, weight, feedback, state.guess)


@advance.on(ODFTRL)
def _advance(learner: ODFTRL, state: OptimisticState, t: int, pending: int) -> None:
    foresee(learner.hint, state, pending)
    lead(learner.norm, learner, state)


@feedback_size.on(ODFTRL)
def _size(learner: ODFTRL, feedback: Array) -> float:
    return dual_size(learner.norm, feedback)
