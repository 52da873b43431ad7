"""A running estimate of the mean label: the sums it is made of, and what it can be trusted to."""

from __future__ import annotations

from math import nan, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tarry.live.core import LARGEST
from tarry.schedulers.base import held

if TYPE_CHECKING:
    from tarry.live.tracker import Tracker

FEW = 30  # so many equal labels are needed before their spread is believed to be small
# Σw; Σwy and the digits it has lost; Σw²; the mean of y under the weights w², and Σw²(y − that mean)²; how many
# labels; and their mean without weights.
WEIGHTS, WEIGHTED, LOST, SQUARES, CENTRE, SPREAD, LABELS, NAIVE = range(8)


class Estimate(NamedTuple):
    """The weighted mean of the labels with a confidence interval, and the naive mean of those seen.

    The interval is for the mean of what the labels are drawn from; for the mean of these very decisions it is wider
    than need be. It is Student's, with the effective sample size (Σw)²/Σw² for the number of labels. There is none
    (NaN) below two labels, and below 30 if all are equal: so few say nothing about how far others may lie. The naive
    mean answers another question: what the labels are *that came in time*.

    It is made from ``labels`` of them; ``left_out`` were used too, but are no numbers below 1e100 in size.
    ``outstanding`` is the share of all decisions, by weight, whose labels are still awaited: while it is large, both
    means lean towards the labels that come quickly. It is 0 when no decision is tracked. While some are it is known
    where weights arrived and held make up all decisions (VarOpt), and NaN elsewhere and before the first decision.
    """

    mean: float
    low: float
    high: float
    naive: float
    labels: int
    left_out: int = 0
    outstanding: float = nan

    def rows(self) -> dict[str, str]:
        """Return the same as text, for tables."""
        return {name.replace("_", " "): f"{value:.6g}" for name, value in self._asdict().items()}


def estimate_now(tracker: Tracker, level: float = 0.95) -> Estimate:
    """Return the estimate of a join's books."""
    try:
        is_level = 0 < level < 1
    except (TypeError, ValueError):
        is_level = False
    if not is_level:
        raise ValueError(f"level must lie between 0 and 1, got {level!r}")
    moments = moments_of(tracker.slots.sums)
    mean, reach = moments.mean, _reach(moments, float(level))
    left_out = tracker.slots.fates()["used"] - moments.labels
    return Estimate(mean, mean - reach, mean + reach, moments.naive, moments.labels, left_out, _outstanding(tracker))


def _reach(moments: Moments, level: float) -> float:
    """Return how far the interval goes to either side: Student's, as if ``effective`` labels of weight one had come."""
    from scipy.special import stdtrit

    if moments.labels < 2 or moments.effective <= 1 or (moments.error == 0 and moments.labels < FEW):
        return nan
    quantile = float(stdtrit(moments.effective - 1, (1 + level) / 2))
    return quantile * moments.error * sqrt(moments.effective / (moments.effective - 1))


def _outstanding(tracker: Tracker) -> float:
    """Return the held weight per decision, where that is known."""
    scheduler = tracker.configuration.player.scheduler
    if not (tracker.rounds and scheduler.is_unbiased):
        return nan
    if not tracker.tracked:
        return 0.0
    holding = float(held(scheduler, tracker.slots.state.scheduler))
    return nan if holding < 0 else min(1.0, holding / tracker.rounds)


class Moments(NamedTuple):
    """The weighted mean and its standard error, the naive mean, how many labels they are of, and (Σw)²/Σw²."""

    mean: float
    error: float
    naive: float
    labels: int
    effective: float = 0.0


def book_label(sums: Any, weight: float, label: Any) -> None:
    """Count a label that is a number below 1e100 in size; others are left out.

    Σwy is summed with its rounding errors (Neumaier), and the spread by the differences from a running mean (West):
    squares of labels far from nought would lose the digits that tell them apart.
    """
    if not isinstance(label, (int, float, np.integer, np.floating, np.bool_)):
        return
    try:
        y = float(label)
    except OverflowError:  # a whole number beyond all floats
        return
    if not abs(y) < LARGEST:  # also NaN
        return
    share, squared, before = weight * y, weight * weight, sums[WEIGHTED]
    after = before + share
    sums[LOST] += (before - after) + share if abs(before) >= abs(share) else (share - after) + before
    sums[WEIGHTED] = after
    sums[WEIGHTS] += weight
    sums[LABELS] += 1.0
    sums[NAIVE] += (y - sums[NAIVE]) / sums[LABELS]
    sums[SQUARES] += squared
    if squared > 0.0:
        away = y - sums[CENTRE]
        sums[CENTRE] += away * (squared / sums[SQUARES])
        sums[SPREAD] += squared * away * (y - sums[CENTRE])


def moments_of(sums: Any) -> Moments:
    """Return Σwy/Σw and the standard error √(Σw²(y − mean)²)/Σw of a ratio of weighted sums (NaN below two labels)."""
    n, total = int(sums[LABELS]), float(sums[WEIGHTS])
    if total == 0:
        return Moments(nan, nan, nan, n)
    mean = (float(sums[WEIGHTED]) + float(sums[LOST])) / total
    squares, spread = float(sums[SQUARES]), float(sums[SPREAD])
    if spread > 0.0:  # where all labels are equal, the mean differs from them by rounding only
        spread += squares * (float(sums[CENTRE]) - mean) ** 2
    effective = total * total / squares if squares else 0.0
    return Moments(mean, nan if n < 2 else sqrt(spread) / total, float(sums[NAIVE]), n, effective)
