"""The sums an estimate is made of, one label after the other, so that no label spoils the digits of the others."""

from __future__ import annotations

from math import nan, sqrt
from typing import Any, NamedTuple

import numpy as np

from tarry.live.steps import LARGEST

# Σw; Σwy and the digits it has lost; Σw²; the mean of y under the weights w², and Σw²(y − that mean)²; how many
# labels; and their mean without weights.
WEIGHTS, WEIGHTED, LOST, SQUARES, CENTRE, SPREAD, LABELS, NAIVE = range(8)


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
    """Σwy/Σw, with the standard error √(Σw²(y − mean)²)/Σw of a ratio of weighted sums (NaN below two labels)."""
    n, total = int(sums[LABELS]), float(sums[WEIGHTS])
    if total == 0:
        return Moments(nan, nan, nan, n)
    mean = (float(sums[WEIGHTED]) + float(sums[LOST])) / total
    squares, spread = float(sums[SQUARES]), float(sums[SPREAD])
    if spread > 0.0:  # where all labels are equal, the mean differs from them by rounding only
        spread += squares * (float(sums[CENTRE]) - mean) ** 2
    effective = total * total / squares if squares else 0.0
    return Moments(mean, nan if n < 2 else sqrt(spread) / total, float(sums[NAIVE]), n, effective)
