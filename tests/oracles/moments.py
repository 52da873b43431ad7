"""Moments of weights, epochs and expected regret by their definitions: what schedulers guarantee, round by round.

N_t is the largest backlog in the life of round t.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_int, as_positive
from tarry.theory.arguments import Array, Counts, cut, per_round
from tarry.theory.weights import kappa
from tests.oracles.pathwise import previous


def backlogs(delays: ArrayLike) -> Counts:
    """σ_t = |{s < t : s + d_s ≥ t}| for t = 1..T; Σσ_t = d_tot (the paper's lemma "Backlog properties").

    >>> backlogs([2, 2, 0, 1, 0])
    array([0, 1, 2, 1, 1])
    """
    d = cut(delays)
    steps = np.zeros(d.size + 2, dtype=np.int64)
    s = np.arange(d.size)
    np.add.at(steps, s + 1, 1)
    np.add.at(steps, s + d + 1, -1)
    return np.cumsum(steps)[: d.size]


def life_peaks(delays: ArrayLike) -> Counts:
    """N_t = max{σ_v : t ≤ v ≤ t + d_t}, the largest backlog in a round's life. O(T log T).

    Σ N_t ≤ 2 d_tot. This project's notation for its own schedulers.

    >>> life_peaks([2, 2, 0, 1, 0])
    array([2, 2, 2, 1, 1])
    """
    d = cut(delays)
    tables = [backlogs(d)]
    while 2 ** len(tables) <= int(d.max()) + 1:
        half = 2 ** (len(tables) - 1)
        below = tables[-1]
        tables.append(np.maximum(below[:-half], below[half:]))
    # Two overlapping windows of a power of two cover a life of d + 1 rounds.
    level = np.frexp(d + 1.0)[1] - 1
    peaks = np.empty(d.size, dtype=np.int64)
    for depth, table in enumerate(tables):
        t = np.flatnonzero(level == depth)
        peaks[t] = np.maximum(table[t], table[t + d[t] + 1 - 2**depth])
    return peaks


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


def moment_reference(delays: ArrayLike, capacity: int) -> float:
    """(mean backlog + 1)/C, a yardstick for E[w²]; not a lower limit when delays differ.

    >>> moment_reference([1, 1, 1, 0], capacity=1)
    1.75
    """
    return float((np.mean(backlogs(delays)) + 1.0) / as_int(capacity, "capacity", 1))


def morris_moments(backlogs: ArrayLike, *, epsilon: float) -> Array:
    """E[w_t²] ≤ 1 + εσ_t.

    >>> morris_moments([0, 4], epsilon=0.5)
    array([1., 3.])
    """
    return 1.0 + as_positive(epsilon, "epsilon") * np.asarray(backlogs, dtype=np.float64)


def morris_markov_tail(*, epsilon: float, backlog: int, capacity: int) -> float:
    """P(|S_t| = C) ≤ (1 + εσ_t)(1+ε)^(−C), at most 1.

    >>> round(morris_markov_tail(epsilon=0.5, backlog=200, capacity=16), 2)
    0.15
    """
    rate = math.log1p(as_positive(epsilon, "epsilon"))
    return min(1.0, (1.0 + epsilon * backlog) * math.exp(-rate * as_int(capacity, "capacity", 1)))


def expected_bound(
    *, diameter: float, gradient_bound: float, rates: ArrayLike, moments: ArrayLike, backlogs: ArrayLike
) -> float:
    """D²/(2η_T) + G² Σ η_{t−1}(½E[w_t²] + σ_t), convex losses, any rates fixed in advance (Theorem 4).

    >>> expected_bound(diameter=2.0, gradient_bound=1.0, rates=[0.5, 0.5], moments=[1.0, 2.0], backlogs=[0, 1])
    5.25
    """
    eta, square, sigma = per_round(rates=rates, moments=moments, backlogs=backlogs)
    noise = float(np.sum(previous(eta) * (0.5 * square + sigma)))
    return float(diameter**2 / (2.0 * eta[-1])) + gradient_bound**2 * noise


def expected_bandit_bound(
    *,
    diameter: float,
    gradient_bound: float,
    spread: float,
    rates: ArrayLike,
    ratios: ArrayLike,
    moments: ArrayLike,
    crosses: ArrayLike,
    backlogs: ArrayLike,
) -> float:
    """D²/(2η_T) + G² Σ η_{t−1}(½a_t²E[w_t²] + a_t E[w_t√(Σ_{B_t} w_s²)] + σ_t) + 3GD Σ δ_t/r (Theorem 5).

    ``ratios`` are δ_t/r, a_t = νk/(δ_t/r); ``crosses`` the middle means, at most min{σ_t, √(σ_t ρ)}.

    >>> one = dict(rates=[0.5], ratios=[0.5], moments=[2.0], crosses=[0.0], backlogs=[0])
    >>> expected_bandit_bound(diameter=2.0, gradient_bound=1.0, spread=1.0, **one)
    9.0
    """
    eta, ratio, square, cross, sigma = per_round(
        rates=rates, ratios=ratios, moments=moments, crosses=crosses, backlogs=backlogs
    )
    a = spread / ratio
    noise = float(np.sum(previous(eta) * (0.5 * a**2 * square + a * cross + sigma)))
    start = float(diameter**2 / (2.0 * eta[-1])) + gradient_bound**2 * noise
    return start + 3.0 * gradient_bound * diameter * float(ratio.sum())


def backlog_labels(delays: ArrayLike) -> Counts:
    """The smallest j with max_{s≤t} σ_s ≤ 2^j − 1: the paper's doubling over σ_max, global backlog.

    >>> backlog_labels([3, 2, 1, 0])
    array([0, 1, 2, 2])
    """
    return _ceil_log(np.maximum.accumulate(backlogs(delays)) + 1, 2)


def total_labels(delays: ArrayLike) -> Counts:
    """The smallest m with Σ_{s≤t}(1 + σ_s) ≤ 4^m: doubling over the one number T + d_tot (this project).

    >>> total_labels([3, 2, 1, 0])
    array([0, 1, 2, 2])
    """
    return _ceil_log(np.cumsum(1 + backlogs(delays)), 4)


def pair_labels(delays: ArrayLike) -> Counts:
    """(h, w) per round, the smallest with t ≤ 2^h and Σ_{s≤t} σ_s ≤ 2^w: the doubling the paper cites.

    >>> pair_labels([3, 2, 1, 0]).tolist()
    [[0, 0], [1, 0], [2, 2], [2, 3]]
    """
    sigma = backlogs(delays)
    spent = np.maximum(np.cumsum(sigma), 1)
    return np.stack((_ceil_log(np.arange(1, sigma.size + 1), 2), _ceil_log(spent, 2)), axis=1)


def _ceil_log(values: Counts, base: int) -> Counts:
    """The smallest n ≥ 0 with values ≤ base^n, in whole numbers."""
    powers = base ** np.arange(0, 63 // (base.bit_length() - 1), dtype=np.int64)
    return np.searchsorted(powers, values, side="left").astype(np.int64)
