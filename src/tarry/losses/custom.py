"""A user's own losses: functions of a data row and the play, or of the play and the round."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_int, as_nonnegative
from tarry.errors import ArgumentError
from tarry.kernel import as_step
from tarry.losses.base import Losses, Region, Rows, RowSource, Vector, as_rows, gradient, value


class Stated(Losses, init=False):
    """Base of losses whose constants their author states."""

    dimension: int
    strong_convexity: float
    largest_gradient: float
    largest_value: float

    has_stated_constants = True

    def gradient_bound(self, domain: Region) -> float:
        return self.largest_gradient

    def value_bound(self, domain: Region) -> float:
        return self.largest_value


def _constants(
    functions: dict[str, Any], dimension: int, strong_convexity: float, gradient_bound: float, value_bound: float
) -> tuple[int, float, float, float]:
    """Return dimension, strong convexity and bounds, in the order of the fields; raise where a function is none."""
    for name, function in functions.items():
        if not callable(function):
            raise TypeError(f"{name} must be a function, got {type(function).__name__}")
    for bound, name in ((gradient_bound, "gradient_bound"), (value_bound, "value_bound")):
        if not float(bound) >= 0:
            raise ArgumentError(name, "must not be negative", bound, "leave it out if it is not known")
    size, curvature = as_int(dimension, "dimension", 1), as_nonnegative(strong_convexity, "strong_convexity")
    return size, curvature, float(gradient_bound), float(value_bound)


class Custom(Stated, init=False):
    """Losses of your own, from a row of numbers for each round.

    f_t(x) = value(row_t, x), with ``gradient(row_t, x, out)`` writing a subgradient.

    Functions compiled by Numba (``njit``) run compiled; plain Python ones make the whole game run uncompiled. ``rows``
    is an array with one data row per round, or a generator of rows. The two bounds hold on the domain.

    >>> def value(row, x): return (row[0] * x[0] - 1.0) ** 2
    >>> def gradient(row, x, out): out[0] = 2.0 * row[0] * (row[0] * x[0] - 1.0)
    >>> Custom([[3.0]], value, gradient, dimension=1).gradient([1.0], t=1).tolist()
    [12.0]
    """

    value_of: Any
    gradient_of: Any

    def __new__(
        cls,
        rows: Rows,
        value: Callable[..., float],
        gradient: Callable[..., None],
        *,
        dimension: int,
        strong_convexity: float = 0.0,
        gradient_bound: float = inf,
        value_bound: float = inf,
    ) -> Self:
        source = as_rows(rows, "rows")
        functions = {"value": value, "gradient": gradient}
        constants = _constants(functions, dimension, strong_convexity, gradient_bound, value_bound)
        return cls.make(source, *constants, as_step(value), as_step(gradient))


@value.on(Custom)
def _custom_value(loss: Custom, row: Vector, x: Vector) -> float:
    return loss.value_of(row, x)


@gradient.on(Custom)
def _custom_gradient(loss: Custom, row: Vector, x: Vector, out: Vector) -> None:
    loss.gradient_of(row, x, out)


class Numbered(RowSource):
    """Rows that hold nothing but their round's number."""

    rounds: int  # 0 is endless

    width = 1

    @property
    def horizon(self) -> int | None:
        return self.rounds if self.rounds else None

    def fetch(self, t: int, row: Vector) -> None:
        row[0] = t


class Callables(Stated, init=False):
    """Losses of your own in plain Python, from the play and the round.

    f_t(x) = value(x, t), t from 1, with ``gradient(x, t)`` returning a subgradient: plain Python functions.

    The game runs uncompiled, about a thousand times slower than with :class:`Custom`. ``horizon=None`` is endless.

    >>> losses = Callables(lambda x, t: t * float(x @ x), lambda x, t: 2 * t * x, dimension=2, horizon=9)
    >>> losses.value([1.0, 2.0], t=3)
    15.0
    """

    value_of: Any
    gradient_of: Any

    def __new__(
        cls,
        value: Callable[..., float],
        gradient: Callable[..., ArrayLike],
        *,
        dimension: int,
        horizon: int | None,
        strong_convexity: float = 0.0,
        gradient_bound: float = inf,
        value_bound: float = inf,
    ) -> Self:
        if horizon is not None and (int(horizon) != horizon or horizon < 1):
            raise ArgumentError("horizon", "must be a whole number of at least 1, or None", horizon)
        named = {"value": value, "gradient": gradient}
        constants = _constants(named, dimension, strong_convexity, gradient_bound, value_bound)
        # A gradient that is returned is an allocation, so compiled functions run as Python here too.
        functions = (getattr(function, "py_func", function) for function in named.values())
        return cls.make(Numbered(0 if horizon is None else int(horizon)), *constants, *functions)


@value.on(Callables)
def _called_value(loss: Callables, row: Vector, x: Vector) -> float:
    loss_value = float(loss.value_of(x.copy(), int(row[0])))  # a copy, for the user may keep or change it
    if not np.isfinite(loss_value):
        raise ValueError(f"value(x, t) must be finite, got {loss_value} in round {int(row[0])}")
    return loss_value


@gradient.on(Callables)
def _called_gradient(loss: Callables, row: Vector, x: Vector, out: Vector) -> None:
    slope = np.asarray(loss.gradient_of(x.copy(), int(row[0])), dtype=np.float64)
    if slope.shape != x.shape:
        raise ValueError(f"gradient(x, t) must return {x.size} entries, got shape {slope.shape}")
    if not np.all(np.isfinite(slope)):
        raise ValueError(f"gradient(x, t) must be finite, got {slope} in round {int(row[0])}")
    out[:] = slope
