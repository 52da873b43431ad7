"""What a loss is: a convex function of the play, fixed before play by the round's data row.

A loss type holds its *rows* (a table, or a keyed generator of them) and a few constants; the round's
row is fetched once and the verbs see only it and the play:

    fetch(rows, t, row)             write the data of round t
    value(loss, row, x)             f_t(x)
    gradient(loss, row, x, out)     write a (sub)gradient of f_t at x

Python methods: ``dimension``, ``horizon`` (None: endless), ``strong_convexity``,
``gradient_bound(domain)`` and ``value_bound(domain)``; bounds are suprema over the domain or safe
over-estimates of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.kernel import Parameters, verb

Row = Any


@verb
def fetch(rows: Any, t: int, row: Row) -> None:
    """Write the data row of round t."""


@verb
def value(loss: Any, row: Row, x: Any) -> float:
    """The loss of this row at x."""


@verb
def gradient(loss: Any, row: Row, x: Any, out: Any) -> None:
    """Write a subgradient of this row's loss at x."""


class _ListedFields(NamedTuple):
    values: np.ndarray


class Listed(Parameters, _ListedFields):
    """Rows given as an array of shape (horizon, width)."""

    __slots__ = ()

    def __new__(cls, values: ArrayLike, name: str = "losses") -> Self:
        table = np.ascontiguousarray(values, dtype=np.float64)
        if table.ndim != 2 or table.size == 0:
            raise ValueError(f"{name} must be an array with one row per round, got shape {table.shape}")
        if not np.all(np.isfinite(table)):
            t, i = np.argwhere(~np.isfinite(table))[0]
            raise ValueError(f"{name} must be finite, got {table[t, i]} in round {t + 1}, entry {i}")
        return cls.make(table)

    @property
    def horizon(self) -> int | None:
        return int(self.values.shape[0])

    @property
    def width(self) -> int:
        return int(self.values.shape[1])

    def largest_norm(self) -> float:
        """The largest Euclidean norm of a row."""
        return float(np.sqrt(np.max(np.einsum("ij,ij->i", self.values, self.values))))


@fetch.on(Listed)
def _listed(rows: Any, t: Any, row: Any) -> None:
    for i in range(row.size):
        row[i] = rows.values[t - 1, i]


def as_rows(rows: Any, name: str) -> Any:
    """Rows from an array, or a generator of rows as it is."""
    if any(isinstance(rows, cls) for cls in fetch.registry.members):
        return rows
    return Listed(rows, name)


def as_ridge(ridge: float) -> float:
    """A non-negative ridge constant."""
    number = float(ridge)
    if not (np.isfinite(number) and number >= 0):
        raise ValueError(f"ridge must not be negative, got {ridge}")
    return number
