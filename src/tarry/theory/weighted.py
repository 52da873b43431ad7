"""The paper's bounds for weighted games, and for its wrapper: Theorems 3.1, 3.2 and 4.1, from whole sequences.

``weights``, ``delays``, ``rates`` and ``smoothing`` have one number per round; η_0 = η_1. ``sharpened`` has the smaller
constants that the same proofs give: (A) and (B) of docs/theory.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_positive
from tarry.errors import ArgumentError
from tarry.theory.arguments import Array, needed, pending_sums, per_round, spread_of


def weighted_regret_bound(
    *,
    weights: ArrayLike,
    delays: ArrayLike,
    rates: ArrayLike,
    gradient_bound: float,
    diameter: float | None = None,
    distances: ArrayLike | None = None,
    strong_convexity: float = 0.0,
    sharpened: bool = False,
) -> float:
    """D²/(2η_T) + G² Σ η_{t−1}(w_t² + w_t Σ_{B_t} w_s) ≥ R^w_T(u), on every path of DW-FTRL (Theorem 3.1).

    With ``distances`` |x_t − u|, needed if strongly convex, Σ ½(α_t − λw_t)|x_t − u|² stands for D²/(2η_T).
    ``sharpened`` has ½w_t² for w_t².

    >>> game = dict(weights=[2.0, 1.0], delays=[1, 0], rates=[0.5, 0.5], gradient_bound=1.0)
    >>> weighted_regret_bound(**game, diameter=2.0), weighted_regret_bound(**game, diameter=2.0, sharpened=True)
    (7.5, 6.25)
    """
    w, eta = per_round(weights=weights, rates=rates)
    _check_sequences(w, eta)
    noise = _before(eta) * w * ((0.5 if sharpened else 1.0) * w + pending_sums(w, delays))
    start = _regularisation(w, eta, diameter, distances, strong_convexity)
    return start + gradient_bound**2 * float(np.sum(noise))


def bandit_weighted_regret_bound(
    *,
    weights: ArrayLike,
    delays: ArrayLike,
    rates: ArrayLike,
    smoothing: ArrayLike,
    gradient_bound: float,
    value_bound: float,
    inner_radius: float,
    dimension: int,
    diameter: float | None = None,
    distances: ArrayLike | None = None,
    strong_convexity: float = 0.0,
    sharpened: bool = False,
) -> float:
    """D²/(2η_T) + 2G² Σ η_{t−1}(a_t²w_t² + a_t w_t √Σ_{B_t} w_s² + w_t Σ_{B_t} w_s) + (3GD/r) Σ w_t δ_t (Theorem 3.2).

    a_t = kM/(Gδ_t). It bounds E R^w_T(u) of DW-FTBL for weights fixed in advance. Strongly convex: with ``distances``
    |y_t − u| of the centres, as above, and 10G²/(λr) for 3GD/r; take the mean over runs. ``sharpened`` has ½a_t²w_t²,
    and no factor 2.

    >>> game = dict(weights=[1.0], delays=[0], rates=[0.5], smoothing=[1.0], diameter=2.0, gradient_bound=1.0)
    >>> bandit_weighted_regret_bound(**game, value_bound=1.0, inner_radius=1.0, dimension=2)
    14.0
    """
    w, eta, delta = per_round(weights=weights, rates=rates, smoothing=smoothing)
    _check_sequences(w, eta)
    if not np.all((delta > 0.0) & (delta <= inner_radius)):
        problem = f"must lie above 0 and within inner_radius={inner_radius:g}, or points leave the domain"
        raise ArgumentError("smoothing", problem, delta)
    bounds = {"value_bound": value_bound, "gradient_bound": gradient_bound, "inner_radius": inner_radius}
    length = spread_of(**bounds, dimension=dimension) * inner_radius / delta  # a_t
    cross = length * np.sqrt(pending_sums(w**2, delays)) + pending_sums(w, delays)
    own = length**2 * w
    noise = 0.5 * own + cross if sharpened else 2.0 * (own + cross)
    if strong_convexity == 0:
        slope = 3.0 * gradient_bound * needed(diameter, "diameter")
    else:
        slope = 10.0 * gradient_bound**2 / as_positive(strong_convexity, "strong_convexity")
    start = _regularisation(w, eta, diameter, distances, strong_convexity)
    return start + gradient_bound**2 * float(np.sum(_before(eta) * w * noise)) + slope / inner_radius * float(w @ delta)


def wrapper_bound(weighted_regret: float, saturation: ArrayLike, *, diameter: float, gradient_bound: float) -> float:
    """E R^w_T(u) + GD Σ_t P(|S_t| = C) ≥ E R_T(u) for the paper's wrapper, Algorithm 1 (Theorem 4.1).

    >>> wrapper_bound(10.0, [0.0, 0.25], diameter=2.0, gradient_bound=1.0)
    10.5
    """
    full = np.asarray(saturation, dtype=np.float64)
    if not np.all((full >= 0.0) & (full <= 1.0)):
        raise ArgumentError("saturation", "must be probabilities, one a round", full)
    return float(weighted_regret + gradient_bound * diameter * np.sum(full))


def _check_sequences(weights: Array, rates: Array) -> None:
    """Raise for what the theorems are not about: negative weights, and rates that rise or are not positive."""
    if not np.all(np.isfinite(weights) & (weights >= 0.0)):
        raise ArgumentError("weights", "must be finite and not negative", weights)
    if not (np.all(rates > 0.0) and np.all(np.diff(rates) <= 0.0)):
        raise ArgumentError("rates", "must be positive and never rise", rates)


def _before(rates: Array) -> Array:
    """η_{t−1} for t = 1..T."""
    return np.concatenate((rates[:1], rates[:-1]))


def _regularisation(
    weights: Array, rates: Array, diameter: float | None, distances: ArrayLike | None, strong_convexity: float
) -> float:
    """D²/(2η_T), or Σ ½(α_t − λw_t)|x_t − u|² with α_1 + … + α_t = 1/η_t."""
    if distances is None:
        if strong_convexity != 0:
            raise ArgumentError("distances", "are needed for strongly convex losses", remedy="give |x_t − u| per round")
        return needed(diameter, "diameter") ** 2 / (2.0 * float(rates[-1]))
    far, _ = per_round(distances=distances, weights=weights)
    increments = np.diff(1.0 / rates, prepend=0.0)
    return float(np.sum(0.5 * (increments - strong_convexity * weights) * far**2))
