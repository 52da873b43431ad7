"""The books of several seeds side by side: what became of rounds, what labels weighed, how full the set was."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarry.game.engine import Outcome
from tarry.game.world import EVENTS, Log
from tarry.results import Weights
from tarry.tracking.tally import FULL_ROUNDS, LARGEST, OCCUPANCY, PEAK, SQUARE, WEIGHT

if TYPE_CHECKING:
    import polars as pl

Array = NDArray[np.float64]


class Occupancy(NamedTuple):
    """The set as a round finds it (expired members gone, none replaced yet), per seed: mean, peak, share full."""

    mean: Array
    peak: Array
    full: Array


class Books(NamedTuple):
    """``fates`` has a row per seed and a column per Fate; the others hold arrays with one entry per seed."""

    fates: NDArray[np.int64]
    weights: Weights
    occupancy: Occupancy


def books_of(outcomes: list[Outcome], horizon: int) -> Books:
    """The books of finished seeds."""
    sums = np.array([outcome.tally.sums for outcome in outcomes])
    counts = np.array([outcome.tally.counts for outcome in outcomes])
    size = np.zeros(len(outcomes))
    np.divide(sums[:, WEIGHT] ** 2, sums[:, SQUARE], out=size, where=sums[:, SQUARE] > 0)
    return Books(
        np.array([outcome.tally.fates for outcome in outcomes]),
        Weights(sums[:, WEIGHT] / horizon, sums[:, SQUARE] / horizon, sums[:, LARGEST], size),
        Occupancy(sums[:, OCCUPANCY] / horizon, counts[:, PEAK].astype(float), counts[:, FULL_ROUNDS] / horizon),
    )


def events_of(log: Log) -> pl.DataFrame:
    """A log's events in order: t, event, s, weight; the weight is that of a "feedback", the delay of a "delay"."""
    import polars as pl

    n = int(log.written[0])
    names = np.array(EVENTS, dtype=object)[log.kind[:n]]
    return pl.DataFrame({"t": log.t[:n], "event": names.astype(str), "s": log.s[:n], "weight": log.weight[:n]})
