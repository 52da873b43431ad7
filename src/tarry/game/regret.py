"""The best fixed action in hindsight, and what it would have lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tarry.domains import nearest
from tarry.game.hindsight import blocks, minimise
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
def _sum_rows(rows: Any, first: Any, last: Any, row: Any, out: Any) -> None:
    for t in range(first, last + 1):
        fetch(rows, t, row)
        for i in range(row.size):
            out[i] += row[i]


@entry
def _losses_at(losses: Any, x: Any, row: Any, first: Any, last: Any, rounds: Any, out: Any, total: Any) -> None:
    i = 0
    for t in range(first, last + 1):
        fetch(losses.rows, t, row)
        total[0] += value(losses, row, x)
        while i < rounds.size and rounds[i] == t:
            out[i] = total[0]
            i += 1


def comparator(
    domain: Any, losses: Any, horizon: int, rounds: np.ndarray, stopped: Callable[[], bool] = lambda: False
) -> Comparator:
    """The best fixed action of the whole horizon, and its losses up to each of ``rounds``.

    Linear and quadratic losses have it in closed form from one pass over their rows; all others take
    :func:`tarry.game.hindsight.minimise`. ``stopped`` is asked between blocks of rounds; where it says
    yes, :class:`Stopped` is raised.
    """

    def pause() -> None:
        if stopped():
            raise Stopped("the search for the best fixed action was stopped")

    found = _in_closed_form(domain, losses, horizon, pause)
    if found is None:
        best = minimise(domain, losses, horizon, pause)
        found = best.point, best.gap
    point, gap = np.ascontiguousarray(found[0]), found[1]
    return Comparator(point, _losses_up_to(losses, point, rounds, pause), gap)


def _losses_up_to(losses: Any, x: np.ndarray, rounds: np.ndarray, pause: Callable[[], None]) -> np.ndarray:
    row, out, total = np.zeros(losses.rows.width), np.zeros(rounds.size), np.zeros(1)
    add = _losses_at.dispatcher_for(losses)
    for first, last in blocks(int(rounds[-1]), pause):
        i, j = np.searchsorted(rounds, (first, last + 1))
        add(losses, x, row, first, last, rounds[i:j], out[i:j], total)
    return out


def _in_closed_form(
    domain: Any, losses: Any, horizon: int, pause: Callable[[], None]
) -> tuple[np.ndarray, float] | None:
    """The minimiser of (c/2)·T·‖x‖² + b⟨Σ rows, x⟩ and its gap, if the losses sum to that."""
    shape = losses.isotropic() if hasattr(losses, "isotropic") else None
    if shape is None:
        return None
    row, total, add = np.zeros(losses.rows.width), np.zeros(losses.rows.width), _sum_rows.dispatcher_for(losses)
    for first, last in blocks(horizon, pause):
        add(losses.rows, first, last, row, total)
    curvature, slope = horizon * shape[0], shape[1] * total[: losses.dimension]
    if curvature == 0.0:
        corner = domain.linear_minimiser(slope)
        return None if corner is None else (corner, 0.0)
    point = nearest(domain, -slope / curvature)
    steepest = slope + curvature * point
    corner = domain.linear_minimiser(steepest)
    return point, 0.0 if corner is None else max(0.0, float(steepest @ (point - corner)))
