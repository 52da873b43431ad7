"""Rates and radii as their theorems state them, written anew: what the rules of the learners are held against."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_positive
from tarry.theory.arguments import Array


def strongly_convex_rate(t: ArrayLike, *, strong_convexity: float) -> Array:
    """η_t = 1/(λt), with or without bandit feedback (both main theorems).

    >>> strongly_convex_rate([1, 2, 4], strong_convexity=0.5)
    array([2. , 1. , 0.5])
    """
    return 1.0 / (as_positive(strong_convexity, "strong_convexity") * np.asarray(t, dtype=np.float64))


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


def bandit_curved_smoothing(t: ArrayLike, *, spread: float, level: float) -> Array:
    """δ_t/r = min{1, ((νk)²ρ ln(t+1)/t)^(1/3)}, Theorem 5 (d) of this project, with η_t = 1/(λt).

    >>> round(float(bandit_curved_smoothing(1000, spread=1.0, level=8.0)), 6)
    0.380917
    """
    n = np.asarray(t, dtype=np.float64)
    return np.minimum(1.0, np.cbrt(spread**2 * level * np.log(n + 1.0) / n))
