"""What the weights of a scheduler cost, which is all that rates and bounds need to know of it; experts and arms.

    cost            Σ(½E[w_t²] + Σ_{s∈B_t} E[w_t w_s])     for gradients, and for experts, who are all seen
    second_moments  Σ E[w_t²]                              for arms, of which the played one is seen
    saturation      Σ P(round t is refused for want of room)

Every bound from gradients reads D²/(2η) + G²η·cost for a fixed rate, and is least at :func:`optimised_rate`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_int, as_positive
from tarry.errors import ArgumentError
from tarry.theory.arguments import cut, harmonic, saturated


class Costs(NamedTuple):
    """Upper bounds on the three sums of a scheduler's weights, over all rounds."""

    cost: float
    second_moments: float
    saturation: float


class ActionsTuning(NamedTuple):
    """The rate of exponential weights or Exp3, and the bound on expected regret at this rate."""

    rate: float
    bound: float


def kappa(capacity: int) -> float:
    """κ_C = (C/(C−1))² / (C!)^(1/C), C ≥ 2; at most eC/(C−1)².

    >>> [round(3 * kappa(c), 2) for c in (2, 3, 4, 8, 16, 32)]
    [8.49, 3.71, 2.41, 1.04, 0.5, 0.25]
    """
    c = as_int(capacity, "capacity", 2)
    # Through the logarithm: C! is beyond all floats from 171 on.
    return float((c / (c - 1.0)) ** 2 / math.exp(math.lgamma(c + 1.0) / c))


def pareto_costs(*, horizon: int, total_delay: float, capacity: int) -> Costs:
    """Σ E[w_t²] ≤ max{1, 16H_T/C} (T + d_tot) for the paper's Pareto scheduler, and its coin.

    The cost is half of that and d_tot: the paper's chain without its rounding up to 17 (d_tot + T).

    >>> pareto_costs(horizon=1, total_delay=0, capacity=8)[:2]
    (1.0, 2.0)
    """
    top = max(1.0, 16.0 * harmonic(as_int(horizon, "horizon", 1)) / as_int(capacity, "capacity", 1))
    crowd = horizon + total_delay
    return Costs(0.5 * top * crowd + total_delay, top * crowd, saturated(capacity, horizon))


def priority_costs(*, horizon: int, total_delay: float, capacity: int) -> Costs:
    """Σ E[w_t²] ≤ T + 3κ_C d_tot for Priority, C ≥ 2.

    >>> round(priority_costs(horizon=100, total_delay=1000, capacity=16).cost, 1)
    1301.0
    """
    factor = 3.0 * kappa(capacity)
    return Costs(0.5 * (horizon + (2.0 + factor) * total_delay), horizon + factor * total_delay, 0.0)


def varopt_costs(delays: ArrayLike, capacity: int) -> Costs:
    """T/2 + d_tot, exactly, for VarOpt; Σ E[w_t²] ≤ T + min{2 d_tot, (2/C) Σ_{σ_t≥C} (σ_t + 1)} (docs/theory.md).

    >>> varopt_costs([2, 1, 0], capacity=1)
    Costs(cost=4.5, second_moments=9.0, saturation=0.0)
    """
    waits, slots = cut(delays), as_int(capacity, "capacity", 1)
    t = np.arange(1, waits.size + 1)
    backlog = t - 1 - np.searchsorted(np.sort(t + waits), t)  # the rounds before t, less those in before t
    crowd, total = float(np.sum(backlog[backlog >= slots] + 1.0)), float(waits.sum())
    return Costs(0.5 * waits.size + total, waits.size + 2.0 * min(total, crowd / slots), 0.0)


def morris_costs(*, epsilon: float, horizon: int, total_delay: float, capacity: int) -> Costs:
    """Σ E[w_t²] ≤ T + ε d_tot for Morris, and saturation (T + ε d_tot)(1+ε)^(−C) (Theorem 7 of this project).

    >>> morris_costs(epsilon=1.0, horizon=1000, total_delay=24, capacity=10)
    Costs(cost=536.0, second_moments=1024.0, saturation=1.0)
    """
    second = horizon + as_positive(epsilon, "epsilon") * total_delay
    full = float(second * (1.0 + epsilon) ** -float(capacity))
    return Costs(0.5 * (horizon + (2.0 + epsilon) * total_delay), second, full)


def batch_length(*, max_delay: int, capacity: int) -> int:
    """b = max{1, ⌈d_max/(C−1)⌉}, the shortest batch that never fills C ≥ 2 slots (C ≥ 1 for d_max = 0).

    >>> [batch_length(max_delay=6, capacity=c) for c in (2, 3, 4, 7, 8)]
    [6, 3, 2, 1, 1]
    """
    slots = as_int(capacity, "capacity", 1)
    delay = as_int(max_delay, "max_delay")
    if slots == 1 and delay > 0:
        remedy = "raise it, or use Bernoulli(probability=…), which keeps its rounds too"
        raise ArgumentError("capacity", f"must be at least 2 for batches and delays of up to {delay}", slots, remedy)
    return max(1, -(-delay // max(1, slots - 1)))  # one slot is the newcomer's, the others are held to arrival


def batching_costs(*, horizon: int, total_delay: float, max_delay: int, capacity: int, is_fixed: bool = False) -> Costs:
    """Σ E[w_t²] = bT for batches of b rounds, of which one is tracked; cost ½bT + d_tot, no saturation.

    The cost is exact where no two rounds of a batch wait at once. If every delay is d_max (``is_fixed``) rounds of a
    batch wait together, exclude each other, and pay for b: the cost is ½(T + m(b−m)) + d_tot, m = T mod b.

    >>> game = dict(horizon=100, total_delay=1790, max_delay=20, capacity=3)
    >>> batching_costs(**game)[:2], batching_costs(**game, is_fixed=True).cost
    ((2290.0, 1000.0), 1840.0)
    """
    rounds, total = as_int(horizon, "horizon", 1), float(total_delay)
    batch = batch_length(max_delay=max_delay, capacity=capacity)
    if not 0 <= total < math.inf:
        raise ValueError(f"total_delay must be finite and not negative, got {total_delay!r}")
    most = min(int(max_delay), rounds)
    longest = most * rounds - most * (most + 1) // 2  # Σ_t min(d_max, T − t)
    if is_fixed and total < longest:
        raise ValueError(
            f"{rounds} delays of {max_delay}, cut at the end, add up to {longest}, got "
            f"total_delay={total_delay}: is_fixed means that every delay equals max_delay"
        )
    last = rounds % batch  # rounds of a batch that the end of the game cuts short
    own_batch = rounds + last * (batch - last) if is_fixed else batch * rounds
    return Costs(0.5 * own_batch + total, float(batch * rounds), 0.0)


def optimised_rate(*, diameter: float, gradient_bound: float, cost: float) -> float:
    """η = D/(G√(2·cost)), least for D²/(2η) + G²η·cost, which is GD√(2·cost) there.

    The paper's chain has cost = 17 (d_tot + T) and gives √34 = 5.83 where its own rate gives 18.

    >>> round(optimised_rate(diameter=2.0, gradient_bound=1.0, cost=17 * 100) * (34 * 100) ** 0.5, 12)
    2.0
    """
    return diameter / (as_positive(gradient_bound, "gradient_bound") * math.sqrt(2.0 * as_positive(cost, "cost")))


def moment_level(*, max_backlog: int, capacity: int, horizon: int) -> float:
    """ρ = max{1, e²σ_max/(C−2)} ≥ E[w_t²] and E[w_t w_s²] for Priority, C ≥ max(3, 1 + ln T) (Theorem 5).

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


def experts_tuning(*, actions: int, cost: float) -> ActionsTuning:
    """η = √(ln K/cost) for exponential weights on losses in [0, 1], and its bound 2√(ln K·cost).

    η is least for ln K/η + η·cost. The bound holds where no round is refused.

    >>> [round(number, 4) for number in experts_tuning(actions=4, cost=100.0)]
    [0.1177, 23.5482]
    """
    entropy, size = math.log(as_int(actions, "actions", 2)), as_positive(cost, "cost")
    return ActionsTuning(math.sqrt(entropy / size), 2.0 * math.sqrt(entropy * size))


def arms_tuning(*, actions: int, second_moments: float, total_delay: float) -> ActionsTuning:
    """Rate and bound of Exp3 on losses in [0, 1]: those of experts at the cost K Σ E[w_t²] + d_tot.

    >>> [round(number, 4) for number in arms_tuning(actions=3, second_moments=200.0, total_delay=500)]
    [0.0316, 69.5262]
    """
    noise = as_int(actions, "actions", 2) * as_positive(second_moments, "second_moments")
    return experts_tuning(actions=actions, cost=noise + float(total_delay))
