"""How likely a full set is: the paper's condition, and schedulers as bold as a given probability allows.

The paper keeps the mean number of tracked rounds below C/8: ``saturation_condition``. The other functions are this
project's own, and take exact tails instead: ``target`` bounds P(|S_t| = C) in every round, e^(−C) in the paper, 1/T in
practice. ``survival(s, age)`` is P(d'_s ≥ age), asked with arrays of rounds (from 1) and of ages.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarry.checks import as_int, as_positive
from tarry.errors import ArgumentError
from tarry.theory.arguments import Array, Counts, cut, probability

Survival = Callable[[Array, Array], ArrayLike]
PRECISION = 1e-6  # relative, of what is found by bisection: from above, so the target is kept
HARMONIC_SUM = 1.2265  # the paper's harmonic fact, 2, at its largest (t = 5)
PATIENCE = 8  # orders without improvement after which the tail's search ends: the bound is all but convex in the order
LARGEST_ORDER = 2048  # far beyond the best order for any capacity in use, and still a small table


def calibrated_probability(*, max_backlog: int, capacity: int, target: float) -> float:
    """The largest p with P(Bin(σ_max, p) ≥ C) ≤ target; 1 where σ_max < C, when the set cannot fill.

    >>> [round(calibrated_probability(max_backlog=n, capacity=16, target=1e-4), 4) for n in (15, 16, 200)]
    [1.0, 0.5623, 0.0265]
    """
    from scipy.special import betainc, betaincinv

    n, c = as_int(max_backlog, "max_backlog"), as_int(capacity, "capacity", 1)
    if n < c:
        return 1.0
    p = float(betaincinv(c, n - c + 1, probability(target, "target")))
    slack = 1e-15
    while float(betainc(c, n - c + 1, p)) > target:  # P(Bin(n, p) ≥ C): the inverse is right to rounding only
        p, slack = p * (1.0 - slack), min(2.0 * slack, 0.5)
    return p


def calibrated_safety(
    *, capacity: int, target: float, delays: ArrayLike | None = None, horizon: int | None = None
) -> float:
    """Return the smallest safety for which Pareto, min{1, C/(safety·H_s·(age+1))}, keeps every tail below the target.

    On the given ``delays``, or, given ``horizon``, on the worst of all sequences: every round pending to the end, d_t =
    T − t, whose backlog contains that of every other. O(C·d_tot) a trial; right to a millionth, from above; 0 if the
    backlog never reaches C. Without either, a safety for every horizon and all delays: 1.2265·C/μ, μ the largest
    mean with P(Poisson(μ) ≥ C) ≤ target, since Σ_{s≤t} 1/(H_s(t−s+1)) ≤ 1.2265. The paper takes 16, for μ = C/8.

    >>> round(calibrated_safety(capacity=8, target=1e-2, delays=[30] * 90), 2)
    2.17
    >>> round(calibrated_safety(capacity=16, target=1e-4), 2)
    3.8
    """
    if delays is not None and horizon is not None:
        raise ValueError("give delays or horizon, and not both: the horizon alone stands for the worst delays")
    if delays is None and horizon is None:
        from scipy.special import gammaincinv

        c, chance = as_int(capacity, "capacity", 1), probability(target, "target")
        # Below C − 1 a sum of coins has a lighter tail than Poisson's (Hoeffding 1956); at C = 1 it has not.
        mean = min(float(gammaincinv(c, chance)), c - 1.0) if c > 1 else chance
        return HARMONIC_SUM * c / mean
    waits = np.arange(as_int(horizon, "horizon", 1))[::-1] if horizon is not None else np.asarray(delays)
    return _smallest(
        lambda safety: float(np.max(saturation_tails(waits, pareto_survival(capacity, safety=safety), capacity))),
        probability(target, "target"),
    )


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


def morris_tail(*, epsilon: float, backlog: int, capacity: int) -> float:
    """P(|S_t| = C) ≤ min_k (1+ε)^(−kC) Σ_{j≤k} binom(σ_t, j) Π_{i=k−j+1}^{k}((1+ε)^i − 1); 0 where σ_t < C.

    Summed in logarithms; k stops growing once it no longer helps, and every k is a bound. k = 1 is Markov's.

    >>> [round(morris_tail(epsilon=e, backlog=200, capacity=16), 4) for e in (0.35, 0.5)]
    [0.3047, 0.0003]
    """
    from scipy.special import gammaln, logsumexp

    n, c = as_int(backlog, "backlog"), as_int(capacity, "capacity", 1)
    x = math.log1p(as_positive(epsilon, "epsilon"))
    if n < c:
        return 0.0
    orders = np.arange(1, LARGEST_ORDER + 1)
    steps = np.concatenate(([0.0], np.cumsum(orders * x + np.log(-np.expm1(-orders * x)))))  # Σ_{i≤k} ln((1+ε)^i − 1)
    j = np.arange(min(LARGEST_ORDER, n) + 1)
    choices = gammaln(n + 1.0) - gammaln(j + 1.0) - gammaln(n - j + 1.0)
    best, idle = 0.0, 0
    for k in range(1, LARGEST_ORDER + 1):
        most = min(k, n)
        bound = float(logsumexp(choices[: most + 1] + steps[k] - steps[k - j[: most + 1]])) - k * c * x
        idle = 0 if bound < best else idle + 1
        best = min(best, bound)
        if idle == PATIENCE:
            break
    return math.exp(best)


def pareto_survival(capacity: int, *, safety: float = 16.0) -> Survival:
    """P(d'_s ≥ age) = min{1, C/(safety·H_s·(age+1))}, H_s the round's own (the corollary "Pareto scheduler").

    >>> pareto_survival(16)(np.array([2.0]), np.array([1.0]))
    array([0.33333333])
    """
    from scipy.special import digamma

    scale = as_int(capacity, "capacity", 1) / as_positive(safety, "safety")
    return lambda s, age: np.minimum(1.0, scale / ((digamma(s + 1.0) + np.euler_gamma) * (age + 1.0)))


def bernoulli_survival(chance: float) -> Survival:
    """P(d'_s ≥ age) = p at every age (the corollary "Bernoulli scheduler").

    >>> bernoulli_survival(0.25)(np.array([2.0, 3.0]), np.array([1.0, 0.0]))
    array([0.25, 0.25])
    """
    if not 0 < as_positive(chance, "chance") <= 1:
        raise ArgumentError("chance", "must be a probability above 0, at most 1", chance)
    return lambda s, age: np.full(np.broadcast(s, age).shape, chance)


def saturation_tails(delays: ArrayLike, survival: Survival, capacity: int) -> Array:
    """P(at least C rounds of B_t last to t) ≥ P(|S_t| = C) for t = 1..T, exact but for refusals. O(C·d_tot).

    Equal to it where no earlier round can have been refused.

    >>> saturation_tails([3, 2, 1, 0], lambda s, age: np.full(s.shape, 0.5), capacity=2)
    array([0.  , 0.  , 0.25, 0.5 ])
    """
    d = cut(delays)
    table = np.zeros((d.size, as_int(capacity, "capacity", 1) + 1))  # P(so many of B_t last), C or more in the last
    table[:, 0] = 1.0
    for rows, chances in _lasting(d, survival, youngest=1):
        toss(table, rows, chances)
    return table[:, -1].copy()


def saturation_sums(delays: ArrayLike, survival: Survival) -> Array:
    """Σ_{s ∈ B_t ∪ {t}} P(d'_s ≥ t−s) for t = 1..T, the left side of the paper's Lemma 4.3. O(T + d_tot).

    >>> saturation_sums([2, 1, 0], bernoulli_survival(0.25))
    array([0.25, 0.5 , 0.75])
    """
    d = cut(delays)
    sums = np.zeros(d.size)
    for rows, chances in _lasting(d, survival, youngest=0):
        sums[rows] += chances
    return sums


def saturation_condition(
    delays: ArrayLike, survival: Survival, capacity: int, *, safety: float = 8.0
) -> NDArray[np.bool_]:
    """Whether ``saturation_sums`` ≤ C/8, per round: where all are, P(|S_t| = C) ≤ e^(−C) (the paper's Lemma 4.3).

    6.306 for ``safety`` would do: 1 − 1/x − ln x = −1 at x = 6.3053….

    >>> saturation_condition([2, 1, 0], bernoulli_survival(0.5), capacity=8)
    array([ True,  True, False])
    """
    limit = as_int(capacity, "capacity", 1) / as_positive(safety, "safety")
    return saturation_sums(delays, survival) <= limit * (1.0 + 1e-12)


def _lasting(delays: Counts, survival: Survival, *, youngest: int) -> Iterator[tuple[Counts, Array]]:
    """For each age, the rounds t that begin then (from 0), and P(d'_s ≥ age) of the s that is pending in each."""
    s = np.arange(delays.size)
    for age in range(youngest, int(delays.max()) + 1):
        s = s[delays[s] >= age]
        yield s + age, np.asarray(survival((s + 1).astype(np.float64), np.full(s.size, float(age))), dtype=np.float64)


def toss(table: Array, rows: Counts, chances: Array) -> None:
    """Add one more coin to each of these rows of P(so many heads); the last column absorbs."""
    old, q = table[rows], chances[:, np.newaxis]
    new = old * (1.0 - q)
    new[:, 1:] += old[:, :-1] * q
    new[:, -1] = old[:, -1] + old[:, -2] * chances
    table[rows] = new


def _smallest(tail: Callable[[float], float], target: float) -> float:
    """The smallest x with tail(x) ≤ target for a non-increasing tail, from above, by bisection in ln x."""
    high = 1.0
    while tail(high) > target:
        high *= 2.0
    low = high
    while tail(low) <= target:
        high, low = low, low / 2.0
        if low < 1e-9:
            return 0.0  # no value is too small: the backlog never reaches C
    while high / low > 1.0 + PRECISION:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if tail(middle) <= target else (middle, high)
    return high
