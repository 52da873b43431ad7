"""A user's own loss: two plain Python functions of the play and the round."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.kernel import Parameters
from tarry.losses.base import fetch, gradient, value
from tarry.losses.stated import Stated, as_constants, as_function


class Numbered(Parameters):
    """Rows that hold nothing but their round's number; ``rounds`` 0 is endless."""

    rounds: int

    width = 1

    @property
    def horizon(self) -> int | None:
        return self.rounds if self.rounds else None


@fetch.on(Numbered)
def _numbered(rows: Any, t: Any, row: Any) -> None:
    row[0] = t


class Callables(Parameters, Stated, init=False):
    """f_t(x) = value(x, t), with ``gradient(x, t)`` returning a subgradient: plain Python functions.

    The game runs uncompiled, about a thousand times slower than :class:`Custom` with compiled
    functions. ``horizon=None`` is endless.

    >>> losses = Callables(lambda x, t: t * float(x @ x), lambda x, t: 2 * t * x, dimension=2, horizon=9)
    >>> losses.value([1.0, 2.0], t=3)
    15.0
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
            raise ValueError(f"horizon must be a whole number of at least 1, or None, got {horizon}")
        rows = Numbered(0 if horizon is None else int(horizon))
        # A gradient that is returned is an allocation, so compiled functions run as Python here too.
        functions = (_as_python(as_function(f, n)) for f, n in ((value, "value"), (gradient, "gradient")))
        constants = as_constants(dimension, strong_convexity, gradient_bound, value_bound)
        return cls.make(rows, *functions, *constants)


@value.on(Callables)
def _called_value(loss: Any, row: Any, x: Any) -> Any:
    made = float(loss.value_of(x.copy(), int(row[0])))
    if not np.isfinite(made):
        raise ValueError(f"value(x, t) must be finite, got {made} in round {int(row[0])}")
    return made


@gradient.on(Callables)
def _called_gradient(loss: Any, row: Any, x: Any, out: Any) -> None:
    made = np.asarray(loss.gradient_of(x.copy(), int(row[0])), dtype=np.float64)
    if made.shape != x.shape:
        raise ValueError(f"gradient(x, t) must return {x.size} entries, got shape {made.shape}")
    if not np.all(np.isfinite(made)):
        raise ValueError(f"gradient(x, t) must be finite, got {made} in round {int(row[0])}")
    out[:] = made


def _as_python(function: Any) -> Any:
    return getattr(function, "py_func", function)
