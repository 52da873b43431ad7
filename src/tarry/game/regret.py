"""The best fixed action in hindsight, and what it would have lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tarry.domains import nearest
from tarry.game.hindsight import minimise
from tarry.kernel import entry
from tarry.losses.base import fetch, value


class Stopped(Exception):
    """The search for the best fixed action was told to stop."""


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


def comparator(
    domain: Any, losses: Any, horizon: int, rounds: np.ndarray, stopped: Callable[[], bool] = lambda: False
) -> Comparator:
    """The best fixed action of the whole horizon, and its losses up to each of ``rounds``.

    Linear and quadratic losses have it in closed form from one pass over their rows; all others take
    :func:`tarry.game.hindsight.minimise`.
    """
    found = _in_closed_form(domain, losses, horizon)
    if found is None:
        best = minimise(domain, losses, horizon)
        found = best.point, best.gap
    point, gap = np.ascontiguousarray(found[0]), found[1]
    out = np.zeros(rounds.size)
    _losses_at.of(losses)(losses, point, np.zeros(losses.rows.width), rounds, out)
    return Comparator(point, out, gap)


def _in_closed_form(domain: Any, losses: Any, horizon: int) -> tuple[np.ndarray, float] | None:
    """The minimiser of (c/2)·T·‖x‖² + b⟨Σ rows, x⟩ and its gap, if the losses sum to that."""
    shape = losses.isotropic() if hasattr(losses, "isotropic") else None
    if shape is None:
        return None
    total = np.zeros(losses.rows.width)
    _sum_rows.of(losses)(losses.rows, horizon, np.zeros(losses.rows.width), total)
    curvature, slope = horizon * shape[0], shape[1] * total[: losses.dimension]
    if curvature == 0.0:
        corner = domain.linear_minimiser(slope)
        return None if corner is None else (corner, 0.0)
    point = nearest(domain, -slope / curvature)
    steepest = slope + curvature * point
    corner = domain.linear_minimiser(steepest)
    return point, 0.0 if corner is None else max(0.0, float(steepest @ (point - corner)))
