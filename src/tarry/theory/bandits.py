"""Bounds on expected regret from values (bandit feedback), and the rates and smoothing radii that go with them.

A game is known by its *spread* νk = kM/(Gr). Losses are convex, or strongly convex where ``strong_convexity``, λ, is
positive: then η_t = 1/(λt). Bernoulli's bounds are the paper's, printed for C ≥ ln T + 1 and ``sharpened`` as for
gradients: η_{t−1} itself instead of 2η_t, and no factor 2 on the terms of the estimates. The others, Theorem 5, are
this project's.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_int, as_positive
from tarry.errors import ArgumentError
from tarry.theory.arguments import (
    Array,
    BanditTuning,
    ask_capacity,
    harmonic,
    inverse_coin,
    needed,
    rounds,
    saturated,
)
from tarry.theory.weights import kappa


def one_point_estimate(loss: Callable[[Array], float], point: ArrayLike, radius: float, direction: ArrayLike) -> Array:
    """ĝ = (k/δ) f(x + δu) u for a unit vector u: its mean over the sphere is the gradient of ``smoothed`` at x.

    Flaxman, Kalai, McMahan 2005; Theorem 2.7 of the paper. ``DWFTBL`` weighs these estimates.

    >>> one_point_estimate(lambda x: float(x @ x), [1.0, 0.0], 0.5, [1.0, 0.0])
    array([9., 0.])
    """
    x, u = (np.asarray(values, dtype=np.float64) for values in (point, direction))
    if x.ndim != 1 or x.size == 0:
        raise ArgumentError("point", "must be a sequence of numbers", point)
    if u.shape != x.shape:
        raise ArgumentError("direction", f"must have {x.size} numbers, as many as point", direction)
    if abs(float(u @ u) - 1.0) > 1e-9:
        raise ArgumentError("direction", "must have length 1", math.sqrt(u @ u), "divide it by its length")
    delta = as_positive(radius, "radius")
    return np.asarray(x.size / delta * loss(x + delta * u) * u)


def smoothed(
    loss: Callable[[Array], float], point: ArrayLike, radius: float, *, draws: int = 10_000, rng: int = 0
) -> float:
    """f^δ(x) = E f(x + δv), v uniform in the unit ball: the mean over so many draws, half of them −v of the others.

    >>> round(smoothed(lambda x: float(x @ x), [1.0, 0.0], 1.0), 2)  # |x|² + δ²k/(k+2)
    1.5
    """
    x = np.asarray(point, dtype=np.float64)
    half = -(-as_int(draws, "draws", 1) // 2)
    source = np.random.default_rng(rng)
    v = source.normal(size=(half, x.size))
    volumes = (np.arange(half) + source.random(half)) / half  # of the balls through the draws: one in each stratum
    v *= (volumes ** (1.0 / x.size) / np.linalg.norm(v, axis=1))[:, np.newaxis]
    steps = as_positive(radius, "radius") * np.concatenate((v, -v))
    return float(np.mean([loss(x + step) for step in steps]))


def bernoulli_bandit_tuning(
    t: ArrayLike,
    *,
    spread: float,
    max_backlog: int,
    capacity: int,
    diameter: float | None = None,
    gradient_bound: float | None = None,
    strong_convexity: float = 0.0,
    inner_radius: float = 1.0,
) -> BanditTuning[Array]:
    """Return the paper's δ_t and η_t at a round or an array of rounds, from 1, with c = 1 + σ_max/C.

    Convex: δ_t = r min{1, √(νk)(c/t)^(1/4)}, η_t = (D/G)/√(t(σ_max + (νk/(δ_t/r))² c)); δ_t = r, so that the centre is
    ignored, for every t ≤ (νk)² c. Strongly convex: δ_t = r min{1, ((νk)² c ln(t+1)/t)^(1/3)}, η_t = 1/(λt).

    >>> game = dict(spread=1.0, max_backlog=0, capacity=1)
    >>> [float(one) for one in bernoulli_bandit_tuning(16, **game, diameter=2.0, gradient_bound=1.0)]
    [0.5, 0.25]
    >>> float(bernoulli_bandit_tuning([1000], **game, strong_convexity=1.0).smoothing[0].round(6))
    0.190458
    """
    n = np.asarray(t, dtype=np.float64)
    crowding = 1.0 + max_backlog / as_int(capacity, "capacity", 1)
    if strong_convexity != 0:
        ratio = np.minimum(1.0, np.cbrt(spread**2 * crowding * np.log(n + 1.0) / n))
        return BanditTuning(inner_radius * ratio, 1.0 / (as_positive(strong_convexity, "strong_convexity") * n))
    ratio = np.minimum(1.0, math.sqrt(spread) * (crowding / n) ** 0.25)  # beyond r plays would leave the domain
    variance = max_backlog + (spread / ratio) ** 2 * crowding
    steepest = as_positive(needed(gradient_bound, "gradient_bound"), "gradient_bound")
    rate = needed(diameter, "diameter") / steepest / np.sqrt(n * variance)
    return BanditTuning(inner_radius * ratio, np.asarray(rate))


def bernoulli_bandit_bound(
    *,
    gradient_bound: float,
    spread: float,
    horizon: int,
    max_backlog: int,
    capacity: int,
    diameter: float | None = None,
    strong_convexity: float = 0.0,
    sharpened: bool = False,
    line: bool = False,
) -> float:
    """Return the paper's bound, for convex losses 145 GD(√(Tσ_max) + (7/3) T^(3/4) c^(1/4) √(νk) + 1), c = 1 + σ_max/C.

    That is the closed form. ``line`` is line (c) of the proof, 145 GD(√(Tσ_max) + √(Tc)·a_T + Σδ_t/r + 1) with the
    theorem's own δ_t and a_t = νk/(δ_t/r). For δ_T < r the closed form is above; otherwise it exceeds GDT and is empty.
    Sharpened: D²/(2η_T) + G²Σ η_{t−1}(a_t²/(2p) + a_t√(σ_max/p) + σ_max) + 3GD Σδ_t/r + GD·T·e^(−C). Strongly convex:
    (G²/λ)[72 H_T(σ_max + a_T² c) + 15(T² ln(T+1) c (νk)²)^(1/3) + 4]; sharpened, with 1/(λ max(1, t−1)) for η_{t−1}, as
    above, but for D, 10G²/λ for 3GD and 4G²/λ for the last GD.

    >>> game = dict(gradient_bound=1.0, spread=1.0, max_backlog=0, horizon=1, capacity=1)
    >>> round(bernoulli_bandit_bound(**game, diameter=1.0), 3), bernoulli_bandit_bound(**game, diameter=1.0, line=True)
    (483.333, 435.0)
    """
    if not sharpened:
        ask_capacity(capacity, horizon)
    crowding = 1.0 + max_backlog / capacity
    is_convex = strong_convexity == 0
    width = needed(diameter, "diameter") if is_convex else 1.0  # strongly convex bounds have no D
    if is_convex and not (sharpened or line):  # no array of T numbers: horizons of 10^13 are asked about
        power = math.pow(horizon**3 * crowding, 0.25) * math.sqrt(spread)
        scale = gradient_bound * width
        return 145.0 * scale * (math.sqrt(horizon * max_backlog) + 7.0 / 3.0 * power + 1.0)
    t = rounds(horizon)
    constants = {"diameter": width, "gradient_bound": gradient_bound, "strong_convexity": strong_convexity}
    ratio, eta = bernoulli_bandit_tuning(t, spread=spread, max_backlog=max_backlog, capacity=capacity, **constants)
    lengths, drift = spread / ratio, float(ratio.sum())
    if is_convex and line:
        noise = math.sqrt(horizon * crowding) * spread / float(ratio[-1])
        return 145.0 * gradient_bound * width * (math.sqrt(horizon * max_backlog) + noise + drift + 1.0)
    inverse, full = inverse_coin(max_backlog, capacity), saturated(capacity, horizon)
    terms = 0.5 * lengths**2 * inverse + lengths * math.sqrt(max_backlog * inverse) + max_backlog
    if is_convex:
        before = np.concatenate((eta[:1], eta[:-1]))  # η_{t−1}, with the convention η_0 = η_1
        noise = float(np.sum(before * terms))
        start = width**2 / (2.0 * float(eta[-1])) + gradient_bound**2 * noise
        return start + gradient_bound * width * (3.0 * drift + full)
    scale = gradient_bound**2 / strong_convexity
    if sharpened:
        return scale * (float(np.sum(terms / np.maximum(1.0, t - 1.0))) + 10.0 * drift + 4.0 * full)
    variance = max_backlog + (spread / float(ratio[-1])) ** 2 * crowding
    smooth = 15.0 * float(np.cbrt(horizon**2 * math.log(horizon + 1.0) * crowding * spread**2))
    # 4·18 for the variance, 10·(3/2) for the smoothing, 2 + 2 for saturation: the proof's three terms added up.
    return scale * (72.0 * harmonic(horizon) * variance + smooth + 4.0)


def bandit_tuning(
    *,
    diameter: float,
    gradient_bound: float,
    spread: float,
    level: float,
    horizon: int,
    total_delay: float,
    inner_radius: float = 1.0,
) -> BanditTuning[float]:
    """δ = r min{1, √(νk√(2ρ/T)/3)}, η = D/(G√(2a²Tρ + 3d_tot)), a = νk/(δ/r), for moments of at most ρ: 5 (a).

    ``level`` is a ρ ≥ E[w_t²] and E[w_t w_s²], such as ``moment_level``; 1/p for one coin, 1 + εσ_max for Morris.

    >>> game = dict(diameter=2.0, gradient_bound=1.0, spread=3.0, level=8.0, horizon=160_000)
    >>> bandit_tuning(**game, total_delay=0)
    BanditTuning(smoothing=0.1, rate=4.1666666666666665e-05)
    """
    ratio = min(1.0, math.sqrt(spread * math.sqrt(2.0 * level / as_int(horizon, "horizon", 1)) / 3.0))
    length = spread / ratio  # a: an estimate is so many times as long as a gradient
    rate = diameter / (gradient_bound * math.sqrt(2.0 * length**2 * horizon * level + 3.0 * total_delay))
    return BanditTuning(inner_radius * ratio, rate)


def bandit_bound(
    *,
    gradient_bound: float,
    spread: float,
    level: float,
    horizon: int,
    diameter: float | None = None,
    total_delay: float | None = None,
    max_backlog: int | None = None,
    strong_convexity: float = 0.0,
    anytime: bool = False,
    saturation: float = 0.0,
) -> float:
    """GD[1.74√d_tot + 4.13 ρ^(1/4)√(νk)T^(3/4) + sat] for moments of at most ρ, at ``bandit_tuning``.

    With anytime rates 2.45 and 6: Theorem 5 (a), (b). Strongly convex, smoothed by ``BanditRadius(…, curved=True)``:
    (G²/λ)[1.5σ_max(2 + ln T) + 17(ρ(νk)²T² ln(T+1))^(1/3) + 4·sat]: (d). ``saturation`` is sat of schedulers that
    refuse rounds, as in ``morris_costs``.

    >>> game = dict(gradient_bound=1.0, spread=1.0, level=1.0, horizon=16, diameter=1.0, total_delay=0)
    >>> bandit_bound(**game), bandit_bound(**game, anytime=True)
    (33.04, 48.0)
    """
    if strong_convexity == 0:
        late, noisy = (2.45, 6.0) if anytime else (1.74, 4.13)  # √6 and 6; √3 and 2√3·2^(1/4), rounded up
        scale = gradient_bound * needed(diameter, "diameter")
        noise = math.pow(level * horizon**3, 0.25) * math.sqrt(spread)
        bound = scale * (late * math.sqrt(needed(total_delay, "total_delay")) + noisy * noise)
        return bound + scale * saturation
    scale = gradient_bound**2 / as_positive(strong_convexity, "strong_convexity")
    noise = float(np.cbrt(level * spread**2 * horizon**2 * math.log(horizon + 1.0)))
    peak = needed(max_backlog, "max_backlog", "strongly convex")
    return scale * (1.5 * peak * (2.0 + math.log(horizon)) + 17.0 * noise) + 4.0 * scale * saturation


def priority_bandit_tuning(
    *,
    diameter: float,
    gradient_bound: float,
    spread: float,
    horizon: int,
    total_delay: float,
    capacity: int,
    inner_radius: float = 1.0,
) -> BanditTuning[float]:
    """δ = r min{1, √(νk√B/(3T))}, η = D/(G√(a²B + 3d_tot)), B = T + (1 + 3κ_C) d_tot, a = νk/(δ/r): 5 (c), no ρ.

    For Priority, C ≥ 2; for VarOpt pass C − 1.

    >>> game = dict(diameter=2.0, gradient_bound=1.0, spread=3.0, horizon=10_000, total_delay=0, capacity=16)
    >>> priority_bandit_tuning(**game)
    BanditTuning(smoothing=0.1, rate=0.0006666666666666666)
    """
    budget = horizon + (1.0 + 3.0 * kappa(capacity)) * total_delay
    ratio = min(1.0, math.sqrt(spread * math.sqrt(budget) / (3.0 * as_int(horizon, "horizon", 1))))
    rate = diameter / (gradient_bound * math.sqrt((spread / ratio) ** 2 * budget + 3.0 * total_delay))
    return BanditTuning(inner_radius * ratio, rate)


def priority_bandit_bound(
    *, diameter: float, gradient_bound: float, spread: float, horizon: int, total_delay: float, capacity: int
) -> float:
    """GD[1.74√d_tot + 3.47√(νk)T^(3/4)(1 + (1+3κ_C)d_tot/T)^(1/4)] at ``priority_bandit_tuning``, every C ≥ 2: 5 (c).

    >>> priority_bandit_bound(diameter=1.0, gradient_bound=1.0, spread=1.0, horizon=16, total_delay=0, capacity=2)
    27.76
    """
    crowding = 1.0 + (1.0 + 3.0 * kappa(capacity)) * total_delay / horizon
    noise = math.sqrt(spread) * math.pow(horizon**3 * crowding, 0.25)
    return gradient_bound * diameter * (1.74 * math.sqrt(total_delay) + 3.47 * noise)  # √3 and 2√3, rounded up
