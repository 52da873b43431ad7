"""Linear losses."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.kernel import Parameters
from tarry.losses.base import as_ridge, as_rows, gradient, value


class _LinearFields(NamedTuple):
    rows: Any
    ridge: float


class Linear(Parameters, _LinearFields):
    """f_t(x) = ⟨g_t, x⟩ + (ridge/2)‖x‖², one row g_t per round.

    >>> Linear([[1.0, 0.0], [0.0, 2.0]]).dimension
    2
    """

    __slots__ = ()

    def __new__(cls, rows: ArrayLike | Any, *, ridge: float = 0.0) -> Self:
        return cls.make(as_rows(rows, "rows"), as_ridge(ridge))

    @property
    def dimension(self) -> int:
        return int(self.rows.width)

    @property
    def horizon(self) -> int | None:
        return self.rows.horizon  # type: ignore[no-any-return]

    @property
    def strong_convexity(self) -> float:
        return self.ridge

    def gradient_bound(self, domain: Any) -> float:
        return self.rows.largest_norm() + self.ridge * _reach(domain)

    def value_bound(self, domain: Any) -> float:
        reach = _reach(domain)
        return self.rows.largest_norm() * reach + self.ridge * reach**2 / 2


def _reach(domain: Any) -> float:
    return float(np.linalg.norm(domain.center)) + float(domain.outer_radius)


@value.on(Linear)
def _value(loss: Any, row: Any, x: Any) -> Any:
    total = 0.0
    squares = 0.0
    for i in range(x.size):
        total += row[i] * x[i]
        squares += x[i] * x[i]
    return total + 0.5 * loss.ridge * squares


@gradient.on(Linear)
def _gradient(loss: Any, row: Any, x: Any, out: Any) -> None:
    for i in range(x.size):
        out[i] = row[i] + loss.ridge * x[i]
