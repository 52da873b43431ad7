"""Exponents: what varies in a sweep, and the slope of regret in it as a power law, with an interval.

The least squares line through (log x_i, log m_i), with m_i the mean over seeds at x_i, has the slope Σ c_i log m_i: an
error e of a mean moves the slope by c_i e/m_i. Runs under one seed share their draws and err together, so movements
are summed seed by seed; the interval is their standard error times Student's quantile. Whether the points lie on a
line at all, ``residual`` answers. Points of one line are of one kind of delays (:mod:`tarry.reports.view`).
"""

from __future__ import annotations

from math import isnan, nan
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from tarry.charts import CONFIDENCE, lost, student
from tarry.reports.view import AXIS, View

Array = NDArray[np.float64]
BENT = 1.15  # a mean farther than this factor from its fitted line makes the law doubtful
POINTS = 3  # the fewest means of a slope: two are on a line whatever the law is


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
    half, counts, means = nan, counts[kept], means[kept]
    if (fewest := int(counts.min())) > 1:
        # Each mean's variance is Σ(y − m)²/(n(n − 1)): the root of that goes to every seed's share.
        shares = pulls / means / np.sqrt(counts * (counts - 1.0))
        moved = np.nansum(shares[:, None] * (runs[kept] - means[:, None]), axis=0)
        half = student(CONFIDENCE, fewest - 1) * float(np.sqrt(np.sum(moved**2)))
    residual = float(np.exp(np.max(np.abs(heights - level - slope * logs))))
    return Exponent(slope, slope - half, slope + half, level, residual, int(kept.sum()))


class Quantity(NamedTuple):
    """Something to plot against: ``column`` of the runs, in words, and the keys that make it vary."""

    name: str
    column: str
    words: str
    title: str
    drivers: list[str]


class Fit(NamedTuple):
    """An exponent with where it was found: over which x, from how many means and seeds.

    ``exponent`` is None where a sweep gives none, and ``why`` then says so in words.
    """

    quantity: Quantity
    panel: str
    name: str
    exponent: Exponent | None
    why: str
    reach: tuple[float, float]
    points: int
    seeds: tuple[int, int]

    @property
    def is_straight(self) -> bool:
        """Whether there is an exponent and all means lie near its line."""
        return self.exponent is not None and self.exponent.residual <= BENT


def quantities(view: View) -> list[Quantity]:
    """Return everything that varies in this sweep and has a scale."""
    late, limits = view.delay_keys, view.runs["capacity"].drop_nulls()
    is_limited = limits.n_unique() > 1
    found = []
    if is_limited:
        found.append(Quantity("capacity", "capacity", "capacity C (slots)", "Regret against capacity", ["capacity"]))
    if late:
        if is_limited:  # at one capacity the load is the backlog in other units
            load = "Regret against the load σ_max/C"
            found.append(Quantity("load", "load", "σ_max / C", load, ["capacity", *late]))
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
    return [quantity for quantity in found if measured(view, quantity).height]


def measured(view: View, quantity: Quantity) -> pl.DataFrame:
    """Return runs with columns panel, name, x: the quantity, on average over the seeds of a setting.

    Panels in which the quantity has one value are left out: they show nothing of it.
    """
    runs = view.runs.with_columns(load=pl.col("max_backlog") / pl.col("capacity"))
    named = view.named(runs, quantity.drivers)
    x = pl.col(quantity.column).cast(pl.Float64).mean().over("setting", "line").alias("x")
    found = named.with_columns(x).filter(pl.col("x").is_not_null())
    if quantity.name == "load":  # where one of its two parts is the same throughout, it is the other in other units
        found = found.filter((pl.col("max_backlog").mean().over("setting").round(6).n_unique().over("panel")) > 1)
    return found.filter(pl.col("x").n_unique().over("panel", "name").max().over("panel") > 1)


def fits(view: View, quantity: Quantity) -> list[Fit]:
    """Return an exponent for each panel and line, or why there is none."""
    found, keys = [], ["setting", "line", "x"]
    for (panel, name), runs in measured(view, quantity).group_by("panel", "name", maintain_order=True):
        table = runs.pivot(on="seed", index=keys, values="regret", aggregate_function="mean").sort("x")
        x, regret = table["x"].to_numpy(), table.drop(keys).to_numpy()
        seeds = np.sum(~np.isnan(regret), axis=1)
        exponent, why = None, _why_not(x, runs, regret)
        if not why:
            exponent = fit_exponent(x, regret)
        where = (float(x[0]), float(x[-1])), int(x.size), (int(seeds.min()), int(seeds.max()))
        found.append(Fit(quantity, str(panel), str(name), exponent, why, *where))
    return found


def _why_not(x: Array, runs: pl.DataFrame, regret: Array) -> str:
    """Return why there is no exponent, in words; empty if there is one."""
    if lost(runs["regret"]):  # a run that went astray is not one that was never run
        return "a regret is not finite"
    if (distinct := np.unique(x).size) < POINTS:
        return "one point" if distinct == 1 else "two points"
    # A line through the positive ones alone would tell of a law that the others deny.
    if not (x > 0).all() or not (np.nanmean(regret, axis=1) > 0).all():
        return "a mean is not positive"
    return ""


def slope_text(fit: Fit) -> str:
    """Return a slope with its interval, in a few characters."""
    if fit.exponent is None:
        return f"no slope ({fit.why})"
    if not fit.is_straight:
        return "no power law"
    interval = "" if isnan(fit.exponent.low) else f" [{fit.exponent.low:.2f}, {fit.exponent.high:.2f}]"
    return f"slope {fit.exponent.slope:.2f}{interval}"
