"""A running estimate of the mean label, with what it can be trusted to."""

from __future__ import annotations

from math import nan, sqrt
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from tarry.live.labels import MOST
from tarry.live.tracker import Tracker
from tarry.tracking.tally import FORFEITED, WEIGHT

WEIGHTS, WEIGHTED, SQUARES, SQUARES_BY_LABEL, SQUARES_BY_SQUARE, LABELS, TOTAL, SHIFT = range(8)


class Estimate(NamedTuple):
    """The weighted mean of the labels with a confidence interval, and the naive mean of those seen.

    The interval is for the mean of what the labels are drawn from; for the mean of these very decisions it is wider
    than need be; below two labels there is none (NaN). The naive mean answers another question: what the labels are
    *that came in time*.

    It is made from ``labels`` of them; ``left_out`` were used too, but are no numbers of at most 1e100 in size.
    ``outstanding`` is the share of all decisions, by weight, whose labels are still awaited: while it is large, both
    means lean towards the labels that come quickly (NaN before the first decision and where weights are not unbiased).
    """

    mean: float
    low: float
    high: float
    naive: float
    labels: int
    left_out: int = 0
    outstanding: float = nan

    def rows(self) -> dict[str, str]:
        """The same as text, for tables."""
        return {name.replace("_", " "): f"{value:.6g}" for name, value in self._asdict().items()}


def book_label(sums: Any, weight: float, label: Any) -> None:
    """Count a label that is a number of at most 1e100 in size; others are left out.

    Labels are summed as differences from the first one: of y² the digits that tell them apart may be lost.
    """
    if not isinstance(label, (int, float, np.integer, np.floating, np.bool_)):
        return
    try:
        y = float(label)
    except OverflowError:  # a whole number beyond all floats
        return
    if not abs(y) <= MOST:  # also NaN
        return
    if not sums[LABELS]:
        sums[SHIFT] = y
    y -= sums[SHIFT]
    squared = weight * weight
    sums[WEIGHTS] += weight
    sums[WEIGHTED] += weight * y
    sums[SQUARES] += squared
    sums[SQUARES_BY_LABEL] += squared * y
    sums[SQUARES_BY_SQUARE] += squared * y * y
    sums[LABELS] += 1.0
    sums[TOTAL] += y


def estimate_now(tracker: Tracker, level: float = 0.95) -> Estimate:
    """The estimate of a join's books; to be called within a change."""
    return estimate_of(tracker.vault.sums, level, tracker.ledger()["used"], _outstanding(tracker))


def _outstanding(tracker: Tracker) -> float:
    """One less arrived and expired weight per round: unbiased weights stand for every round that found room."""
    rounds = tracker.rounds - tracker.ledger()["saturated"]
    if not (rounds and tracker.player.scheduler.is_unbiased):
        return nan
    sums = tracker.state.tally.sums
    return min(1.0, max(0.0, 1.0 - float(sums[WEIGHT] + sums[FORFEITED]) / rounds))


def estimate_of(sums: Any, level: float, used: int, outstanding: float) -> Estimate:
    """Σwy/Σw, with the standard error √(Σw²(y − mean)²)/Σw of a ratio of weighted sums, after ``used`` labels."""
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}")
    n, total = int(sums[LABELS]), float(sums[WEIGHTS])
    if total == 0:
        return Estimate(nan, nan, nan, nan, n, used - n, outstanding)
    shift, mean = float(sums[SHIFT]), float(sums[WEIGHTED]) / total
    spread = sums[SQUARES_BY_SQUARE] - 2 * mean * sums[SQUARES_BY_LABEL] + mean * mean * sums[SQUARES]
    reach = nan if n < 2 else NormalDist().inv_cdf((1 + level) / 2) * sqrt(max(float(spread), 0.0)) / total
    mean += shift
    naive = shift + float(sums[TOTAL]) / n
    return Estimate(mean, mean - reach, mean + reach, naive, n, used - n, outstanding)
