"""Checks of the numbers a formula is asked about, and the small sums and sizes every formula needs."""

from __future__ import annotations

import math
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarry.checks import as_int, as_positive
from tarry.errors import ArgumentError

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
Number = TypeVar("Number", int, float)
Size = TypeVar("Size", float, Array)


class BanditTuning(NamedTuple, Generic[Size]):
    """The smoothing radius δ and the rate η of a learner from values: one number, or one for each round."""

    smoothing: Size
    rate: Size


def needed(value: Number | None, name: str, losses: str = "convex") -> Number:
    """Return a constant that only bounds for such losses ask for; raise ArgumentError where it is None."""
    if value is None:
        other = "strong_convexity=…" if losses == "convex" else "strong_convexity=0"
        raise ArgumentError(name, f"is needed for {losses} losses", remedy=f"give it, or {other}")
    return value


def probability(value: float, name: str) -> float:
    """Return ``value`` if it lies strictly between 0 and 1; raise ValueError otherwise."""
    if not 0 < value < 1:
        raise ValueError(f"{name} must lie in (0, 1), got {value}")
    return float(value)


def harmonic(n: int) -> float:
    """H_n = 1 + 1/2 + … + 1/n, H_0 = 0."""
    return float(np.sum(1.0 / np.arange(1, n + 1)))


def rounds(horizon: int) -> Array:
    """1, 2, …, T as floats."""
    return np.arange(1.0, as_int(horizon, "horizon", 1) + 1.0)


def spread_of(*, value_bound: float, gradient_bound: float, inner_radius: float, dimension: int) -> float:
    """νk = kM/(Gr): how much longer one-point estimates are than gradients when δ = r.

    >>> spread_of(value_bound=2.0, gradient_bound=1.5, inner_radius=1.0, dimension=3)
    4.0
    """
    scale = as_positive(gradient_bound, "gradient_bound") * as_positive(inner_radius, "inner_radius")
    return as_int(dimension, "dimension", 1) * as_positive(value_bound, "value_bound") / scale


def cut(delays: ArrayLike) -> Counts:
    """Return the delays cut to T − t, as the paper assumes them; raise ValueError for what are no delays.

    >>> cut([5, 0, 9])
    array([2, 0, 0])
    """
    d = np.asarray(delays)
    if d.ndim != 1 or d.size == 0:
        raise ValueError(f"delays must be a sequence with one number per round, got shape {d.shape}")
    if np.any(d < 0) or np.any(d != np.floor(d)):
        raise ValueError(f"delays must be whole numbers, not negative, got {d[(d < 0) | (d != np.floor(d))][0]}")
    # What comes after the last play teaches nothing, and holds its slot to the end all the same.
    return np.asarray(np.minimum(d, np.arange(d.size - 1, -1, -1)), dtype=np.int64)


def per_round(**sequences: ArrayLike) -> list[Array]:
    """Return the sequences as arrays; raise ValueError unless each holds one number per round."""
    arrays = {name: np.asarray(values, dtype=np.float64) for name, values in sequences.items()}
    sizes = {name: values.shape for name, values in arrays.items()}
    if len(set(sizes.values())) > 1 or any(len(shape) != 1 or shape[0] == 0 for shape in sizes.values()):
        raise ValueError(f"one number per round is needed in each of {', '.join(sizes)}, got shapes {sizes}")
    return list(arrays.values())


def pending_sums(values: ArrayLike, delays: ArrayLike) -> Array:
    """Return Σ_{s∈B_t} v_s for t = 1..T, for values v_s ≥ 0. O(T).

    >>> pending_sums([1.0, 2.0, 4.0], [2, 0, 0])
    array([0., 1., 1.])
    """
    v, d = per_round(values=values, delays=cut(delays))
    ended = np.bincount(np.arange(v.size) + d.astype(np.int64), weights=v, minlength=v.size)
    began_before, ended_before = np.cumsum(v) - v, np.cumsum(ended) - ended
    return np.maximum(began_before - ended_before, 0.0)  # rounding may leave a little less than nothing


def inverse_coin(max_backlog: int, capacity: int) -> float:
    """1/p of the paper's Bernoulli scheduler, p = min{1, C/(8(σ_max + 1))}."""
    return max(1.0, 8.0 * (max_backlog + 1) / capacity)


def saturated(capacity: int, horizon: int) -> float:
    """Σ_t P(|S_t| = C) ≤ T·e^(−C) by the paper's saturation lemma."""
    return horizon * math.exp(-float(capacity))


def ask_capacity(capacity: int, horizon: int) -> None:
    """Raise ArgumentError below the capacity for which the paper prints its theorems."""
    least = math.log(as_int(horizon, "horizon", 1)) + 1.0
    if as_int(capacity, "capacity", 1) < least:
        problem = f"must, for the theorem, be at least ln T + 1 = {least:.2f}"
        raise ArgumentError("capacity", problem, capacity, "sharpened=True holds for every capacity")
