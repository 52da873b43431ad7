"""Checks of the numbers a formula is asked about, and the small sums and sizes every formula needs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarry.checks import as_int, as_positive

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


def probability(value: float, name: str) -> float:
    """``value`` if it lies strictly between 0 and 1."""
    if not 0 < value < 1:
        raise ValueError(f"{name} must lie in (0, 1), got {value}")
    return float(value)


def harmonic(n: int) -> float:
    """H_n = 1 + 1/2 + … + 1/n, H_0 = 0.

    >>> round(harmonic(4), 6)
    2.083333
    """
    return float(np.sum(1.0 / np.arange(1, n + 1)))


def previous(rates: ArrayLike) -> Array:
    """η_{t−1} for t = 1..T from η_1..η_T, with the convention η_0 = η_1.

    >>> previous([0.5, 0.25, 0.125])
    array([0.5 , 0.5 , 0.25])
    """
    eta = np.asarray(rates, dtype=np.float64)
    return np.concatenate((eta[:1], eta[:-1]))


def rounds(horizon: int) -> Array:
    """1, 2, …, T as floats.

    >>> rounds(3)
    array([1., 2., 3.])
    """
    return np.arange(1.0, as_int(horizon, "horizon", 1) + 1.0)


def spread_of(*, value_bound: float, gradient_bound: float, inner_radius: float, dimension: int) -> float:
    """νk = kM/(Gr): how much longer one-point estimates are than gradients when δ = r.

    >>> spread_of(value_bound=2.0, gradient_bound=1.5, inner_radius=1.0, dimension=3)
    4.0
    """
    scale = as_positive(gradient_bound, "gradient_bound") * as_positive(inner_radius, "inner_radius")
    return as_int(dimension, "dimension", 1) * as_positive(value_bound, "value_bound") / scale


def cut(delays: ArrayLike) -> Counts:
    """The delays cut to T − t, as the paper assumes them.

    >>> cut([5, 0, 9])
    array([2, 0, 0])
    """
    d = np.asarray(delays)
    if d.ndim != 1 or d.size == 0:
        raise ValueError(f"delays must be a sequence with one number per round, got shape {d.shape}")
    if np.any(d < 0) or np.any(d != np.floor(d)):
        raise ValueError(f"delays must be whole numbers, not negative, got {d[(d < 0) | (d != np.floor(d))][0]}")
    return np.asarray(np.minimum(d, np.arange(d.size - 1, -1, -1)), dtype=np.int64)
