"""Optimistic learners: hints of what has not arrived yet, and ODFTRL, which follows the leader with one.

    "none"      0
    "recent"    (σ_{t+1} + 1) · what arrived last, weighted: every missing round, and the one to come, is like it
    "previous"  what arrived last, weighted, once: the round to come is like it, and nothing is said of the missing
    "mean"      (σ_{t+1} + 1) · Σ w_s v_s / Σ w_s over what has arrived: all are like the average so far

"recent" and "mean" count the missing rounds, so they need acknowledgements.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple, Self

from numpy.typing import ArrayLike

from tarry.checks import as_choice, as_int, as_positive
from tarry.domains import Simplex, project
from tarry.domains.base import as_domain
from tarry.kernel import step, verb_with_default
from tarry.learners.base import GRADIENT, Directions, Learner
from tarry.learners.entropic_ftrl import Entropy, OnSimplex, entropic_strength, simplex_of, softmin
from tarry.learners.norms import Euclidean, Norm, diameter_in, dual_size
from tarry.learners.states import Array, Number, Vector, add_weighted, clear, show_point, starting_point

HINTS = ("none", "recent", "previous", "mean")
NO_HINT, RECENT, PREVIOUS, MEAN = range(len(HINTS))


def as_hint(name: str) -> int:
    """Return the number of a hint; raise ValueError if there is none of this name."""
    return HINTS.index(as_choice(name, "hint", HINTS))


class Hinted(Learner):
    """Let the ``hint`` decide whether a learner needs acknowledgements."""

    @property
    def needs_acknowledgements(self: Any) -> bool:
        return self.hint in (RECENT, MEAN)

    @property
    def follows(self: Any) -> tuple[str, str]:
        return f"the hint {HINTS[self.hint]!r}", "use hint='previous' or 'none'"


class HintedExperts(OnSimplex, Hinted, init=False):
    """Declare learners over experts that take a ``hint`` and nothing else."""

    domain: Simplex
    hint: int

    feedback = GRADIENT

    def __new__(cls, dimension: int, *, hint: str = "none") -> Self:
        return cls.make(simplex_of(dimension), as_hint(hint))


class OptimisticState(NamedTuple):
    """Hold ``total`` = Σ w_s g_s, the ``guess`` of one missing round, the ``hint`` of all, ``mass`` = Σ w_s."""

    point: Vector
    total: Vector
    guess: Vector
    hint: Vector
    mass: Number
    scratch: Vector


@step
def share_of(hint: int, mass: Array, weight: float) -> float:
    """Return the share that an arrival of this weight has in the guess; ``mass`` = Σ w_s is kept for the mean."""
    # The mean is updated in place: dividing Σ w v by Σ w at the end would need one more vector.
    mass[0] += weight
    return weight / mass[0] if hint == MEAN else 1.0


@step
def likened(hint: int, share: float, weight: float, guess: float, arrived: float) -> float:
    """Return an entry of the guess of one missing round after this entry of an arrival."""
    return guess + share * (arrived - guess) if hint == MEAN else weight * arrived


@step
def guess_missing(hint: int, guess: Array, pending: float, out: Array) -> None:
    """Write the hint for the next round, given the guess of one."""
    times = 0 if hint == NO_HINT else 1 if hint == PREVIOUS else pending + 1
    for i in range(out.size):
        out[i] = times * guess[i]


@step
def clear_sums(state: OptimisticState) -> None:
    """Forget the sum of gradients, the guess, the hint and the mass."""
    clear(state.total)
    clear(state.guess)
    clear(state.hint)
    clear(state.mass)


@step
def hear(hint: int, state: OptimisticState, weight: float, arrived: Array) -> None:
    """Add an arrival to the sum of gradients, and let the guess of one missing round follow the arrival."""
    add_weighted(state.total, weight, arrived)
    share = share_of(hint, state.mass, weight)
    for i in range(state.guess.size):
        state.guess[i] = likened(hint, share, weight, state.guess[i], arrived[i])


@step
def foresee(hint: int, state: OptimisticState, pending: float) -> None:
    """Write the hint for the next round, and into ``scratch`` the sum of gradients with it."""
    guess_missing(hint, state.guess, pending, state.hint)
    for i in range(state.total.size):
        state.scratch[i] = state.total[i] + state.hint[i]


class ODFTRL(Hinted, init=False):
    """Optimistic delayed FTRL with a fixed regulariser; ``strength`` is λ, ``hint`` one of this module's.

        x_{t+1} = argmin_x ⟨Σ_{s∈O_{t+1}} w_s g_s + h_{t+1}, x⟩ + λψ(x)

    over O_{t+1}, what has arrived before round t + 1, and a hint h, with ψ(x) = |x − x_1|²/2, so x = Π(x_1 − (…)/λ), or
    on the simplex ψ(x) = Σ x_i ln x_i + ln K, so x ∝ exp(−(…)/λ). With v_t = w_t g_t and
    e_t = ‖h_t − v_t − Σ_{s∈B_t} v_s‖, B_t the rounds out when t begins, in the dual norm (|·|, or ‖·‖_∞ for
    :meth:`entropic`), the weighted regret is on every path at most

        λψ(u) + (1/λ) Σ_t b_t,   b_t = (e_t² − max(0, e_t − ‖v_t‖)²)/2.

    Flaspohler et al., *Online Learning with Optimism and Delay*, ICML 2021, state it for one fixed delay; the proof
    needs neither that nor unit weights. Without a hint this is DW-FTRL of rate 1/λ.

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
        """Regularise by entropy on the simplex of ``dimension`` experts."""
        domain, level = simplex_of(dimension), as_positive(strength, "strength")
        return cls.make(domain, level, as_hint(hint), domain.center, Entropy())

    @classmethod
    def tuned_entropic(
        cls, dimension: int, *, horizon: int, total_delay: int, gradient_bound: float = 1.0, hint: str = "none"
    ) -> Self:
        """Set λ = G√((T + 2·total delay)/(2 ln K)), ‖g‖_∞ ≤ G: without a hint the bound of ``EntropicFTRL.tuned``."""
        return cls.entropic(dimension, entropic_strength(dimension, horizon, total_delay, gradient_bound), hint=hint)

    @classmethod
    def tuned(cls, domain: Any, *, gradient_bound: float, horizon: int, total_delay: int, hint: str = "none") -> Self:
        """Set λ = G√(T + 2·total delay)/D: without a hint, unit weights, regret at most GD√(T + 2·total delay)."""
        size, rounds = as_positive(gradient_bound, "gradient_bound"), as_int(horizon, "horizon", 1)
        cost = size * sqrt(rounds + 2 * as_int(total_delay, "total_delay"))
        return cls(domain, cost / as_domain(domain, "domain").diameter, hint=hint)

    @property
    def span(self) -> float:
        """The most that ψ can be on the domain, or a bound on it."""
        return float(diameter_in(self.norm, self.domain)) ** 2 / 2.0

    def restart(self, state: OptimisticState, t: int, magnitude: float) -> None:
        show_point(self.start, state.point)
        clear_sums(state)

    def absorb(
        self, state: OptimisticState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
    ) -> None:
        hear(self.hint, state, weight, feedback)

    def advance(self, state: OptimisticState, t: int, pending: float) -> None:
        foresee(self.hint, state, pending)
        lead(self.norm, self, state)

    def feedback_size(self, feedback: Array) -> float:
        return dual_size(self.norm, feedback)


@verb_with_default
def lead(norm: Norm, learner: ODFTRL, state: OptimisticState) -> None:
    """Move to the minimiser of ⟨scratch, x⟩ + λψ(x), ψ a square unless the norm is entropy."""
    for i in range(state.point.size):
        state.point[i] = learner.start[i] - state.scratch[i] / learner.strength
    project(learner.domain, state.point, state.scratch)


@lead.on(Entropy)
def _softest(norm: Entropy, learner: ODFTRL, state: OptimisticState) -> None:
    softmin(state.scratch, learner.strength, state.point)
