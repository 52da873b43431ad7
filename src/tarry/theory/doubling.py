"""Doubling: which epoch a round falls in, and what restarting costs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_int
from tarry.theory.backlog import Counts, backlogs
from tarry.theory.main import convex_bound
from tarry.theory.ours import tracking_convex_bound


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


def doubling_bound(free: float, terms: Sequence[tuple[float, float]], *, max_backlog: int) -> float:
    """(J+1) φ_0(T) + Σ_m φ_m(T) Σ_{j≤J} 2^(b_m j), J = ⌈log2(σ_max + 1)⌉ (the theorem "Doubling over σ_max").

    ``free`` is φ_0(T), ``terms`` the pairs (φ_m(T), b_m) with b_m > 0 of a bound φ_0 + Σ φ_m (σ+1)^(b_m).
    J + 1 ≤ 2 + log2(σ_max + 1), where the paper prints log(σ_max + 1), which is 0 without delays.

    >>> doubling_bound(10.0, [(1.0, 1.0)], max_backlog=3)
    37.0
    """
    last = math.ceil(math.log2(as_int(max_backlog, "max_backlog") + 1))
    if any(power <= 0 for _, power in terms):
        raise ValueError(f"every power of (σ+1) must be positive, got {terms}: move constant terms to free")
    growth = sum(factor * sum(2.0 ** (power * j) for j in range(last + 1)) for factor, power in terms)
    return float((last + 1) * free + growth)


def total_doubling_bound(
    *, diameter: float, gradient_bound: float, horizon: int, total_delay: float, capacity: int, pareto: bool = False
) -> float:
    """4c·GD√(T + d_tot), c = 1.5(1+κ_C): restarts over T + d_tot with Priority (VarOpt: C − 1). This project's own.

    With ``pareto`` c = 18, plus GD for each of at most 1 + ⌈log4(T + d_tot)⌉ epochs, and C ≥ ln T + 1 is asked for.

    >>> game = dict(diameter=1.0, gradient_bound=1.0, horizon=16, total_delay=0, capacity=8)
    >>> round(total_doubling_bound(**game), 2), total_doubling_bound(**game, pareto=True)
    (32.33, 291.0)
    """
    game = {"diameter": diameter, "gradient_bound": gradient_bound, "horizon": horizon, "total_delay": total_delay}
    if not pareto:
        return 4.0 * tracking_convex_bound(**game, capacity=capacity, tuned=False)  # type: ignore[arg-type]
    scale = gradient_bound * diameter
    root = convex_bound(**game, capacity=capacity) - scale  # type: ignore[arg-type]
    epochs = 1 + int(_ceil_log(np.asarray(math.ceil(horizon + total_delay)), 4))
    return 4.0 * root + epochs * scale


def _ceil_log(values: Counts, base: int) -> Counts:
    """The smallest n ≥ 0 with values ≤ base^n, in whole numbers."""
    powers = base ** np.arange(0, 63 // (base.bit_length() - 1), dtype=np.int64)
    return np.searchsorted(powers, values, side="left").astype(np.int64)
