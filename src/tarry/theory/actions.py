"""Rates and bounds for finitely many actions: experts, who are all seen, and arms, of which the played one is.

E[w_t²] enters through a scheduler's *cost* Σ(½E[w_t²] + Σ_{s∈B_t} E[w_t w_s]) (``pareto_cost``, ``batching_cost``, …)
for experts, and through the *second moments* Σ E[w_t²] for arms. Losses lie in [0, 1].
"""

from __future__ import annotations

import math

import numpy as np

from tarry.checks import as_int, as_positive
from tarry.theory.keeping import batch_length


def experts_rate(*, actions: int, cost: float) -> float:
    """η = √(ln K/cost), least for ln K/η + η·cost.

    >>> round(experts_rate(actions=4, cost=100.0), 4)
    0.1177
    """
    return math.sqrt(math.log(as_int(actions, "actions", 2)) / as_positive(cost, "cost"))


def experts_bound(*, actions: int, cost: float) -> float:
    """2√(ln K·cost) on the expected regret of exponential weights at :func:`experts_rate`, where no round is refused.

    >>> round(experts_bound(actions=4, cost=100.0), 2)
    23.55
    """
    return 2.0 * math.sqrt(math.log(as_int(actions, "actions", 2)) * as_positive(cost, "cost"))


def _arms_cost(actions: int, second_moments: float, total_delay: float) -> float:
    """K Σ E[w_t²] + d_tot."""
    return as_int(actions, "actions", 2) * as_positive(second_moments, "second_moments") + float(total_delay)


def arms_rate(*, actions: int, second_moments: float, total_delay: float) -> float:
    """η = √(ln K/(K Σ E[w_t²] + d_tot)), least for the bound of Exp3.

    >>> round(arms_rate(actions=3, second_moments=200.0, total_delay=500), 4)
    0.0316
    """
    return experts_rate(actions=actions, cost=_arms_cost(actions, second_moments, total_delay))


def arms_bound(*, actions: int, second_moments: float, total_delay: float) -> float:
    """2√(ln K (K Σ E[w_t²] + d_tot)) on the expected regret of Exp3 at :func:`arms_rate`, where no round is refused.

    >>> round(arms_bound(actions=3, second_moments=200.0, total_delay=500), 1)
    69.5
    """
    return experts_bound(actions=actions, cost=_arms_cost(actions, second_moments, total_delay))


def pareto_second_moments(*, horizon: int, total_delay: float, capacity: int) -> float:
    """Σ E[w_t²] ≤ max{1, 16H_T/C} (T + d_tot) for the paper's Pareto scheduler, and its coin.

    >>> pareto_second_moments(horizon=1, total_delay=0, capacity=8)
    2.0
    """
    top = 16.0 * float(np.sum(1.0 / np.arange(1, as_int(horizon, "horizon", 1) + 1)))
    return max(1.0, top / as_int(capacity, "capacity", 1)) * (horizon + float(total_delay))


def batching_second_moments(*, horizon: int, max_delay: int, capacity: int) -> float:
    """Σ E[w_t²] = bT for batches of b.

    >>> batching_second_moments(horizon=100, max_delay=20, capacity=3)
    1000.0
    """
    return float(batch_length(max_delay=max_delay, capacity=capacity) * as_int(horizon, "horizon", 1))
