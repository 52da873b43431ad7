"""Bounds on expected regret from gradients, one function for each scheduler.

Losses are convex, or strongly convex where ``strong_convexity``, λ, is positive: then η_t = 1/(λt), whatever is said
about rates. The paper's bounds, of Pareto and (strongly convex) Bernoulli, are printed for C ≥ ln T + 1.
``sharpened`` walks the same proof without rounding up: ½ on w_t², D²/(2η), 1/p as it is and T·e^(−C) in place of 1,
so that it holds for every capacity. That and the other bounds are this project's own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_choice, as_int, as_nonnegative, as_positive
from tarry.errors import ArgumentError
from tarry.theory.arguments import ask_capacity, cut, harmonic, inverse_coin, needed, pending_sums, saturated
from tarry.theory.weights import batch_length, batching_costs, kappa, morris_costs, pareto_costs, priority_costs

RATES = ("tuned", "paper", "anytime", "restarted")


def convex_rate(*, diameter: float, gradient_bound: float, horizon: int, total_delay: float) -> float:
    """η = (D/G)/√(d_tot + T), the same in every round ("Capacity-Constrained OCO with Delays").

    >>> convex_rate(diameter=2.0, gradient_bound=1.0, horizon=60, total_delay=40)
    0.2
    """
    size = total_delay + as_int(horizon, "horizon", 1)
    return diameter / as_positive(gradient_bound, "gradient_bound") / math.sqrt(size)


def pareto_bound(
    *,
    diameter: float,
    gradient_bound: float,
    horizon: int,
    total_delay: float,
    capacity: int,
    sharpened: bool = False,
    restarted: bool = False,
) -> float:
    """18 GD√(d_tot + T) + GD for convex losses at :func:`convex_rate` (the paper).

    Sharpened: D²/(2η) + G²η·cost + GD·T·e^(−C), cost that of ``pareto_costs``. Restarted whenever T + d_tot passes a
    power of 4: 72 GD√(d_tot + T), plus GD for each of at most 1 + ⌈log4(T + d_tot)⌉ epochs.

    >>> game = dict(diameter=2.0, gradient_bound=1.0, horizon=100, total_delay=0, capacity=8)
    >>> pareto_bound(**game), pareto_bound(**game, restarted=True)
    (362.0, 1450.0)
    """
    scale = gradient_bound * diameter
    if sharpened:
        eta = convex_rate(diameter=diameter, gradient_bound=gradient_bound, horizon=horizon, total_delay=total_delay)
        costs = pareto_costs(horizon=horizon, total_delay=total_delay, capacity=capacity)
        return diameter**2 / (2.0 * eta) + gradient_bound**2 * eta * costs.cost + scale * costs.saturation
    ask_capacity(capacity, horizon)
    printed = 18.0 * scale * math.sqrt(total_delay + horizon) + scale
    if not restarted:
        return printed
    # The smallest n with T + d_tot ≤ 4^n, in whole numbers: a logarithm may fall on the wrong side of a power.
    quarters = -(-max(math.ceil(horizon + total_delay) - 1, 0).bit_length() // 2)
    return 4.0 * (printed - scale) + (1 + quarters) * scale


def bernoulli_bound(
    *,
    gradient_bound: float,
    horizon: int,
    max_backlog: int,
    capacity: int,
    diameter: float | None = None,
    total_delay: float | None = None,
    strong_convexity: float = 0.0,
    sharpened: bool = False,
    restarted: bool = False,
) -> float:
    """18 (G²/λ)(σ_max + 1)H_T + 4G²/λ for strongly convex losses (the paper), p = min{1, C/(8(σ_max+1))}.

    Sharpened: (G²/λ)(1 + H_{T−1})(1/(2p) + σ_max) + (4G²/λ)T·e^(−C). Restarted over guesses of σ_max: the printed bound
    in :func:`doubling_bound`. Convex, with the rates ``Anytime(D, G, own=1/p)``: 1.5 GD√(T/p + 2d_tot) +
    GD·T·e^(−C), whose last term is 0 where σ_max < C, since the set cannot fill.

    >>> bernoulli_bound(gradient_bound=1.0, strong_convexity=1.0, horizon=1, max_backlog=0, capacity=8)
    22.0
    >>> bernoulli_bound(diameter=1.0, gradient_bound=1.0, horizon=100, total_delay=0, max_backlog=0, capacity=8)
    15.0
    """
    if strong_convexity == 0:
        root = math.sqrt(horizon * inverse_coin(max_backlog, capacity) + 2.0 * needed(total_delay, "total_delay"))
        full = 0.0 if max_backlog < capacity else saturated(capacity, horizon)
        return gradient_bound * needed(diameter, "diameter") * (1.5 * root + full)
    scale = gradient_bound**2 / as_positive(strong_convexity, "strong_convexity")
    if sharpened:
        noise = 0.5 * inverse_coin(max_backlog, capacity) + max_backlog  # ½E[w_t²] + σ_t, summed with λη_{t−1}
        return scale * ((1.0 + harmonic(horizon - 1)) * noise + 4.0 * saturated(capacity, horizon))
    ask_capacity(capacity, horizon)
    heights = harmonic(horizon)
    if not restarted:
        return scale * (18.0 * (max_backlog + 1) * heights + 4.0)
    # The bound is a + b(σ + 1): a and b from its values at σ = 0 and σ = 1.
    free, first = (scale * (18.0 * (sigma + 1) * heights + 4.0) for sigma in (0, 1))
    return doubling_bound(2.0 * free - first, [(first - free, 1.0)], max_backlog=max_backlog)


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


def priority_bound(
    *,
    gradient_bound: float,
    horizon: int,
    capacity: int,
    diameter: float | None = None,
    total_delay: float | None = None,
    max_backlog: int | None = None,
    strong_convexity: float = 0.0,
    rate: str = "tuned",
) -> float:
    """GD√(T + (2+3κ_C)d_tot) for convex losses and Priority, C ≥ 2.

    That is at its own rate, ``optimised_rate`` with the cost of ``priority_costs``. With rate="paper":
    1.5(1+κ_C)GD√(T + d_tot); "restarted" over T + d_tot: 4 times that; "anytime": GD√(T+2d_tot)·[1.5 +
    (c/2)(3 + log2(T+2d_tot))], c = eT^(1/C)/(C−1). Strongly convex: (G²/λ)(1+H_{T−1})[½ + σ_max(1 + e²/(2(C−1)))]
    for C ≥ ln T, and below κ_C(1+(C−1)T/σ_max)^(1/C) stands for e²/(C−1).

    >>> game = dict(diameter=1.0, gradient_bound=1.0, horizon=100, total_delay=0)
    >>> [round(priority_bound(**game, capacity=8, rate=rate), 2) for rate in ("tuned", "paper", "anytime")]
    [10.0, 20.2, 48.3]
    """
    c = as_int(capacity, "capacity", 2)
    if strong_convexity != 0:
        peak = needed(max_backlog, "max_backlog", "strongly convex")
        scale = gradient_bound**2 / as_positive(strong_convexity, "strong_convexity")
        if c >= math.log(horizon) or peak == 0:
            factor = math.e**2 / (c - 1.0)
        else:
            factor = kappa(c) * (1.0 + (c - 1.0) * horizon / peak) ** (1.0 / c)
        return scale * (1.0 + harmonic(horizon - 1)) * (0.5 + peak * (1.0 + 0.5 * factor))
    as_choice(rate, "rate", RATES)
    late, scale = needed(total_delay, "total_delay"), gradient_bound * needed(diameter, "diameter")
    if rate == "tuned":
        return scale * math.sqrt(2.0 * priority_costs(horizon=horizon, total_delay=late, capacity=c).cost)
    if rate == "anytime":
        growth = math.e * math.pow(horizon, 1.0 / c) / (c - 1.0)
        total = horizon + 2.0 * late
        return scale * math.sqrt(total) * (1.5 + 0.5 * growth * (3.0 + math.log2(total)))
    printed = 1.5 * (1.0 + kappa(c)) * scale * math.sqrt(horizon + late)
    # Epochs grow fourfold, so their roots add up to at most twice the last, which itself is at most doubled.
    return 4.0 * printed if rate == "restarted" else printed


def varopt_bound(
    *,
    gradient_bound: float,
    horizon: int,
    diameter: float | None = None,
    total_delay: float | None = None,
    max_backlog: int | None = None,
    strong_convexity: float = 0.0,
    rate: str = "anytime",
    sizes: ArrayLike | None = None,
    delays: ArrayLike | None = None,
) -> float:
    """1.5 GD√(T + 2d_tot) for convex losses and VarOpt at every capacity from 1 up, with nothing known.

    That is at the rate ``Anytime``, fed with the held weight or with acknowledgements, and is the bound of unlimited
    capacity. GD√(T + 2d_tot) with rate="tuned", which knows T + 2d_tot. Strongly convex: (G²/λ)(½ + σ_max)H_T.
    Where rounds have ``sizes`` b_t, and gradients of at most G·b_t, Σ b_t² stands for T, and Σ_t b_t Σ_{B_t} b_s, from
    the ``delays``, for d_tot.

    >>> varopt_bound(diameter=1.0, gradient_bound=1.0, horizon=100, total_delay=150)
    30.0
    >>> varopt_bound(diameter=1.0, gradient_bound=1.0, horizon=3, sizes=[1.0, 2.0, 2.0], delays=[1, 1, 0]) ** 2
    47.25
    """
    total_size = float(as_int(horizon, "horizon", 1))
    if sizes is not None:
        if strong_convexity != 0 or delays is None or total_delay is not None:
            raise ArgumentError("sizes", "need delays=… in place of total_delay, and losses that are convex only")
        total_size, total_delay = _by_size(sizes, delays, horizon)
    if strong_convexity != 0:
        scale = gradient_bound**2 / as_positive(strong_convexity, "strong_convexity")
        return scale * (0.5 + needed(max_backlog, "max_backlog", "strongly convex")) * harmonic(horizon)
    as_choice(rate, "rate", ("tuned", "anytime"))
    root = math.sqrt(total_size + 2.0 * needed(total_delay, "total_delay"))
    return (1.5 if rate == "anytime" else 1.0) * gradient_bound * needed(diameter, "diameter") * root


def _by_size(sizes: ArrayLike, delays: ArrayLike, horizon: int) -> tuple[float, float]:
    """Return Σ b_t² and Σ_t b_t Σ_{B_t} b_s."""
    b, waits = np.asarray(sizes, dtype=float), cut(delays)
    if b.shape != (horizon,) or waits.shape != (horizon,):
        raise ArgumentError("sizes", f"and delays must have {horizon} entries, one a round", (b.shape, waits.shape))
    if not np.all((b > 0) & np.isfinite(b)):
        raise ArgumentError("sizes", "must be positive and finite", sizes)
    return float(b @ b), float(b @ pending_sums(b, waits))


def dynamic_bound(
    *,
    diameter: float,
    gradient_bound: float,
    horizon: int,
    total_delay: float,
    max_backlog: int,
    path_length: float,
    rate: str = "tuned",
) -> float:
    """GD√((T + 2d_tot)(1 + 2P/D)) + Gσ_max P: projected descent and VarOpt at every capacity, against any path.

    P = ``path_length`` = Σ|u_{t+1} − u_t|, and regret is the expected Σ f_t(x_t) − f_t(u_t). The step is that of
    ``DOGD.tuned(…, path_length=P)``, in DOGD or in OGD. With rate="anytime", DOGD and ``Anytime(√(D² + 2DP), G)``,
    which knows neither T nor delays, the root counts 1.5 times.

    >>> game = dict(diameter=2.0, gradient_bound=1.0, horizon=100, total_delay=150, max_backlog=5)
    >>> dynamic_bound(**game, path_length=0.0), dynamic_bound(**game, path_length=3.0)
    (40.0, 95.0)
    """
    as_choice(rate, "rate", ("tuned", "anytime"))
    width, steepest = as_positive(diameter, "diameter"), as_positive(gradient_bound, "gradient_bound")
    moved = as_nonnegative(path_length, "path_length")
    root = math.sqrt((as_int(horizon, "horizon", 1) + 2.0 * total_delay) * (1.0 + 2.0 * moved / width))
    return steepest * ((1.5 if rate == "anytime" else 1.0) * width * root + max_backlog * moved)


def morris_bound(
    *,
    gradient_bound: float,
    epsilon: float,
    horizon: int,
    total_delay: float,
    capacity: int,
    diameter: float | None = None,
    max_backlog: int | None = None,
    strong_convexity: float = 0.0,
    anytime: bool = False,
    saturation: float | None = None,
) -> float:
    """GD√(T + (2+ε)d_tot) + GD·sat for convex losses and Morris; 1.5 times the root with anytime rates (Theorem 7).

    Rate and sat are those of ``morris_costs``, unless a ``saturation`` of one's own is given. Strongly convex:
    (G²/λ)(1 + H_{T−1})(½ + (1 + ε/2)σ_max) + (4G²/λ)·sat.

    >>> game = dict(gradient_bound=1.0, epsilon=1.0, horizon=1000, total_delay=24, capacity=10)
    >>> round(morris_bound(**game, diameter=1.0) ** 2, 3)
    1138.483
    """
    costs = morris_costs(epsilon=epsilon, horizon=horizon, total_delay=total_delay, capacity=capacity)
    full = costs.saturation if saturation is None else saturation  # one's own may be the far smaller morris_tail
    if strong_convexity == 0:
        root = math.sqrt(horizon + (2.0 + epsilon) * total_delay)
        return gradient_bound * needed(diameter, "diameter") * ((1.5 if anytime else 1.0) * root + full)
    scale = gradient_bound**2 / as_positive(strong_convexity, "strong_convexity")
    noise = 0.5 + (1.0 + 0.5 * epsilon) * needed(max_backlog, "max_backlog", "strongly convex")
    return scale * ((1.0 + harmonic(horizon - 1)) * noise + 4.0 * full)


def batching_bound(
    *,
    gradient_bound: float,
    horizon: int,
    max_delay: int,
    capacity: int,
    diameter: float | None = None,
    total_delay: float | None = None,
    max_backlog: int | None = None,
    strong_convexity: float = 0.0,
    is_fixed: bool = False,
) -> float:
    """GD√(bT + 2d_tot) for convex losses and batches of b; GD√(T + m(b−m) + 2d_tot) if all delays are equal.

    At ``optimised_rate`` with the cost of ``batching_costs``. Strongly convex: (G²/λ)(1 + H_{T−1})(b/2 + σ_max).

    >>> game = dict(diameter=1.0, gradient_bound=1.0, horizon=100, total_delay=1790, max_delay=20, capacity=3)
    >>> round(batching_bound(**game) ** 2), round(batching_bound(**game, is_fixed=True) ** 2)
    (4580, 3680)
    """
    steepest = as_positive(gradient_bound, "gradient_bound")
    if strong_convexity == 0:
        late, width = needed(total_delay, "total_delay"), as_positive(needed(diameter, "diameter"), "diameter")
        game = {"horizon": horizon, "max_delay": max_delay, "capacity": capacity}
        return steepest * width * math.sqrt(2.0 * batching_costs(**game, total_delay=late, is_fixed=is_fixed).cost)
    batch = batch_length(max_delay=max_delay, capacity=capacity)
    scale = steepest**2 / as_positive(strong_convexity, "strong_convexity")
    waiting = as_int(needed(max_backlog, "max_backlog", "strongly convex"), "max_backlog")
    return scale * (1.0 + harmonic(as_int(horizon, "horizon", 1) - 1)) * (0.5 * batch + waiting)
