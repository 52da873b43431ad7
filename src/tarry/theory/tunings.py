"""Rates and radii that minimise a proved bound: sharper than the paper's, and those of our schedulers.

Every expected bound here reads D²/(2η) + G²η·cost for a fixed rate, cost = Σ_t (½E[w_t²] + σ_t) up to the
theorem, and is least at η = D/(G√(2·cost)), where it is GD√(2·cost). Anytime rates put the running sum in
place of the whole. ``spread`` is νk, ``level`` a ρ ≥ E[w_t²] (see ``moment_level``). The rates named after a
theorem are this project's own.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_int, as_positive
from tarry.theory.arguments import Array
from tarry.theory.moments import kappa


def optimised_rate(*, diameter: float, gradient_bound: float, cost: float) -> float:
    """η = D/(G√(2·cost)), least for D²/(2η) + G²η·cost.

    The paper's chain has cost = 17 (d_tot + T) and gives √34 = 5.83 where its own rate gives 18.

    >>> round(optimised_rate(diameter=2.0, gradient_bound=1.0, cost=17 * 100) * (34 * 100) ** 0.5, 12)
    2.0
    """
    return diameter / (as_positive(gradient_bound, "gradient_bound") * math.sqrt(2.0 * as_positive(cost, "cost")))


def pareto_cost(*, horizon: int, total_delay: float, capacity: int) -> float:
    """Σ(½E[w_t²] + σ_t) ≤ ½ max{1, 16H_T/C} (T + d_tot) + d_tot for the paper's Pareto scheduler.

    The paper's chain without its rounding up; 17 (d_tot + T) there, for C ≥ H_T.

    >>> pareto_cost(horizon=1, total_delay=0, capacity=16)
    0.5
    """
    top = 16.0 * float(np.sum(1.0 / np.arange(1, horizon + 1))) / as_int(capacity, "capacity", 1)
    return 0.5 * max(1.0, top) * (horizon + total_delay) + total_delay


def tracking_cost(*, horizon: int, total_delay: float, capacity: int) -> float:
    """Σ(½E[w_t²] + σ_t) ≤ ½(T + (2 + 3κ_C) d_tot) for Priority, C ≥ 2; VarOpt: pass C − 1.

    Theorem 4 (a) of this project: η = D/(G√(T + (2 + 3κ_C) d_tot)).

    >>> round(tracking_cost(horizon=100, total_delay=1000, capacity=16), 1)
    1301.0
    """
    return 0.5 * (horizon + (2.0 + 3.0 * kappa(capacity)) * total_delay)


def morris_cost(*, horizon: int, total_delay: float, epsilon: float) -> float:
    """Σ(½E[w_t²] + σ_t) ≤ ½(T + (2 + ε) d_tot) for Morris (this project).

    >>> morris_cost(horizon=100, total_delay=1000, epsilon=0.5)
    1300.0
    """
    return 0.5 * (horizon + (2.0 + as_positive(epsilon, "epsilon")) * total_delay)


def anytime_rates(
    backlogs: ArrayLike, *, diameter: float, gradient_bound: float, own: float = 1.0, pending: float = 2.0
) -> Array:
    """η_1..η_T with η_{t−1} = D/(G√Σ_{s≤t}(own + pending·σ_s)) and η_T = η_{T−1}.

    σ_t is known when x_t is computed, so these need acknowledgements and no horizon. (1, 2) for Priority and
    VarOpt (Theorem 4 (b) of this project), (1, 2+ε) for Morris, (1/p, 2) for one coin p.

    >>> anytime_rates([0, 1, 2], diameter=2.0, gradient_bound=1.0)
    array([1.        , 0.66666667, 0.66666667])
    """
    running = np.cumsum(own + pending * np.asarray(backlogs, dtype=np.float64))
    ahead = np.concatenate((running[1:], running[-1:]))
    return np.asarray(diameter / (as_positive(gradient_bound, "gradient_bound") * np.sqrt(ahead)))


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


def bandit_anytime_smoothing(t: ArrayLike, *, spread: float, level: float) -> Array:
    """δ_t/r = min{1, √(νk) (ρ/t)^(1/4)}, Theorem 5 (b) of this project.

    >>> round(float(bandit_anytime_smoothing(81, spread=1.0, level=16.0)), 6)
    0.666667
    """
    return np.minimum(1.0, math.sqrt(spread) * (level / np.asarray(t, dtype=np.float64)) ** 0.25)


def bandit_anytime_rates(
    backlogs: ArrayLike, *, diameter: float, gradient_bound: float, spread: float, level: float
) -> Array:
    """η_1..η_T with η_{t−1} = D/(2G√Σ_{s≤t}(1.5σ_s + a_s²ρ)), η_T = η_{T−1}: Theorem 5 (b).

    >>> bandit_anytime_rates([0], diameter=2.0, gradient_bound=1.0, spread=1.0, level=1.0)
    array([1.])
    """
    sigma = np.asarray(backlogs, dtype=np.float64)
    lengths = spread / bandit_anytime_smoothing(np.arange(1.0, sigma.size + 1.0), spread=spread, level=level)
    running = np.cumsum(1.5 * sigma + lengths**2 * level)
    ahead = np.concatenate((running[1:], running[-1:]))
    return np.asarray(diameter / (2.0 * as_positive(gradient_bound, "gradient_bound") * np.sqrt(ahead)))


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


def bandit_curved_smoothing(t: ArrayLike, *, spread: float, level: float) -> Array:
    """δ_t/r = min{1, ((νk)²ρ ln(t+1)/t)^(1/3)}, Theorem 5 (d) of this project, with η_t = 1/(λt).

    >>> round(float(bandit_curved_smoothing(1000, spread=1.0, level=8.0)), 6)
    0.380917
    """
    n = np.asarray(t, dtype=np.float64)
    return np.minimum(1.0, np.cbrt(spread**2 * level * np.log(n + 1.0) / n))
