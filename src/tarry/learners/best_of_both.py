"""A rate for strongly convex losses that is no worse than the convex one (this project's form).

Qiu, Esposito, Zhang, *Exploiting Curvature in Online Convex Optimization with Delayed Feedback*, ICML 2025, reach
min{σ_max ln T, √d_tot} + ln T with another regulariser; this balances both by the lemma of Bartlett, Hazan, Rakhlin.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import Any, Self

from tarry.checks import as_positive
from tarry.kernel import Parameters
from tarry.learners.doubts import Facts, flatter
from tarry.learners.rules import SUM, first_rate, last_rate, next_rate


class BestOfBoth(Parameters, init=False):
    """1/η_t = λt + β_t, where β grows by (√(a² + 4c) − a)/2, a = λt + β_{t−1}, c = 2G²σ_{t+1}/D².

    With DWFTRL and unit weights, where every round is tracked, the regret is at most
    2 min{(G²/λ) Σ σ_t/(t−1), GD√(2·total delay)} + (G²/(2λ))(1 + H_{T−1}). ``diameter`` defaults to 2G/λ, which no
    domain of λ-strongly convex losses exceeds. Needs acknowledgements.

    >>> BestOfBoth(strong_convexity=1.0, gradient_bound=1.0, diameter=2.0).waiting
    0.5
    """

    strong_convexity: float
    waiting: float

    needs_acknowledgements = True

    def __new__(cls, strong_convexity: float, gradient_bound: float, diameter: float | None = None) -> Self:
        curvature = as_positive(strong_convexity, "strong_convexity")
        steep = as_positive(gradient_bound, "gradient_bound")
        across = 2 * steep / curvature if diameter is None else as_positive(diameter, "diameter")
        return cls.make(curvature, 2.0 * (steep / across) ** 2)

    def doubts(self, facts: Facts) -> Iterator[str]:
        """Losses that are flatter than λ."""
        return flatter(self, facts, "Anytime")


@first_rate.on(BestOfBoth)
def _first(rule: Any, memory: Any) -> Any:
    return 1.0 / rule.strong_convexity


@next_rate.on(BestOfBoth)
def _next(rule: Any, memory: Any, t: Any, pending: Any) -> Any:
    level = rule.strong_convexity * t + memory[SUM]
    growth = 0.5 * (sqrt(level * level + 4.0 * rule.waiting * pending) - level)
    memory[SUM] += growth
    return 1.0 / (level + growth)


@last_rate.on(BestOfBoth)
def _last(rule: Any, memory: Any, in_force: Any, t: Any) -> Any:
    return in_force
