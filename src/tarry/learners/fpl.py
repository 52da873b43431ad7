"""FPL with delays: follow the leader of the costs that have arrived, perturbed once."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import Any, NamedTuple, Self

from tarry.checks import Positive, as_int, as_positive
from tarry.domains import Ball, Box, Domain, Ellipsoid, Product, Shift, Simplex
from tarry.kernel import verb
from tarry.kernel.keyed import uniform_at
from tarry.learners.base import (
    GRADIENT,
    Directions,
    KeyedDirections,
    Learner,
    RecordedDirections,
    absorb,
    predict,
    restart,
)
from tarry.learners.states import AnyDomain, Array, Vector, add_weighted
from tarry.rates.base import Facts


class FPLState(NamedTuple):
    """``total`` = Σ w_s c_s, ``scratch`` = with the noise."""

    total: Vector
    scratch: Vector


class FPL(Learner):
    """Follow the perturbed leader, for **linear** losses fixed in advance; ``spread`` is 1/ε.

        x_t = argmin_x ⟨x, p + Σ_{s∈O_t} w_s c_s⟩,   p uniform on [0, 1/ε]^k, drawn once

    f_t(x) = ⟨c_t, x⟩, and O_t is what has arrived before round t.

    Domains: those whose least points have a formula, all but Custom; no projections, no steps. With unit weights
    and every round tracked E R_T ≤ εRA(T + total delay) + W/ε, where |c_t|₁ ≤ A, ⟨c_t, x − y⟩ ≤ R and
    |x − y|₁ ≤ W on the domain: a round misses σ_t + 1 costs, and each moves the perturbed sum by at most A. The order
    is the source's, these constants follow from Kalai and Vempala's argument. The noise is the seed's, the same in
    every round and every epoch; recorded directions give their first row times 1/ε in its place.

    Quanrud, Khashabi, *Online Learning with Adversarial Delays*, NIPS 2015; Kalai, Vempala, *Efficient Algorithms for
    Online Decision Problems*, Journal of Computer and System Sciences 71, 2005.

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
        """Set 1/ε = √(RA(T + total delay)/W): E R_T ≤ 2√(WRA(T + total delay)).

        A is ``size``, R ``span`` and W ``width``.
        """
        rounds = as_int(horizon, "horizon", 1) + as_int(total_delay, "total_delay")
        moved = as_positive(size, "size") * as_positive(span, "span") * rounds
        return cls(domain, sqrt(moved / as_positive(width, "width")))

    def doubts(self, facts: Facts) -> Iterator[str]:
        """Yield a warning about losses that are known to bend."""
        if facts.is_curved:
            name = type(facts.losses).__name__
            with_ridge = " with a ridge" if name == "Linear" else ""  # what bends linear losses; known by name only
            yield (
                "FPL draws its noise once, which is proved for linear losses fixed in advance, and "
                f"{name} losses{with_ridge} are not linear: use DOGD or DWFTRL"
            )


@verb
def least(domain: Domain, cost: Array, out: Array) -> None:
    """Write a point of the domain where ⟨cost, x⟩ is least."""


def has_least(domain: Any) -> bool:
    """Return whether a domain, with all it is made of, answers ``least``."""
    if not any(isinstance(domain, known) for known in least.members):
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


@verb
def noise(source: Directions, i: int) -> float:
    """Return the i-th entry of the noise on (0, 1]."""


@noise.on(KeyedDirections)
def _hashed(source: KeyedDirections, i: int) -> float:
    return uniform_at(source.key, 0, i)  # rounds count from 1, so no direction shares this draw


@noise.on(RecordedDirections)
def _read(source: RecordedDirections, i: int) -> float:
    return source.values[0, i]


@restart.on(FPL)
def _restart(learner: FPL, state: FPLState, t: int, magnitude: float) -> None:
    for i in range(state.total.size):
        state.total[i] = 0.0


@predict.on(FPL)
def _predict(learner: FPL, state: FPLState, directions: Directions, t: int, play: Array) -> None:
    for i in range(play.size):
        state.scratch[i] = state.total[i] + learner.spread * noise(directions, i)
    least(learner.domain, state.scratch, play)


@absorb.on(FPL)
def _absorb(
    learner: FPL, state: FPLState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
) -> None:
    add_weighted(state.total, weight, feedback)
