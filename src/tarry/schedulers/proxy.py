"""Proxy delays with a survival curve of one's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarry.kernel import Parameters, as_step, register_methods, verb
from tarry.schedulers.survival import NEVER, Surviving

FARTHEST = 1 << 40  # an age past which a function's curve counts as level
# Where a function is looked at: every small age, then powers of two up to FARTHEST.
CHECKED_ROUNDS = (1, 2, 3, 10, 100, 10_000, 1_000_000)
CHECKED_AGES = (*range(64), *(1 << k for k in range(6, 41)))


class Curve(Parameters):
    """Base of survival curves by round and age."""

    def __init_subclass__(cls) -> None:
        register_methods(cls, (height, reach))


@verb
def height(curve: Curve, t: int, age: int) -> float:
    """Return the curve of round t at this age."""


@verb
def reach(curve: Curve) -> int:
    """Return the age from which on every curve stays level."""


class AgeTable(Curve):
    """One value per age for all rounds; the last one continues."""

    values: np.ndarray

    def height(self, t: int, age: int) -> float:
        return self.values[min(age, self.values.size - 1)]

    def reach(self) -> int:
        return self.values.shape[-1] - 1


class RoundTable(AgeTable):
    """One row per round, one column per age; the last row and the last column continue."""

    def height(self, t: int, age: int) -> float:
        rounds, ages = self.values.shape
        return self.values[min(t, rounds) - 1, min(age, ages - 1)]


class AgeFunction(Curve):
    """A function survival(t, age)."""

    function: Callable[[int, int], float]

    def height(self, t: int, age: int) -> float:
        return self.function(t, age)

    def reach(self) -> int:
        return FARTHEST


class Proxy(Surviving, init=False):
    """Proxy delays with P(d'_t ≥ age) = survival: a table, or a function survival(t, age).

    A one-dimensional table has one value per age and its last value continues; a two-dimensional one has a row per
    round and its last row and column continue. A Numba-compiled function runs at full speed, a plain Python one makes
    the whole run uncompiled. Values lie in [0, 1] and may not increase with age. They must be positive: a round whose
    delay is never survived is never seen, which biases every sum; ``allow_zero=True`` accepts that. Functions are
    checked at sample rounds and ages only, and ages past 2^40 count as infinite. Preempts, unless the curve is a table
    that is level in age.

    >>> Proxy([1.0, 0.5, 0.25]).survival(t=1, age=[0, 1, 9]).tolist()
    [1.0, 0.5, 0.25]
    """

    curve: Curve
    is_level: int  # in age: a round once tracked is kept to arrival
    has_zeros: int

    def __new__(cls, survival: ArrayLike | Callable[[int, int], float], *, allow_zero: bool = False) -> Self:
        if callable(survival):
            curve: Curve = AgeFunction.make(as_step(survival))
            try:
                shares = np.array([[survival(t, age) for age in CHECKED_AGES] for t in CHECKED_ROUNDS])
            except TypeError as error:
                raise TypeError(f"survival must be a function of round and age, survival(t, age): {error}") from error
        else:
            shares = np.array(survival, dtype=np.float64, order="C")
            if shares.ndim not in (1, 2) or shares.size == 0:
                raise ValueError(f"survival needs one value per age or a row per round, got shape {shares.shape}")
            curve = (AgeTable if shares.ndim == 1 else RoundTable).make(shares)
        bad = ~((shares >= 0) & (shares <= 1))  # so that NaN is bad too
        if np.any(bad):
            raise ValueError(f"survival must lie in [0, 1], got {shares[bad][0]}")
        rises = np.argwhere(np.diff(shares) > 0)
        if rises.size:
            *row, age = rises[0]
            here, later = shares[*row, age], shares[*row, age + 1]
            raise ValueError(f"survival may not increase with age, got {here} and then {later}")
        if np.any(shares == 0) and not allow_zero:
            problem = "survival reaches 0: rounds with such delays would never be seen, and sums would be biased"
            raise ValueError(f"{problem}; keep it positive, or say allow_zero=True")
        level = not callable(survival) and bool(np.all(shares == shares[..., :1]))
        return cls.make(curve, int(level), int(np.any(shares == 0)))

    @property
    def needs_preemption(self) -> bool:  # type: ignore[override]
        return not self.is_level

    @property
    def is_unbiased(self) -> bool:  # type: ignore[override]
        return not self.has_zeros

    def survival(self, t: int, age: ArrayLike, capacity: int | None = None) -> NDArray[np.float64]:
        """Return P(d'_t ≥ age); the capacity does not matter."""
        ages = np.asarray(age, dtype=np.int64)
        return np.array([height(self.curve, t, int(a)) for a in ages.ravel()]).reshape(ages.shape)

    def chance(self, scale: float, s: int, age: int) -> float:
        return height(self.curve, s, age)

    def invert(self, scale: float, t: int, u: float) -> float:
        curve = self.curve
        last = reach(curve)
        if height(curve, t, last) >= u:
            return NEVER
        if height(curve, t, 0) < u:
            return -1.0
        # Doubling first, then bisection: a short proxy is found in a few looks, however long the curve.
        low = 0
        high = 1
        while high < last and height(curve, t, high) >= u:
            low = high
            high *= 2
        high = min(high, last)
        while high - low > 1:
            middle = (low + high) >> 1
            if height(curve, t, middle) >= u:
                low = middle
            else:
                high = middle
        return np.float64(low)
