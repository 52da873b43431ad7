"""Entropic FTRL (Hedge) on delayed and weighted gradients, and what learners on the simplex share."""

from __future__ import annotations

from math import exp, log, sqrt
from typing import Any, Self

from tarry.checks import as_int, as_positive
from tarry.domains import Domain, Simplex
from tarry.kernel import step
from tarry.learners.base import Directions, Learner
from tarry.learners.dwftrl import LeaderState, Leading, leader_of
from tarry.learners.norms import Norm, dual_size
from tarry.learners.states import Array, add_weighted
from tarry.rates.base import as_rate, next_rate


class OnSimplex(Learner):
    """Mark learners whose ``domain`` is the simplex of their actions."""


def simplex_of(dimension: int) -> Simplex:
    """Return the probability simplex over this many actions, two at least."""
    if isinstance(dimension, Simplex):
        raise TypeError(f"dimension is the number of actions, got {dimension!r}: give {dimension.dimension}")
    return Simplex(as_int(dimension, "dimension, the number of actions,", 2))


@step
def softmin(total: Array, temperature: float, out: Array) -> None:
    """Write weights proportional to exp(−total/temperature); at temperature 0 equal ones on the smallest entries."""
    # Measured from the smallest entry no exponential overflows, and the largest is 1.
    low = total[0]
    for i in range(1, total.size):
        low = min(low, total[i])
    mass = 0.0
    for i in range(total.size):
        if total[i] == low:
            out[i] = 1.0
        elif temperature > 0.0:
            out[i] = exp((low - total[i]) / temperature)
        else:
            out[i] = 0.0
        mass += out[i]
    for i in range(total.size):
        out[i] /= mass


@step
def largest_entry(v: Array) -> float:
    """Return ‖v‖_∞."""
    size = 0.0
    for i in range(v.size):
        size = max(size, abs(v[i]))
    return size


class Entropy(Norm):
    """Regularise by Σ x_i ln x_i, which is 1-strongly convex in ‖·‖₁ (Pinsker) and spans ln K on the simplex.

    Certificates read it as a norm: gradients are measured in ‖·‖_∞, and D²/2 is ln K.
    """

    is_quadratic = False  # strong convexity of the losses does not pay for it

    def diameter_in(self, domain: Domain) -> float:
        return sqrt(2.0 * log(domain.dimension))

    def dual_size(self, gradient: Array) -> float:
        return largest_entry(gradient)


class Exponential(Leading, OnSimplex):
    """Move a leader over actions by exponential weights of its total."""

    def advance(self, state: Any, t: int, pending: float) -> None:
        leader = leader_of(state)
        rate = next_rate(self.rate, leader.memory, t - leader.before[0], pending)
        if rate == leader.rate[0] and leader.changed[0] == 0:
            return  # same rate, no news: the leader stands
        # No anchor: entropy regularises towards the uniform point, wherever the leader stood.
        leader.rate[0] = rate
        softmin(leader.total, 1.0 / rate, leader.point)
        leader.changed[0] = 0
        leader.moved[0] = 1


class EntropicFTRL(Exponential, init=False):
    """Exponential weights over ``dimension`` experts, from delayed and weighted gradients.

        x_{t+1} = argmin_x ⟨x, L⟩ + (1/η_t) Σ_i x_i ln x_i ∝ exp(−η_t L_i),   L = Σ_{s∈O_{t+1}} w_s g_s

    over O_{t+1}, what has arrived before round t + 1; the ``rate`` η_t may not increase. With ‖g_t‖_∞ ≤ 1 and B_t the
    rounds out when t begins, the weighted regret is on every path at most, as records and sessions certify,

        ln K/η_T + Σ_t η_{t−1} (w_t²/2 + w_t Σ_{s∈B_t} w_s).

    ``Anytime(√(2 ln K), 1.0)`` learns the best rate. The paper's theorem for DW-FTRL with entropy in place of the
    square; without delays, Freund and Schapire, A Decision-Theoretic Generalization of On-Line Learning (1997).

    >>> round(EntropicFTRL.tuned(2, horizon=100, total_delay=50).rate.value, 4)
    0.0833
    """

    domain: Simplex
    rate: Any
    start: Array
    norm: Entropy

    def __new__(cls, dimension: int, rate: Any) -> Self:
        domain = simplex_of(dimension)
        return cls.make(domain, as_rate(rate, "rate"), domain.center, Entropy())

    @classmethod
    def tuned(cls, dimension: int, *, horizon: int, total_delay: int, gradient_bound: float = 1.0) -> Self:
        """Set η = √(2 ln K/(T + 2·total delay))/G, ‖g‖_∞ ≤ G: with unit weights regret at most G√(2 ln K·(T + 2·…))."""
        return cls(dimension, 1.0 / entropic_strength(dimension, horizon, total_delay, gradient_bound))

    def absorb(
        self, state: LeaderState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
    ) -> None:
        add_weighted(state.total, weight, feedback)
        state.changed[0] = 1

    def feedback_size(self, feedback: Array) -> float:
        return dual_size(self.norm, feedback)


def entropic_strength(dimension: int, horizon: int, total_delay: int, gradient_bound: float) -> float:
    """Return λ = G√((T + 2·total delay)/(2 ln K)), at which λ ln K + G²(T/2 + total delay)/λ is least."""
    rounds = as_int(horizon, "horizon", 1) + 2 * as_int(total_delay, "total_delay")
    spanned = 2.0 * log(simplex_of(dimension).dimension)
    return as_positive(gradient_bound, "gradient_bound") * sqrt(rounds / spanned)
