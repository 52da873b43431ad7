"""Delays read off two columns of timestamps: when it was decided, when feedback came."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tarry.delays.base import Delays, delay
from tarry.delays.timestamps import Times, as_times
from tarry.kernel import Parameters


class Trace(Parameters, Delays, init=False):
    """Recorded delays; see :func:`trace`.

    ``order[t − 1]`` is the row (from 0) that became round t; ``truncated`` counts the rounds whose
    feedback never came.
    """

    cut: np.ndarray
    order: np.ndarray
    truncated: int

    def __new__(cls, decided: Times, feedback: Times) -> Self:
        order = np.argsort(decided.values, kind="stable")
        taus, phis, never = decided.values[order], feedback.values[order], feedback.missing[order]
        kind = np.result_type(taus, phis) if not never.all() else taus.dtype
        rounds = np.arange(1, taus.size + 1)
        arrivals = np.full(taus.size, taus.size, np.int64)
        arrivals[~never] = np.searchsorted(taus.astype(kind), phis[~never].astype(kind), side="right")
        return cls.make(np.ascontiguousarray(arrivals - rounds), order.astype(np.int64), int(never.sum()))

    @property
    def horizon(self) -> int:  # type: ignore[override]
        return int(self.cut.size)

    def first(self, rounds: int) -> NDArray[np.int64]:
        return np.asarray(self.cut[:rounds])


@delay.on(Trace)
def _delay(delays: Any, t: Any) -> Any:
    return delays.cut[t - 1]


def trace(decided_at: Any, feedback_at: Any, *, sort: bool = False, never: str = "refuse") -> Trace:
    """Delays of recorded decisions: round s is the s-th decision in time, at τ_s, its feedback at φ_s.

        d_s = #{t : τ_t ≤ φ_s} − s

    Each column is an array (numbers or datetime64), a polars or pandas series, or a list of numbers,
    dates or ISO strings. Rows must be in order of ``decided_at``; with ``sort=True`` they are put in
    order, ties as they stand, and ``.order`` says which row became which round. The last round has
    no end, so feedback after the last decision comes in it. A missing feedback time (None, NaT, NaN, inf)
    is refused unless ``never="end"``: such feedback comes after the end and counts as ``truncated``.

    >>> trace([0.0, 1.0, 2.0, 3.0], [2.5, 1.0, 2.9, 9.0]).values.tolist()
    [2, 0, 0, 0]
    """
    if never not in ("refuse", "end"):
        raise ValueError(f'never must be "refuse" or "end", got {never!r}')
    decided, feedback = as_times(decided_at, "decided_at"), as_times(feedback_at, "feedback_at")
    _check_columns(decided, feedback)
    if not sort and np.any(decided.values[1:] < decided.values[:-1]):
        row = int(np.flatnonzero(decided.values[1:] < decided.values[:-1])[0])
        raise ValueError(
            f"decided_at must be in order, but row {row + 1} ({decided.values[row + 1]}) is earlier than "
            f"row {row} ({decided.values[row]}): sort the rows, or pass sort=True and read .order"
        )
    if never == "refuse" and feedback.missing.any():
        raise ValueError(
            f"feedback_at is missing in {int(feedback.missing.sum())} rows, first in row "
            f'{int(np.argmax(feedback.missing))}: drop them, or pass never="end" to let it come after the end'
        )
    return Trace(decided, feedback)


def _check_columns(decided: Times, feedback: Times) -> None:
    if decided.values.size == 0 or decided.values.size != feedback.values.size:
        raise ValueError(
            f"decided_at and feedback_at must have as many rows as each other and at least one, "
            f"got {decided.values.size} and {feedback.values.size}"
        )
    if decided.missing.any():
        raise ValueError(f"decided_at is missing in row {int(np.argmax(decided.missing))}")
    if feedback.missing.all():
        return
    if decided.kind != feedback.kind:
        raise ValueError(f"decided_at holds {decided.kind}, feedback_at {feedback.kind}: give one kind")
    early = ~feedback.missing & (feedback.values < decided.values)
    if early.any():
        row = int(np.argmax(early))
        raise ValueError(
            f"feedback in row {row} ({feedback.values[row]}) comes before its decision "
            f"({decided.values[row]}): check the two columns"
        )
