"""Exponents: the slope of a power law, from runs under several seeds, with an interval.

The slope is that of the least squares line through (log x_i, log m_i), where m_i is the mean over seeds at x_i. It is
a fixed combination Σ c_i log m_i, so an error e of a mean moves it by c_i e/m_i. Runs under one seed share their
draws and err together; summed seed by seed, these movements keep that. The interval is their standard error times
Student's quantile. It says where the slope would be found with endlessly many seeds at these x; whether the points
lie on a line at all is another question, which ``residual`` answers.
"""

from __future__ import annotations

from math import nan
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarry.results.intervals import CONFIDENCE, student

Array = NDArray[np.float64]


class Exponent(NamedTuple):
    """A slope on log-log axes and its interval, (NaN, NaN) where one seed leaves it unknown.

    ``level`` is the line at log x = 0; ``residual`` the largest distance of a mean from the line, as a factor of at
    least 1; ``points`` how many means were used: those that are not positive have no logarithm and are left out.
    """

    slope: float
    low: float
    high: float
    level: float
    residual: float
    points: int

    def at(self, x: ArrayLike) -> Array:
        """The fitted power law at x."""
        return np.exp(self.level + self.slope * np.log(np.asarray(x, dtype=np.float64)))


def fit_exponent(x: ArrayLike, y_by_seed: ArrayLike, *, confidence: float = CONFIDENCE) -> Exponent:
    """The exponent p of y ∝ x^p.

    ``y_by_seed`` has a row for each x and a column for each seed, NaN where a seed was not run; what was run must be
    finite. It takes two different x > 0 with positive means.

    >>> found = fit_exponent([1, 4, 16], [[2.0, 2.2], [4.0, 4.4], [8.0, 8.8]])
    >>> round(found.slope, 12), round(found.high - found.low, 12), round(found.residual, 12)
    (0.5, 0.0, 1.0)
    """
    at, runs = np.asarray(x, dtype=np.float64), np.asarray(y_by_seed, dtype=np.float64)
    if runs.ndim != 2 or at.shape != runs.shape[:1]:
        raise ValueError(f"y_by_seed needs a row for each of {at.size} x, got shape {runs.shape}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be a share between 0 and 1, got {confidence}")
    if np.isinf(runs).any():
        count = int(np.isinf(runs).sum())
        raise ValueError(f"y_by_seed must be finite, or NaN where a seed was not run, got {count} infinite values")
    counts = np.sum(np.isfinite(runs), axis=1)
    means = np.where(counts > 0, np.nansum(runs / np.maximum(counts, 1)[:, None], axis=1), nan)
    kept = (at > 0) & np.isfinite(at) & (means > 0)
    if np.unique(at[kept]).size < 2:
        raise ValueError(f"an exponent needs two different x > 0 with positive means, got {_shown(at, means)}")
    logs, heights = np.log(at[kept]), np.log(means[kept])
    away = logs - logs.mean()
    pulls = away / np.sum(away**2)
    slope = float(pulls @ heights)
    level = float(heights.mean() - slope * logs.mean())
    half = _half_width(pulls / means[kept], runs[kept], means[kept], confidence)
    residual = float(np.exp(np.max(np.abs(heights - level - slope * logs))))
    return Exponent(slope, slope - half, slope + half, level, residual, int(kept.sum()))


def _half_width(pulls: Array, runs: Array, means: Array, confidence: float) -> float:
    """The quantile times the standard error of Σ pulls·mean, from sums of movements seed by seed."""
    counts = np.sum(np.isfinite(runs), axis=1)
    fewest = int(counts.min())
    if fewest < 2:
        return nan
    # Each mean's variance is Σ(y − m)²/(n(n − 1)): the root of that goes to every seed's share.
    shares = pulls / np.sqrt(counts * (counts - 1.0))
    moved = np.nansum(shares[:, None] * (runs - means[:, None]), axis=0)
    return student(confidence, fewest - 1) * float(np.sqrt(np.sum(moved**2)))


def _shown(at: Array, means: Array) -> str:
    return ", ".join(f"{a:g}: {m:.3g}" for a, m in zip(at[:6], means[:6], strict=True)) + (", …" if at.size > 6 else "")
