"""The paper's main theorems with every constant, and the rates and smoothing radii that go with them.

As printed they hold for C ≥ ln T + 1 and for the paper's rates and schedulers. ``sharpened`` walks the same
proof without rounding up: ½ on w_t², D²/(2η), 1/p as it is, η_{t−1} itself instead of 2η_t, no factor 2 on
the bandit terms, and T·e^(−C) in place of 1, so that it holds for every capacity (this project's own). ``t`` is a
round or an array of rounds, from 1. Bandit schedules know the game by its *spread* νk = kM/(Gr). The ``energy``
functions are of the follow-up *Beyond Peak Backlog*, **unreviewed and not checked here**.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_int, as_positive
from tarry.errors import ArgumentError
from tarry.theory.arguments import Array, harmonic, previous, rounds
from tarry.theory.tracking import tracking_convex_bound


def convex_rate(*, diameter: float, gradient_bound: float, horizon: int, total_delay: float) -> float:
    """η = (D/G)/√(d_tot + T), the same in every round ("Capacity-Constrained OCO with Delays").

    >>> convex_rate(diameter=2.0, gradient_bound=1.0, horizon=60, total_delay=40)
    0.2
    """
    return (
        diameter
        / as_positive(gradient_bound, "gradient_bound")
        / math.sqrt(total_delay + as_int(horizon, "horizon", 1))
    )


def bandit_convex_smoothing(
    t: ArrayLike, *, spread: float, max_backlog: int, capacity: int, inner_radius: float = 1.0
) -> Array:
    """δ_t = r min{1, √(νk) t^(−1/4) (1 + σ_max/C)^(1/4)} ("Capacity-Constrained BCO with Delays").

    δ_t = r, so that the centre is ignored, for every t ≤ (νk)² (1 + σ_max/C).

    >>> round(float(bandit_convex_smoothing(81, spread=1.0, max_backlog=15, capacity=1)), 6)
    0.666667
    """
    crowding = 1.0 + max_backlog / as_int(capacity, "capacity", 1)
    return inner_radius * np.minimum(1.0, math.sqrt(spread) * (crowding / np.asarray(t, dtype=np.float64)) ** 0.25)


def bandit_convex_rate(
    t: ArrayLike, *, diameter: float, gradient_bound: float, spread: float, max_backlog: int, capacity: int
) -> Array:
    """η_t = (D/G)/(√t √(σ_max + (νk/(δ_t/r))² (1 + σ_max/C))) ("Capacity-Constrained BCO with Delays").

    >>> float(bandit_convex_rate(16, diameter=2.0, gradient_bound=1.0, spread=1.0, max_backlog=0, capacity=1))
    0.25
    """
    length = spread / bandit_convex_smoothing(t, spread=spread, max_backlog=max_backlog, capacity=capacity)
    variance = max_backlog + length**2 * (1.0 + max_backlog / capacity)
    ratio = diameter / as_positive(gradient_bound, "gradient_bound")
    return np.asarray(ratio / np.sqrt(np.asarray(t, dtype=np.float64) * variance))


def bandit_strongly_convex_smoothing(
    t: ArrayLike, *, spread: float, max_backlog: int, capacity: int, inner_radius: float = 1.0
) -> Array:
    """δ_t = r min{1, ((νk)² ln(t+1)/t)^(1/3) (1 + σ_max/C)^(1/3)} ("Capacity-Constrained BCO with Delays").

    >>> round(float(bandit_strongly_convex_smoothing(1000, spread=1.0, max_backlog=7, capacity=1)), 6)
    0.380917
    """
    n = np.asarray(t, dtype=np.float64)
    crowding = 1.0 + max_backlog / as_int(capacity, "capacity", 1)
    return inner_radius * np.minimum(1.0, np.cbrt(spread**2 * crowding * np.log(n + 1.0) / n))


def pareto_cost(*, horizon: int, total_delay: float, capacity: int) -> float:
    """Σ(½E[w_t²] + σ_t) ≤ ½ max{1, 16H_T/C} (T + d_tot) + d_tot for the paper's Pareto scheduler.

    The paper's chain without its rounding up; 17 (d_tot + T) there, for C ≥ H_T.

    >>> pareto_cost(horizon=1, total_delay=0, capacity=16)
    0.5
    """
    top = 16.0 * float(np.sum(1.0 / np.arange(1, horizon + 1))) / as_int(capacity, "capacity", 1)
    return 0.5 * max(1.0, top) * (horizon + total_delay) + total_delay


def convex_bound(
    *, diameter: float, gradient_bound: float, horizon: int, total_delay: float, capacity: int, sharpened: bool = False
) -> float:
    """18 GD√(d_tot + T) + GD: Pareto scheduler, η = (D/G)/√(d_tot + T), convex losses.

    Sharpened: D²/(2η) + G²η[½ max{1, 16H_T/C}(T + d_tot) + d_tot] + GD·T·e^(−C).

    >>> convex_bound(diameter=2.0, gradient_bound=1.0, horizon=100, total_delay=0, capacity=8)
    362.0
    """
    scale = gradient_bound * diameter
    if not sharpened:
        _ask(capacity, horizon)
        return 18.0 * scale * math.sqrt(total_delay + horizon) + scale
    eta = convex_rate(diameter=diameter, gradient_bound=gradient_bound, horizon=horizon, total_delay=total_delay)
    cost = pareto_cost(horizon=horizon, total_delay=total_delay, capacity=capacity)
    return diameter**2 / (2.0 * eta) + gradient_bound**2 * eta * cost + scale * _full(capacity, horizon)


def strongly_convex_bound(
    *,
    gradient_bound: float,
    strong_convexity: float,
    horizon: int,
    max_backlog: int,
    capacity: int,
    sharpened: bool = False,
) -> float:
    """18 (G²/λ)(σ_max + 1)H_T + 4G²/λ: Bernoulli scheduler, η_t = 1/(λt), strongly convex losses.

    Sharpened: (G²/λ)(1 + H_{T−1})(1/(2p) + σ_max) + (4G²/λ)T·e^(−C), p = min{1, C/(8(σ_max+1))}.

    >>> strongly_convex_bound(gradient_bound=1.0, strong_convexity=1.0, horizon=1, max_backlog=0, capacity=8)
    22.0
    """
    scale = gradient_bound**2 / as_positive(strong_convexity, "strong_convexity")
    if not sharpened:
        _ask(capacity, horizon)
        return scale * (18.0 * (max_backlog + 1) * harmonic(horizon) + 4.0)
    steps = 1.0 + harmonic(horizon - 1)
    return scale * (steps * (0.5 * _weight(max_backlog, capacity) + max_backlog) + 4.0 * _full(capacity, horizon))


def bernoulli_anytime_bound(
    *, diameter: float, gradient_bound: float, horizon: int, total_delay: float, max_backlog: int, capacity: int
) -> float:
    """1.5 GD√(T/p + 2d_tot) + GD·T·e^(−C), p = min{1, C/(8(σ_max+1))}, anytime rates, convex losses (this project).

    Where σ_max < C the set cannot fill, and the last term is 0. Rates: ``Anytime(D, G, own=1/p)``.

    >>> game = dict(diameter=1.0, gradient_bound=1.0, horizon=100, total_delay=0, max_backlog=0)
    >>> bernoulli_anytime_bound(**game, capacity=8)
    15.0
    """
    root = math.sqrt(horizon * _weight(max_backlog, capacity) + 2.0 * total_delay)
    full = 0.0 if max_backlog < capacity else _full(capacity, horizon)
    return gradient_bound * diameter * (1.5 * root + full)


def bandit_convex_line(
    *, diameter: float, gradient_bound: float, spread: float, horizon: int, max_backlog: int, capacity: int
) -> float:
    """145 GD(√(Tσ_max) + √T·(νk/(δ_T/r))·√(1+σ_max/C) + Σδ_t/r + 1): line (c) of the convex bandit proof.

    The δ_t are the theorem's own, cut at r; the line holds whether or not δ_T < r.

    >>> game = dict(diameter=1.0, gradient_bound=1.0, spread=1.0, max_backlog=0)
    >>> bandit_convex_line(**game, horizon=1, capacity=1)
    435.0
    """
    _ask(capacity, horizon)
    ratio = bandit_convex_smoothing(rounds(horizon), spread=spread, max_backlog=max_backlog, capacity=capacity)
    noise = math.sqrt(horizon * (1.0 + max_backlog / capacity)) * spread / float(ratio[-1])
    inside = math.sqrt(horizon * max_backlog) + noise + float(ratio.sum()) + 1.0
    return 145.0 * gradient_bound * diameter * inside


def bandit_convex_bound(
    *,
    diameter: float,
    gradient_bound: float,
    spread: float,
    horizon: int,
    max_backlog: int,
    capacity: int,
    sharpened: bool = False,
) -> float:
    """145 GD(√(Tσ_max) + (7/3) T^(3/4)(1+σ_max/C)^(1/4)√(νk) + 1): the closed form of :func:`bandit_convex_line`.

    For δ_T < r it is above that line; otherwise it exceeds GDT and is empty. Sharpened: D²/(2η_T) +
    G²Σ η_{t−1}(a_t²/(2p) + a_t√(σ_max/p) + σ_max) + 3GD Σδ_t/r + GD·T·e^(−C), a_t = νk/(δ_t/r).

    >>> game = dict(diameter=1.0, gradient_bound=1.0, spread=1.0, max_backlog=0)
    >>> round(bandit_convex_bound(**game, horizon=1, capacity=1), 3)
    483.333
    """
    scale = gradient_bound * diameter
    if not sharpened:
        _ask(capacity, horizon)
        power = math.pow(horizon**3 * (1.0 + max_backlog / capacity), 0.25) * math.sqrt(spread)
        return 145.0 * scale * (math.sqrt(horizon * max_backlog) + 7.0 / 3.0 * power + 1.0)
    t = rounds(horizon)
    ratio = bandit_convex_smoothing(t, spread=spread, max_backlog=max_backlog, capacity=capacity)
    eta = bandit_convex_rate(
        t,
        diameter=diameter,
        gradient_bound=gradient_bound,
        spread=spread,
        max_backlog=max_backlog,
        capacity=capacity,
    )
    noise = float(np.sum(previous(eta) * _bandit_terms(spread / ratio, max_backlog, capacity)))
    start = diameter**2 / (2.0 * float(eta[-1])) + gradient_bound**2 * noise
    return start + scale * (3.0 * float(ratio.sum()) + _full(capacity, horizon))


def bandit_strongly_convex_bound(
    *,
    gradient_bound: float,
    strong_convexity: float,
    spread: float,
    horizon: int,
    max_backlog: int,
    capacity: int,
    sharpened: bool = False,
) -> float:
    """(G²/λ)[72 H_T(σ_max + (νk/(δ_T/r))²(1+σ_max/C)) + 15(T² ln(T+1)(1+σ_max/C)(νk)²)^(1/3) + 4].

    The three terms of the strongly convex bandit proof added up: 4·18 for the variance, 10·(3/2) for the
    smoothing, 2 + 2 for saturation. Sharpened: (G²/λ)[Σ(a_t²/(2p) + a_t√(σ_max/p) + σ_max)/max(1, t−1) +
    10 Σδ_t/r + 4T·e^(−C)].

    >>> game = dict(gradient_bound=1.0, strong_convexity=1.0, spread=1.0, max_backlog=0)
    >>> round(bandit_strongly_convex_bound(**game, horizon=1, capacity=1), 3)
    109.203
    """
    scale = gradient_bound**2 / as_positive(strong_convexity, "strong_convexity")
    t = rounds(horizon)
    ratio = bandit_strongly_convex_smoothing(t, spread=spread, max_backlog=max_backlog, capacity=capacity)
    if sharpened:
        noise = float(np.sum(_bandit_terms(spread / ratio, max_backlog, capacity) / np.maximum(1.0, t - 1.0)))
        return scale * (noise + 10.0 * float(ratio.sum()) + 4.0 * _full(capacity, horizon))
    _ask(capacity, horizon)
    crowding = 1.0 + max_backlog / capacity
    variance = max_backlog + (spread / float(ratio[-1])) ** 2 * crowding
    drift = 15.0 * float(np.cbrt(horizon**2 * math.log(horizon + 1.0) * crowding * spread**2))
    return scale * (72.0 * harmonic(horizon) * variance + drift + 4.0)


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
    epochs = 1 + _ceil_log4(math.ceil(horizon + total_delay))
    return 4.0 * root + epochs * scale


def energy_probability(threshold: int, *, capacity: int, safety: float = 8.0) -> float:
    """p = min{1, C/(8(H + 1))} (unreviewed).

    >>> energy_probability(7, capacity=16)
    0.25
    """
    room = as_positive(safety, "safety") * (as_int(threshold, "threshold") + 1)
    return min(1.0, as_int(capacity, "capacity", 1) / room)


def energy_smoothing(*, spread: float, horizon: int, probability: float, factor: float = 1.0) -> float:
    """δ/r = min{1, c √(νk) (T·p)^(−1/4)} (unreviewed; the constant c is left open).

    >>> energy_smoothing(spread=1.0, horizon=256, probability=1.0)
    0.25
    """
    scale = as_positive(factor, "factor") * math.sqrt(as_positive(spread, "spread"))
    return min(1.0, scale * math.pow(as_int(horizon, "horizon", 1) * as_positive(probability, "probability"), -0.25))


def energy_offset(*, spread: float, probability: float) -> float:
    """A = (νk)²/p (unreviewed).

    >>> energy_offset(spread=3.0, probability=0.5)
    18.0
    """
    return as_positive(spread, "spread") ** 2 / as_positive(probability, "probability")


def _weight(max_backlog: int, capacity: int) -> float:
    """1/p of the paper's Bernoulli scheduler."""
    return max(1.0, 8.0 * (max_backlog + 1) / capacity)


def _bandit_terms(lengths: Array, max_backlog: int, capacity: int) -> Array:
    """a²/(2p) + a√(σ/p) + σ."""
    inverse = _weight(max_backlog, capacity)
    return 0.5 * lengths**2 * inverse + lengths * math.sqrt(max_backlog * inverse) + max_backlog


def _full(capacity: int, horizon: int) -> float:
    """Σ_t P(|S_t| = C) ≤ T·e^(−C) by the saturation lemma."""
    return horizon * math.exp(-float(capacity))


def _ask(capacity: int, horizon: int) -> None:
    least = math.log(as_int(horizon, "horizon", 1)) + 1.0
    if as_int(capacity, "capacity", 1) < least:
        problem = f"must, for the theorem, be at least ln T + 1 = {least:.2f}"
        raise ArgumentError("capacity", problem, capacity, "sharpened=True holds for every capacity")


def _ceil_log4(value: int) -> int:
    """Return the smallest n ≥ 0 with value ≤ 4^n, in whole numbers."""
    return -(-max(value - 1, 0).bit_length() // 2)
