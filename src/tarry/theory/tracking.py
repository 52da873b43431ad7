"""Expected regret with this project's own schedulers that make room, Priority and VarOpt: Theorems 3 to 5.

Stated for Priority at capacity C ≥ 2. For VarOpt pass C − 1 (C ≥ 3). There is no saturation term: every weight has
mean one. Losses and delays are fixed in advance. Every bound reads D²/(2η) + G²η·cost for a fixed rate, cost =
Σ_t (½E[w_t²] + σ_t) up to the theorem, and is least at η = D/(G√(2·cost)), where it is GD√(2·cost). ``spread`` is νk,
``level`` a ρ ≥ E[w_t²] (see :func:`moment_level`).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_int, as_positive
from tarry.errors import ArgumentError
from tarry.theory.arguments import cut, harmonic


def kappa(capacity: int) -> float:
    """κ_C = (C/(C−1))² / (C!)^(1/C), C ≥ 2; at most eC/(C−1)².

    >>> [round(3 * kappa(c), 2) for c in (2, 3, 4, 8, 16, 32)]
    [8.49, 3.71, 2.41, 1.04, 0.5, 0.25]
    """
    c = as_int(capacity, "capacity", 2)
    return float((c / (c - 1.0)) ** 2 / math.exp(math.lgamma(c + 1.0) / c))


def moment_level(*, max_backlog: int, capacity: int, horizon: int) -> float:
    """ρ = max{1, e²σ_max/(C−2)} ≥ E[w_t²] and E[w_t w_s²], for C ≥ max(3, 1 + ln T) (Theorem 5).

    >>> round(moment_level(max_backlog=200, capacity=16, horizon=2000), 1)
    105.6
    """
    c = as_int(capacity, "capacity", 1)
    least = max(3.0, 1.0 + math.log(as_int(horizon, "horizon", 1)))
    if c < least:
        problem = f"must, for this level, be at least {least:.2f} (3 and 1 + ln T)"
        raise ArgumentError("capacity", problem, c, "raise it, or give a level of your own")
    return max(1.0, math.e**2 * as_int(max_backlog, "max_backlog") / (c - 2.0))


def moment_limit(delays: ArrayLike, capacity: int) -> float:
    """(mean_t √(d_t+1))²/C: no scheduler with unbiased weights has a smaller mean E[w_t²].

    From Σ(d_t+1)P(w_t > 0) ≤ CT and E[w_t²] ≥ 1/P(w_t > 0). At most 1 when the capacity is ample.

    >>> moment_limit([3, 3, 3, 3, 3, 2, 1, 0], capacity=1) < 4
    True
    """
    return float(np.mean(np.sqrt(cut(delays) + 1.0)) ** 2 / as_int(capacity, "capacity", 1))


def optimised_rate(*, diameter: float, gradient_bound: float, cost: float) -> float:
    """η = D/(G√(2·cost)), least for D²/(2η) + G²η·cost.

    The paper's chain has cost = 17 (d_tot + T) and gives √34 = 5.83 where its own rate gives 18.

    >>> round(optimised_rate(diameter=2.0, gradient_bound=1.0, cost=17 * 100) * (34 * 100) ** 0.5, 12)
    2.0
    """
    return diameter / (as_positive(gradient_bound, "gradient_bound") * math.sqrt(2.0 * as_positive(cost, "cost")))


def tracking_cost(*, horizon: int, total_delay: float, capacity: int) -> float:
    """Σ(½E[w_t²] + σ_t) ≤ ½(T + (2 + 3κ_C) d_tot) for Priority, C ≥ 2; VarOpt: pass C − 1.

    Theorem 4 (a) of this project: η = D/(G√(T + (2 + 3κ_C) d_tot)).

    >>> round(tracking_cost(horizon=100, total_delay=1000, capacity=16), 1)
    1301.0
    """
    return 0.5 * (horizon + (2.0 + 3.0 * kappa(capacity)) * total_delay)


def bandit_smoothing(*, spread: float, level: float, horizon: int) -> float:
    """δ/r = min{1, √(νk√(2ρ/T)/3)}, Theorem 5 (a) of this project.

    >>> bandit_smoothing(spread=3.0, level=8.0, horizon=160_000)
    0.1
    """
    return min(1.0, math.sqrt(spread * math.sqrt(2.0 * level / as_int(horizon, "horizon", 1)) / 3.0))


def bandit_rate(
    *, diameter: float, gradient_bound: float, spread: float, level: float, horizon: int, total_delay: float
) -> float:
    """η = D/(G√(2a²Tρ + 3d_tot)), a = νk/(δ/r) with the δ of :func:`bandit_smoothing`: Theorem 5 (a).

    >>> game = dict(diameter=2.0, gradient_bound=1.0, spread=3.0, level=8.0, horizon=160_000)
    >>> round(bandit_rate(**game, total_delay=0) * (16 * 160_000 * 900) ** 0.5, 9)
    2.0
    """
    length = spread / bandit_smoothing(spread=spread, level=level, horizon=horizon)
    return diameter / (gradient_bound * math.sqrt(2.0 * length**2 * horizon * level + 3.0 * total_delay))


def bandit_free_smoothing(*, spread: float, horizon: int, total_delay: float, capacity: int) -> float:
    """δ/r = min{1, √(νk√B/(3T))}, B = T + (1 + 3κ_C) d_tot: the balance behind Theorem 5 (c), no ρ.

    >>> bandit_free_smoothing(spread=3.0, horizon=10_000, total_delay=0, capacity=16)
    0.1
    """
    budget = horizon + (1.0 + 3.0 * kappa(capacity)) * total_delay
    return min(1.0, math.sqrt(spread * math.sqrt(budget) / (3.0 * as_int(horizon, "horizon", 1))))


def bandit_free_rate(
    *, diameter: float, gradient_bound: float, spread: float, horizon: int, total_delay: float, capacity: int
) -> float:
    """η = D/(G√(a²B + 3d_tot)), a = νk/(δ/r) with the δ and B of :func:`bandit_free_smoothing`.

    >>> game = dict(diameter=2.0, gradient_bound=1.0, spread=3.0, horizon=10_000, capacity=16)
    >>> round(bandit_free_rate(**game, total_delay=0) * 3_000, 9)
    2.0
    """
    ratio = bandit_free_smoothing(spread=spread, horizon=horizon, total_delay=total_delay, capacity=capacity)
    budget = horizon + (1.0 + 3.0 * kappa(capacity)) * total_delay
    return diameter / (gradient_bound * math.sqrt((spread / ratio) ** 2 * budget + 3.0 * total_delay))


def tracking_convex_bound(
    *, diameter: float, gradient_bound: float, horizon: int, total_delay: float, capacity: int, tuned: bool = True
) -> float:
    """GD√(T + (2+3κ_C)d_tot) at its own rate, or 1.5(1+κ_C)GD√(T + d_tot) at the paper's: Theorem 4 (a).

    Tuned by ``optimised_rate`` with ``tracking_cost``.

    >>> game = dict(diameter=1.0, gradient_bound=1.0, horizon=100, total_delay=0, tuned=False)
    >>> [round(tracking_convex_bound(**game, capacity=c) / 10, 2) for c in (2, 8, 16)]
    [5.74, 2.02, 1.75]
    """
    scale = gradient_bound * diameter
    if tuned:
        return scale * math.sqrt(2.0 * tracking_cost(horizon=horizon, total_delay=total_delay, capacity=capacity))
    return 1.5 * (1.0 + kappa(capacity)) * scale * math.sqrt(horizon + total_delay)


def tracking_anytime_bound(
    *, diameter: float, gradient_bound: float, horizon: int, total_delay: float, capacity: int
) -> float:
    """GD√(T+2d_tot)·[1.5 + (c/2)(3 + log2(T+2d_tot))], c = eT^(1/C)/(C−1), with ``anytime_rates``: Theorem 4 (b).

    >>> round(tracking_anytime_bound(diameter=1.0, gradient_bound=1.0, horizon=1, total_delay=0, capacity=2), 3)
    5.577
    """
    c = math.e * math.pow(horizon, 1.0 / as_int(capacity, "capacity", 2)) / (capacity - 1.0)
    total = horizon + 2.0 * total_delay
    return gradient_bound * diameter * math.sqrt(total) * (1.5 + 0.5 * c * (3.0 + math.log2(total)))


def tracking_strongly_convex_bound(
    *, gradient_bound: float, strong_convexity: float, horizon: int, max_backlog: int, capacity: int
) -> float:
    """(G²/λ)(1+H_{T−1})[½ + σ_max(1 + e²/(2(C−1)))], η_t = 1/(λt), C ≥ ln T: Theorem 4 (c).

    For smaller C ≥ 2, κ_C(1+(C−1)T/σ_max)^(1/C) stands for e²/(C−1).

    >>> game = dict(gradient_bound=1.0, strong_convexity=1.0, max_backlog=2)
    >>> round(tracking_strongly_convex_bound(**game, horizon=2, capacity=2), 3)
    19.778
    """
    c = as_int(capacity, "capacity", 2)
    scale = gradient_bound**2 / as_positive(strong_convexity, "strong_convexity")
    if c >= math.log(horizon) or max_backlog == 0:
        factor = math.e**2 / (c - 1.0)
    else:
        factor = kappa(c) * (1.0 + (c - 1.0) * horizon / max_backlog) ** (1.0 / c)
    return scale * (1.0 + harmonic(horizon - 1)) * (0.5 + max_backlog * (1.0 + 0.5 * factor))


def tracking_bandit_bound(
    *,
    diameter: float,
    gradient_bound: float,
    spread: float,
    level: float,
    horizon: int,
    total_delay: float,
    anytime: bool = False,
) -> float:
    """GD[1.74√d_tot + 4.13 ρ^(1/4)√(νk)T^(3/4)], or 2.45 and 6 with anytime rates: Theorem 5 (a), (b).

    1.74 and 4.13 are √3 and 2√3·2^(1/4) rounded up. It holds for any scheduler whose moments are at most ρ, given its
    saturation term on top: ρ = 1/p for one coin p, 1 + εσ_max for Morris.

    >>> game = dict(diameter=1.0, gradient_bound=1.0, spread=1.0, level=1.0, horizon=16)
    >>> tracking_bandit_bound(**game, total_delay=0), tracking_bandit_bound(**game, total_delay=0, anytime=True)
    (33.04, 48.0)
    """
    late, noisy = (2.45, 6.0) if anytime else (1.74, 4.13)
    noise = math.pow(level * horizon**3, 0.25) * math.sqrt(spread)
    return gradient_bound * diameter * (late * math.sqrt(total_delay) + noisy * noise)


def tracking_free_bandit_bound(
    *, diameter: float, gradient_bound: float, spread: float, horizon: int, total_delay: float, capacity: int
) -> float:
    """GD[1.74√d_tot + 3.47√(νk)T^(3/4)(1 + (1+3κ_C)d_tot/T)^(1/4)], every C ≥ 2, no ρ: Theorem 5 (c).

    Tuned by ``bandit_free_smoothing`` and ``bandit_free_rate``.

    >>> game = dict(diameter=1.0, gradient_bound=1.0, spread=1.0, horizon=16, total_delay=0)
    >>> tracking_free_bandit_bound(**game, capacity=2)
    27.76
    """
    crowding = 1.0 + (1.0 + 3.0 * kappa(capacity)) * total_delay / horizon
    noise = math.sqrt(spread) * math.pow(horizon**3 * crowding, 0.25)
    return gradient_bound * diameter * (1.74 * math.sqrt(total_delay) + 3.47 * noise)


def tracking_strongly_convex_bandit_bound(
    *, gradient_bound: float, strong_convexity: float, spread: float, level: float, horizon: int, max_backlog: int
) -> float:
    """(G²/λ)[1.5σ_max(2 + ln T) + 18(ρ(νk)²T² ln(T+1))^(1/3)], η_t = 1/(λt): Theorem 5 (d).

    Smoothed by ``bandit_curved_smoothing``.

    >>> game = dict(gradient_bound=1.0, strong_convexity=1.0, spread=1.0, level=1.0, horizon=1)
    >>> round(tracking_strongly_convex_bandit_bound(**game, max_backlog=0), 3)
    15.93
    """
    scale = gradient_bound**2 / as_positive(strong_convexity, "strong_convexity")
    noise = float(np.cbrt(level * spread**2 * horizon**2 * math.log(horizon + 1.0)))
    return scale * (1.5 * max_backlog * (2.0 + math.log(horizon)) + 18.0 * noise)
