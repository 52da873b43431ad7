"""Exponents: what varies in a sweep, the slope of regret in it on log-log axes, and whether that is a power law.

The least squares line through (log x_i, log m_i), with m_i the mean over seeds at x_i, has the slope Σ c_i log m_i: an
error e of a mean moves the slope by c_i e/m_i. Runs under one seed share their draws and err together, so movements
are summed seed by seed; the interval is their standard error times Student's quantile. The *bend* is how much the slope
of the least squares parabola changes from the first x to the last, and the distance of a mean from the line is another
such sum: both have intervals in the same way, and say whether there is one slope at all. Points of one line are of one
kind of delays (:mod:`tarry.reports.view`).
"""

from __future__ import annotations

from math import isnan, log, nan
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from tarry.charts import CONFIDENCE, lost, student
from tarry.outcomes import number
from tarry.reports.view import AXIS, View

Array = NDArray[np.float64]
FLAT = 0.2  # a slope that changes by less from end to end is one slope: ±0.1 tells √T from T^0.6
NEAR = log(1.15)  # a mean farther than this factor from its line is off it
POINTS = 3  # the fewest means of a slope: two are on a line whatever the law is


class Exponent(NamedTuple):
    """A slope on log-log axes with half its interval, and what there is to say for one slope.

    Halves are NaN where one seed leaves them unknown, the bend is NaN with fewer than three x. ``level`` is the line at
    log x = 0; ``points`` how many means were used: those that are not positive have no logarithm and are left out.
    """

    slope: float
    half: float
    bend: float  # the slope at the last x less that at the first, along a parabola
    bend_half: float
    level: float
    points: int
    is_straight: bool  # known: the slope changes by less than FLAT, and every mean is NEAR the line
    is_bent: bool  # known, and it is not straight: the slope changes, or a mean is off the line

    @property
    def low(self) -> float:
        """The lower end of the slope's interval."""
        return self.slope - self.half

    @property
    def high(self) -> float:
        """Its upper end."""
        return self.slope + self.half

    def at(self, x: ArrayLike) -> Array:
        """Return the fitted power law at x."""
        return np.exp(self.level + self.slope * np.log(np.asarray(x, dtype=np.float64)))


def fit_exponent(x: ArrayLike, y_by_seed: ArrayLike) -> Exponent:
    """Return the exponent p of y ∝ x^p.

    ``y_by_seed`` has a row for each x and a column for each seed, NaN where a seed was not run; what was run must be
    finite. It takes two different x > 0 with positive means.

    >>> found = fit_exponent([1, 4, 16], [[2.0, 2.2], [4.0, 4.4], [8.0, 8.8]])
    >>> round(found.slope, 12), round(found.half, 12), found.is_straight
    (0.5, 0.0, True)
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
    if (distinct := np.unique(at[kept]).size) < 2:
        got = ", ".join(f"{a:g}: {m:.3g}" for a, m in zip(at[:6], means[:6], strict=True)) + ", …" * (at.size > 6)
        raise ValueError(f"an exponent needs two different x > 0 with positive means, got {got}")
    logs, heights, counts, means = np.log(at[kept]), np.log(means[kept]), counts[kept], means[kept]
    away = logs - logs.mean()
    line = np.linalg.pinv(np.vander(away, 2))  # rows: the slope and the middle, as sums over heights
    turn = 2.0 * np.ptp(logs) * np.linalg.pinv(np.vander(away, 3))[0]
    sums = np.vstack((line[0], turn, np.eye(logs.size) - np.vander(away, 2) @ line))
    slope, bend, *off = sums @ heights
    halves, wider = np.full(len(sums), nan), 1.0
    if (fewest := int(counts.min())) > 1:
        # Each mean's variance is Σ(y − m)²/(n(n − 1)): the root of that goes to every seed's share.
        apart = np.nan_to_num(runs[kept] / means[:, None] - 1.0)
        shares = apart / np.sqrt(counts * (counts - 1.0))[:, None]
        halves = student(CONFIDENCE, fewest - 1) * np.sqrt(np.sum((sums @ shares) ** 2, axis=1))
        # Of many means one is off its line by chance: their intervals hold together (Bonferroni).
        wider = student(1.0 - (1.0 - CONFIDENCE) / logs.size, fewest - 1) / student(CONFIDENCE, fewest - 1)
    turned, far = abs(bend), np.abs(off)
    is_known = distinct >= POINTS and not isnan(halves[0])
    is_straight = is_known and bool(turned + halves[1] <= FLAT and np.all(far + halves[2:] <= NEAR))
    turns = turned > halves[1] or np.any((far > wider * halves[2:]) & (far > NEAR))
    return Exponent(
        float(slope),
        float(halves[0]),
        float(bend) if distinct >= POINTS else nan,
        float(halves[1]) if distinct >= POINTS else nan,
        float(heights.mean() - slope * logs.mean()),
        int(kept.sum()),
        is_straight,
        is_known and not is_straight and bool(turns),
    )


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
    def law(self) -> str:
        """Whether the points follow a power law, in a word or two; or why there is no slope."""
        found = self.exponent
        if found is None:
            return self.why
        return "straight" if found.is_straight else "bent" if found.is_bent else "not settled"


def quantities(view: View) -> list[Quantity]:
    """Return everything that varies in this sweep and has a scale."""
    late, found = view.delay_keys, []
    if view.runs["capacity"].drop_nulls().n_unique() > 1:
        found.append(Quantity("capacity", "capacity", "capacity C (slots)", "Regret against capacity", ["capacity"]))
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
    return [quantity for quantity in found if measured(view, quantity).height]


def measured(view: View, quantity: Quantity) -> pl.DataFrame:
    """Return runs with columns panel, name, x: the quantity, on average over the seeds of a setting.

    Panels in which the quantity has one value are left out: they show nothing of it.
    """
    named = view.named(view.runs, quantity.drivers)
    x = pl.col(quantity.column).cast(pl.Float64).mean().over("setting", "line").alias("x")
    found = named.with_columns(x).filter(pl.col("x").is_not_null())
    found = found.with_columns(pl.col("x").n_unique().over("panel", "name").alias("many"))
    return found.filter(pl.col("many").max().over("panel") > 1).drop("many")


def fits(view: View, quantity: Quantity) -> list[Fit]:
    """Return an exponent for each panel and line, or why there is none."""
    found, keys = [], ["setting", "line", "x"]
    for (panel, name), runs in measured(view, quantity).group_by("panel", "name", maintain_order=True):
        table = runs.pivot(on="seed", index=keys, values="regret", aggregate_function="mean").sort("x")
        x, regret = table["x"].to_numpy(), table.drop(keys).to_numpy()
        seeds = np.sum(~np.isnan(regret), axis=1)
        exponent, why = None, _why_not(x, runs, regret, int(seeds.min()))
        if not why:
            exponent = fit_exponent(x, regret)
        where = (float(x[0]), float(x[-1])), int(x.size), (int(seeds.min()), int(seeds.max()))
        found.append(Fit(quantity, str(panel), str(name), exponent, why, *where))
    return found


def _why_not(x: Array, runs: pl.DataFrame, regret: Array, fewest: int) -> str:
    """Return why there is no exponent, in words; empty if there is one."""
    if lost(runs["regret"]):  # a run that went astray is not one that was never run
        return "a regret is not finite"
    if (distinct := np.unique(x).size) < POINTS:
        return "one point" if distinct == 1 else "two points"
    if fewest < 2:
        return "one seed"
    # A line through the positive ones alone would tell of a law that the others deny.
    means = np.nanmean(regret, axis=1)
    if not (x > 0).all() or not (means > 0).all():
        return "a mean is not positive"
    # Errors as large as their mean are not in proportion to those of its logarithm.
    counts = np.sum(~np.isnan(regret), axis=1)
    halves = student(CONFIDENCE, fewest - 1) * np.nanstd(regret, axis=1, ddof=1) / np.sqrt(counts)
    return "" if (halves < means).all() else "an interval reaches zero"


def slope_text(fit: Fit) -> str:
    """Return a slope with its interval where there is one slope, else why not, in a few characters."""
    if fit.exponent is None or fit.law != "straight":
        return f"no slope ({fit.law})"
    return f"slope {number(fit.exponent.slope, fit.exponent.half)}"
