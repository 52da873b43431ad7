"""Checks of the numbers a formula is asked about, and the small sums every formula needs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def probability(value: float, name: str) -> float:
    """``value`` if it lies strictly between 0 and 1."""
    if not 0 < value < 1:
        raise ValueError(f"{name} must lie in (0, 1), got {value}")
    return float(value)


def same_length(**sequences: ArrayLike) -> list[Array]:
    """The sequences as arrays, refused unless each holds one number per round."""
    listed = {name: np.asarray(values, dtype=np.float64) for name, values in sequences.items()}
    sizes = {name: values.shape for name, values in listed.items()}
    if len(set(sizes.values())) > 1 or any(len(shape) != 1 or shape[0] == 0 for shape in sizes.values()):
        raise ValueError(f"one number per round is needed in each of {', '.join(sizes)}, got shapes {sizes}")
    return list(listed.values())


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
