"""Schedulers as bold as a given probability of a full set allows. This project's own.

The paper's constants keep the mean number of tracked rounds below C/8. These functions take the exact tails of
``saturation`` instead: ``target`` bounds P(|S_t| = C) in every round, e^(−C) in the paper, 1/T in practice.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_int
from tarry.theory.arguments import probability
from tarry.theory.morris import morris_tail
from tarry.theory.saturation import binomial_tail, pareto_survival, poisson_mean, saturation_tails

PRECISION = 1e-6
HARMONIC_SUM = 1.2265  # the paper's harmonic fact, 2, at its largest (t = 5)


def calibrated_probability(*, max_backlog: int, capacity: int, target: float) -> float:
    """The largest p with P(Bin(σ_max, p) ≥ C) ≤ target; 1 where σ_max < C, when the set cannot fill.

    >>> [round(calibrated_probability(max_backlog=n, capacity=16, target=1e-4), 4) for n in (15, 16, 200)]
    [1.0, 0.5623, 0.0265]
    """
    from scipy.special import betaincinv

    n, c = as_int(max_backlog, "max_backlog"), as_int(capacity, "capacity", 1)
    if n < c:
        return 1.0
    p = float(betaincinv(c, n - c + 1, probability(target, "target")))
    slack = 1e-15
    while binomial_tail(n, p, c) > target:  # the inverse is right to rounding only
        p, slack = p * (1.0 - slack), min(2.0 * slack, 0.5)
    return p


def calibrated_safety(
    *, capacity: int, target: float, delays: ArrayLike | None = None, horizon: int | None = None
) -> float:
    """The smallest safety for which Pareto, min{1, C/(safety·H_s·(age+1))}, keeps every tail at or below target.

    On the given ``delays``, or, given ``horizon`` alone, on the worst of all sequences: every round pending to the
    end, d_t = T − t, whose backlog contains that of every other. O(C·d_tot) a trial; right to a millionth, from
    above; 0 if the backlog never reaches C. The paper takes 16; :func:`universal_safety` needs neither.

    >>> round(calibrated_safety(capacity=8, target=1e-2, delays=[30] * 90), 2)
    2.17
    """
    if (delays is None) == (horizon is None):
        raise ValueError("give delays or horizon, and not both: the horizon alone stands for the worst delays")
    waits = np.arange(as_int(horizon, "horizon", 1))[::-1] if horizon is not None else np.asarray(delays)
    return _smallest(
        lambda safety: float(np.max(saturation_tails(waits, pareto_survival(capacity, safety=safety), capacity))),
        probability(target, "target"),
    )


def universal_safety(*, capacity: int, target: float) -> float:
    """A safety that serves Pareto at every horizon and for all delays: 1.2265·C/μ, μ the ``poisson_mean``.

    Σ_{s≤t} 1/(H_s(t−s+1)) ≤ 1.2265, so the mean is at most μ, and below C − 1 a sum of coins has a lighter tail
    than Poisson's (Hoeffding 1956). At C = 1, where it has not, μ = target.

    >>> round(universal_safety(capacity=16, target=1e-4), 2)
    3.8
    """
    c = as_int(capacity, "capacity", 1)
    mean = min(poisson_mean(c, target), c - 1.0) if c > 1 else probability(target, "target")
    return HARMONIC_SUM * c / mean


def morris_epsilon(*, max_backlog: int, capacity: int, target: float) -> float:
    """The smallest ε with ``morris_tail`` ≤ target at this backlog; 0 where σ_max < C, when admitting all is safe.

    >>> round(morris_epsilon(max_backlog=200, capacity=16, target=0.3), 2)
    0.35
    """
    n, c = as_int(max_backlog, "max_backlog"), as_int(capacity, "capacity", 1)
    if n < c:
        return 0.0
    if c == 1:
        raise ValueError("Morris admits whenever the set is empty, so one slot is always full: use capacity 2 or more")
    return _smallest(lambda e: morris_tail(epsilon=e, backlog=n, capacity=c), probability(target, "target"))


def _smallest(tail: Callable[[float], float], target: float) -> float:
    """The smallest x with tail(x) ≤ target for a non-increasing tail, from above, by bisection in ln x."""
    high = 1.0
    while tail(high) > target:
        high *= 2.0
    low = high
    while tail(low) <= target:
        high, low = low, low / 2.0
        if low < 1e-9:
            return 0.0
    while high / low > 1.0 + PRECISION:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if tail(middle) <= target else (middle, high)
    return high
