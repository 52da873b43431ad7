"""A user's own loss: two functions of a data row and the play."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, Self

from numpy.typing import ArrayLike

from tarry.kernel import Parameters, as_step
from tarry.losses.base import as_rows, gradient, value
from tarry.losses.stated import Stated, as_constants, as_function


class Custom(Parameters, Stated, init=False):
    """f_t(x) = value(row_t, x), with ``gradient(row_t, x, out)`` writing a subgradient.

    Functions compiled by Numba (``njit``) run compiled; plain Python ones make
    the whole game run uncompiled. ``rows`` is an array with one data row per round, or a generator of
    rows. ``gradient_bound`` and ``value_bound`` hold on the domain; infinite means not known.

    >>> def value(row, x): return (row[0] * x[0] - 1.0) ** 2
    >>> def gradient(row, x, out): out[0] = 2.0 * row[0] * (row[0] * x[0] - 1.0)
    >>> Custom([[3.0]], value, gradient, dimension=1).gradient([1.0], t=1).tolist()
    [12.0]
    """

    rows: Any
    value_of: Any
    gradient_of: Any
    dimension: int
    strong_convexity: float
    largest_gradient: float
    largest_value: float

    def __new__(
        cls,
        rows: ArrayLike | Any,
        value: Callable[..., float],
        gradient: Callable[..., None],
        *,
        dimension: int,
        strong_convexity: float = 0.0,
        gradient_bound: float = inf,
        value_bound: float = inf,
    ) -> Self:
        made = as_rows(rows, "rows")
        functions = as_step(as_function(value, "value")), as_step(as_function(gradient, "gradient"))
        constants = as_constants(dimension, strong_convexity, gradient_bound, value_bound)
        return cls.make(made, *functions, *constants)


@value.on(Custom)
def _custom_value(loss: Any, row: Any, x: Any) -> Any:
    return loss.value_of(row, x)


@gradient.on(Custom)
def _custom_gradient(loss: Any, row: Any, x: Any, out: Any) -> None:
    loss.gradient_of(row, x, out)
