"""Exponents: what varies in a sweep, and the slope of regret in it as a power law, with an interval.

The slope is that of the least squares line through (log x_i, log m_i), where m_i is the mean over seeds at x_i. It is
a fixed combination Σ c_i log m_i, so an error e of a mean moves it by c_i e/m_i. Runs under one seed share their
draws and err together; summed seed by seed, these movements keep that. The interval is their standard error times
Student's quantile. It says where the slope would be found with endlessly many seeds at these x; whether the points
lie on a line at all is another question, which ``residual`` answers.
"""

from __future__ import annotations

from math import isnan, nan
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from tarry.charts import CONFIDENCE, lost, student
from tarry.reports.view import AXIS

if TYPE_CHECKING:
    from tarry.reports.view import View

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
        """Return the fitted power law at x."""
        return np.exp(self.level + self.slope * np.log(np.asarray(x, dtype=np.float64)))


def fit_exponent(x: ArrayLike, y_by_seed: ArrayLike) -> Exponent:
    """Return the exponent p of y ∝ x^p.

    ``y_by_seed`` has a row for each x and a column for each seed, NaN where a seed was not run; what was run must be
    finite. It takes two different x > 0 with positive means.

    >>> found = fit_exponent([1, 4, 16], [[2.0, 2.2], [4.0, 4.4], [8.0, 8.8]])
    >>> round(found.slope, 12), round(found.high - found.low, 12), round(found.residual, 12)
    (0.5, 0.0, 1.0)
    """
    at, runs = np.asarray(x, dtype=np.float64), np.asarray(y_by_seed, dtype=np.float64)
    if runs.ndim != 2 or at.shape != runs.shape[:1]:
        raise ValueError(f"y_by_seed needs a row for each of {at.size} x, got shape {runs.shape}")
    if np.isinf(runs).any():
        count = int(np.isinf(runs).sum())
        raise ValueError(f"y_by_seed must be finite, or NaN where a seed was not run, got {count} infinite values")
    counts = np.sum(np.isfinite(runs), axis=1)
    means = np.where(counts > 0, np.nansum(runs / np.maximum(counts, 1)[:, None], axis=1), nan)
    kept = (at > 0) & np.isfinite(at) & (means > 0)
    if np.unique(at[kept]).size < 2:
        got = ", ".join(f"{a:g}: {m:.3g}" for a, m in zip(at[:6], means[:6], strict=True)) + ", …" * (at.size > 6)
        raise ValueError(f"an exponent needs two different x > 0 with positive means, got {got}")
    logs, heights = np.log(at[kept]), np.log(means[kept])
    away = logs - logs.mean()
    pulls = away / np.sum(away**2)
    slope = float(pulls @ heights)
    level = float(heights.mean() - slope * logs.mean())
    half = _half_width(pulls / means[kept], runs[kept], means[kept])
    residual = float(np.exp(np.max(np.abs(heights - level - slope * logs))))
    return Exponent(slope, slope - half, slope + half, level, residual, int(kept.sum()))


def _half_width(pulls: Array, runs: Array, means: Array) -> float:
    """Return the quantile times the standard error of Σ pulls·mean, from sums of movements seed by seed."""
    counts = np.sum(np.isfinite(runs), axis=1)
    fewest = int(counts.min())
    if fewest < 2:
        return nan
    # Each mean's variance is Σ(y − m)²/(n(n − 1)): the root of that goes to every seed's share.
    shares = pulls / np.sqrt(counts * (counts - 1.0))
    moved = np.nansum(shares[:, None] * (runs - means[:, None]), axis=0)
    return student(CONFIDENCE, fewest - 1) * float(np.sqrt(np.sum(moved**2)))


class Quantity(NamedTuple):
    """Something to plot against: ``column`` of the runs, in words, and the keys that make it vary."""

    name: str
    column: str
    words: str
    title: str
    drivers: list[str]


class Fit(NamedTuple):
    """An exponent with where it was found; None where it cannot be."""

    quantity: Quantity
    panel: str
    name: str
    exponent: Exponent | None


def quantities(view: View) -> list[Quantity]:
    """Return everything that varies in this sweep and has a scale."""
    late, limits = view.delay_keys, view.runs["capacity"].drop_nulls()
    is_limited = limits.n_unique() > 1
    found = []
    if is_limited:
        found.append(Quantity("capacity", "capacity", "capacity C (slots)", "Regret against capacity", ["capacity"]))
    if is_limited or (late and limits.len()):
        found.append(Quantity("load", "load", "σ_max / C", "Regret against the load σ_max/C", ["capacity", *late]))
    if late:
        backlog = "largest backlog σ_max"
        found.append(Quantity("backlog", "max_backlog", backlog, "Regret against the largest backlog", late))
        found.append(Quantity("delay", "total_delay", "total delay d_tot", "Regret against total delay", late))
    for name, words in (("dimension", "dimension k"), ("horizon", "horizon T (rounds)")):
        if name in view.game_keys:
            found.append(Quantity(name, name, words, f"Regret against {name}", [name]))
    for key in dict.fromkeys([*view.game_keys, *view.player_keys]):
        if key.startswith(AXIS) and key not in late and view.runs.schema[key].is_numeric():
            words = key.removeprefix(AXIS)
            found.append(Quantity(words, key, words, f"Regret against {words}", [key]))
    # What varies in the file may still be the same in every finished run.
    return [q for q in found if measured(view, q)["x"].drop_nulls().n_unique() > 1]


def measured(view: View, quantity: Quantity) -> pl.DataFrame:
    """Return runs with columns panel, name, x: the quantity, on average over the seeds of a setting."""
    runs = view.runs.with_columns(load=pl.col("max_backlog") / pl.col("capacity"))
    named = view.named(runs, quantity.drivers)
    x = pl.col(quantity.column).cast(pl.Float64).mean().over("setting", "line").alias("x")
    return named.with_columns(x).filter(pl.col("x").is_not_null())


def fits(view: View, quantity: Quantity) -> list[Fit]:
    """Return an exponent for each panel and line."""
    groups = measured(view, quantity).group_by("panel", "name", maintain_order=True)
    return [Fit(quantity, str(panel), str(name), _fitted(runs)) for (panel, name), runs in groups]


def _fitted(runs: pl.DataFrame) -> Exponent | None:
    """Return the exponent; None with fewer than two positive means, or where a run has no finite regret."""
    if lost(runs["regret"]):  # a run that went astray is not one that was never run
        return None
    table = runs.pivot(on="seed", index=["setting", "line", "x"], values="regret", aggregate_function="mean").sort("x")
    try:
        return fit_exponent(table["x"].to_numpy(), table.drop("setting", "line", "x").to_numpy())
    except ValueError:
        return None


def slope_text(exponent: Exponent | None) -> str:
    """Return a slope with its interval, in a few characters."""
    if exponent is None:
        return "no slope"
    interval = "" if isnan(exponent.low) else f" [{exponent.low:.2f}, {exponent.high:.2f}]"
    return f"slope {exponent.slope:.2f}{interval}"
