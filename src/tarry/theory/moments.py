"""Second moments of the weights: what our schedulers guarantee, and what no scheduler can beat.

All of it is this project's own (Theorems 3 and 6). N_t is the largest backlog in the life of round t.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_int
from tarry.errors import ArgumentError
from tarry.theory.arguments import Array
from tarry.theory.backlog import backlogs, cut, life_peaks


def kappa(capacity: int) -> float:
    """κ_C = (C/(C−1))² / (C!)^(1/C), C ≥ 2; at most eC/(C−1)².

    >>> [round(3 * kappa(c), 2) for c in (2, 3, 4, 8, 16, 32)]
    [8.49, 3.71, 2.41, 1.04, 0.5, 0.25]
    """
    c = as_int(capacity, "capacity", 2)
    return float((c / (c - 1.0)) ** 2 / math.exp(math.lgamma(c + 1.0) / c))


def moment_factor(capacity: int, peaks: ArrayLike, delays: ArrayLike) -> Array:
    """Φ_C(N, d) = 1 if N < C, else min{e(d+1)^(1/C) N/(C−1), κ_C (1+(C−1)d/N)^(1/C) N}; infinite at C = 1.

    >>> [round(float(moment_factor(16, n, 200)), 2) for n in (15, 200)]
    [1.0, 39.79]
    """
    c = as_int(capacity, "capacity", 1)
    n, d = np.broadcast_arrays(np.asarray(peaks, dtype=np.float64), np.asarray(delays, dtype=np.float64))
    if c == 1:
        return np.where(n < 1, 1.0, np.inf)
    crowd = np.maximum(n, 1.0)
    short = math.e * (d + 1.0) ** (1.0 / c) * n / (c - 1.0)
    long = kappa(c) * (1.0 + (c - 1.0) * d / crowd) ** (1.0 / c) * n
    return np.where(n < c, 1.0, np.minimum(short, long))


def priority_moments(delays: ArrayLike, capacity: int) -> Array:
    """E[w_t²] ≤ Φ_C(N_t, d_t) for Priority, per round (Theorem 3 (i)); infinite at C = 1 once N_t ≥ 1.

    >>> priority_moments([3, 2, 1, 0], capacity=2).round(2)
    array([12.  , 10.95,  9.8 ,  8.15])
    """
    return moment_factor(capacity, life_peaks(delays), cut(delays))


def varopt_moments(delays: ArrayLike, capacity: int) -> Array:
    """E[w_t²] ≤ Φ_{C−1}(N_t, d_t) for VarOpt, and 1 where N_t < C (Theorem 6 (iv)); C ≥ 3, no bound below.

    >>> varopt_moments([3, 2, 1, 0], capacity=4)
    array([1., 1., 1., 1.])
    """
    peaks = life_peaks(delays)
    below = as_int(capacity, "capacity", 1) - 1
    bound = moment_factor(below, peaks, cut(delays)) if below else np.full(peaks.size, np.inf)
    return np.where(peaks < capacity, 1.0, bound)


def moment_total(*, horizon: int, total_delay: float, capacity: int) -> float:
    """Σ_t E[w_t²] ≤ T + 3κ_C d_tot for Priority, every C ≥ 2 (Theorem 3 (v)); VarOpt: pass C − 1.

    >>> round(moment_total(horizon=2000, total_delay=2000 * 200, capacity=16) / 2000, 1)
    101.4
    """
    return horizon + 3.0 * kappa(capacity) * total_delay


def moment_level(*, max_backlog: int, capacity: int, horizon: int) -> float:
    """ρ = max{1, e²σ_max/(C−2)} ≥ E[w_t²] and E[w_t w_s²], for C ≥ max(3, 1 + ln T) (Theorem 5).

    >>> round(moment_level(max_backlog=200, capacity=16, horizon=2000), 1)
    105.6
    """
    c = as_int(capacity, "capacity", 1)
    least = max(3.0, 1.0 + math.log(as_int(horizon, "horizon", 1)))
    if c < least:
        problem = f"must, for this level, be at least {least:.2f} (3 and 1 + ln T)"
        raise ArgumentError("capacity", problem, c, "take the largest of priority_moments instead")
    return max(1.0, math.e**2 * as_int(max_backlog, "max_backlog") / (c - 2.0))


def moment_limit(delays: ArrayLike, capacity: int) -> float:
    """(mean_t √(d_t+1))²/C: no scheduler with unbiased weights has a smaller mean E[w_t²].

    From Σ(d_t+1)P(w_t > 0) ≤ CT and E[w_t²] ≥ 1/P(w_t > 0). At most 1 when the capacity is ample.

    >>> moment_limit([3, 3, 3, 3, 3, 2, 1, 0], capacity=1) < 4
    True
    """
    return float(np.mean(np.sqrt(cut(delays) + 1.0)) ** 2 / as_int(capacity, "capacity", 1))


def moment_reference(delays: ArrayLike, capacity: int) -> float:
    """(mean backlog + 1)/C, a yardstick for E[w²]; not a lower limit when delays differ.

    >>> moment_reference([1, 1, 1, 0], capacity=1)
    1.75
    """
    return float((np.mean(backlogs(delays)) + 1.0) / as_int(capacity, "capacity", 1))
