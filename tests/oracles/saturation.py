"""How likely a full set is: exact tails to hold against the paper's saturation lemma.

Without refusals round s would be in S_t, for s ∈ B_t, exactly if d'_s ≥ t−s; a refusal only takes rounds away.
So |S_t| is at most the number of s ∈ B_t whose proxy delay lasts, a sum of independent coins, and every
tail below is an upper bound on P(|S_t| = C).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_int
from tarry.theory.arguments import Array, probability
from tarry.theory.calibrate import toss


def chernoff_tail(mean: ArrayLike, capacity: int) -> Array:
    """P(X ≥ C) ≤ e^(C−μ)(μ/C)^C for μ < C, else 1: the lemma's Chernoff bound, below e^(−C) at μ = C/8.

    >>> round(float(chernoff_tail(1.0, 8)), 8)
    6.536e-05
    """
    c = as_int(capacity, "capacity", 1)
    mu = np.minimum(np.asarray(mean, dtype=np.float64), c)
    with np.errstate(divide="ignore"):
        return np.asarray(np.exp(c - mu + c * np.log(mu / c)))


def poisson_binomial_tail(chances: ArrayLike, capacity: int) -> float:
    """P(X ≥ C) for a sum X of independent coins, exact: a table of P(X = j), j < C, and P(X ≥ C). O(nC).

    >>> poisson_binomial_tail([0.5, 0.5, 1.0], capacity=3)
    0.25
    """
    table = np.zeros((1, as_int(capacity, "capacity", 1) + 1))
    table[0, 0] = 1.0
    for chance in np.asarray(chances, dtype=np.float64):
        toss(table, np.array([0]), np.array([chance]))
    return float(table[0, -1])


def poisson_tail(mean: float, capacity: int) -> float:
    """P(Poisson(μ) ≥ C), above every sum of independent coins of mean μ ≤ C − 1.

    >>> round(poisson_tail(2.0, capacity=1), 6)
    0.864665
    """
    from scipy.special import gammainc

    return float(gammainc(as_int(capacity, "capacity", 1), mean))


def binomial_tail(count: int, chance: float, capacity: int) -> float:
    """P(Bin(n, p) ≥ C): the tail for n = σ_t and one coin p.

    >>> round(binomial_tail(3, 0.5, capacity=3), 12)
    0.125
    """
    from scipy.special import betainc

    n, c = as_int(count, "count"), as_int(capacity, "capacity", 1)
    return float(betainc(c, n - c + 1, chance)) if n >= c else 0.0


def poisson_mean(capacity: int, target: float) -> float:
    """The largest μ with P(Poisson(μ) ≥ C) ≤ target: the mean number of slots one may plan for; the paper's is C/8.

    >>> round(poisson_mean(50, target=1e-4), 1)
    27.9
    """
    from scipy.special import gammaincinv

    return float(gammaincinv(as_int(capacity, "capacity", 1), probability(target, "target")))
