"""The best fixed action in hindsight, and what it would have lost."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tarry.kernel import entry
from tarry.losses.base import fetch, value


class Comparator(NamedTuple):
    """The best fixed ``point``, its cumulative ``losses`` at the checkpoints, and a certified ``gap``:
    no fixed action loses less than ``losses[-1] - gap``."""

    point: np.ndarray
    losses: np.ndarray
    gap: float


@entry
def _sum_rows(rows: Any, horizon: Any, row: Any, out: Any) -> None:
    for t in range(1, horizon + 1):
        fetch(rows, t, row)
        for i in range(row.size):
            out[i] += row[i]


@entry
def _losses_at(losses: Any, x: Any, row: Any, rounds: Any, out: Any) -> None:
    total = 0.0
    t = 1
    for i in range(rounds.size):
        while t <= rounds[i]:
            fetch(losses.rows, t, row)
            total += value(losses, row, x)
            t += 1
        out[i] = total


def comparator(domain: Any, losses: Any, horizon: int, rounds: np.ndarray) -> Comparator:
    """The best fixed action of the whole horizon."""
    row = np.zeros(losses.rows.width)
    total = np.zeros(losses.rows.width)
    _sum_rows.of(losses)(losses.rows, horizon, row, total)
    point, gap = domain.linear_minimiser(total), 0.0
    out = np.zeros(rounds.size)
    _losses_at.of(losses)(losses, np.ascontiguousarray(point), row, rounds, out)
    return Comparator(point, out, gap)
