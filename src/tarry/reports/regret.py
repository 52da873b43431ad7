"""Figures of regret: over time, beside its bound, against moving comparators, and against what varies."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import polars as pl

from tarry.charts import altair, data_of, intervals, lost
from tarry.reports import style
from tarry.reports.exponents import Fit, Quantity, fits, measured, quantities, slope_text
from tarry.reports.style import Cast, Figure, short
from tarry.reports.view import View, with_baselines

Rows = list[dict[str, Any]]


def regret_curves(view: View, cast: Cast, *notes: str) -> list[Figure]:
    """Return figures of regret against the round, a panel for each setting; and with bounds if there are any.

    ``notes`` are added to their texts.
    """
    settings = style.choose([s for s in view.settings if s in set(view.curves["setting"])], view.levels("setting"))
    if not settings:
        return []
    keys = ["setting", "line", "t"]
    regret, bound = intervals(view.curves, keys, "regret"), intervals(view.curves, keys, "bound")
    # A bound of some of the seeds is none of their mean.
    bound = bound.join(regret, on=[*keys, "seeds"], how="semi", maintain_order="left")
    diverged = view.curves.filter(~pl.col("regret").is_finite()).n_unique(["cell", "seed"])
    left_out = style.left_out(settings, view.settings)
    over_time = {s: _over_time(_rows(regret, s, cast), cast) for s in settings}
    figures = [style.figure("regret", style.panels(over_time), *notes, left_out, cast.note, style.not_finite(diverged))]
    # What logarithmic axes can show, of players that have a bound: the rounds after which regret stays above zero.
    last_below = pl.col("t").filter(pl.col("mean") <= 0).max().over("setting", "line").fill_null(0)
    positive = regret.filter((pl.col("t") > last_below) & pl.col("line").is_in(cast.shown))
    both = positive.join(bound, on=["setting", "line"], how="semi"), bound.join(positive, on=keys, how="semi")
    if bounded := [s for s in settings if s in set(both[1]["setting"])]:
        beside = {s: _beside_bound(_rows(both[0], s, cast), _rows(both[1], s, cast), cast) for s in bounded}
        figures.append(style.figure("bounds", style.panels(beside), *notes, style.left_out(bounded, view.settings)))
    return figures


def _rows(frame: pl.DataFrame, setting: str, cast: Cast) -> Rows:
    return cast.rows(frame.filter(pl.col("setting") == setting).drop("setting", "seeds").to_dicts())


def _over_time(rows: Rows, cast: Cast) -> Any:
    alt, look = altair(), style.encodings(cast)
    base = alt.Chart(data_of(rows))
    last, highest = (max((row[key] for row in rows), default=0) for key in ("t", "high"))
    along = alt.Axis(tickCount=5, **short(last), grid=False)
    x = alt.X("t:Q", title="round", axis=along, scale=alt.Scale(nice=False))
    y = alt.Y("mean:Q", title="regret", axis=alt.Axis(tickCount=5, **short(highest)))
    # The bands of a crowd would cover its lines.
    band = base.transform_filter(style.IS_SHOWN).mark_area(opacity=0.16)
    band = band.encode(x=x, y="low:Q", y2="high:Q", color=look["color"], detail="line:N")
    return band + style.lines_of(base, look, x=x, y=y)


def _beside_bound(regret: Rows, bound: Rows, cast: Cast) -> Any:
    alt, both = altair(), regret + bound
    look = style.encodings(cast, marked=True, only=list({row["line"]: None for row in both}))
    x = style.logarithmic(alt.X, "t:Q", "round", [row["t"] for row in both], grid=False)
    y = style.logarithmic(alt.Y, "mean:Q", "regret and bound", [row["mean"] for row in both])
    line = alt.Chart(data_of(regret)).mark_line(strokeWidth=1.8)
    dots = alt.Chart(data_of(bound)).mark_line(strokeWidth=1.4, strokeDash=[1.5, 3])
    # Both kinds of line end in the player's mark.
    ends = [row for part in (regret, bound) for row in {row["line"]: row for row in part}.values()]
    marks = alt.Chart(data_of(ends)).mark_point(filled=True, size=45, opacity=1)
    at = {"x": x, "y": y, "color": look["color"]}
    lines = [part.encode(**at, detail="line:N") for part in (dots, line)]
    return alt.layer(*lines, marks.encode(**at, shape=look["shape"]))


class _Scene(NamedTuple):
    """A quantity's figure: which lines are in it, the means to draw, levels drawn across, and the fits."""

    quantity: Quantity
    cast: Cast
    means: pl.DataFrame
    level: pl.DataFrame
    fits: list[Fit]

    def rows(self, frame: pl.DataFrame, panel: str) -> Rows:
        mine = frame.filter(frame["panel"] == panel).drop("panel", "setting", "seeds")
        return [{**row, "group": self.cast.of(row["name"])} for row in mine.to_dicts()]


def scaling_figures(view: View, cast: Cast, *notes: str) -> list[tuple[Figure, list[Fit]]]:
    """Return a figure for each quantity that varies, and its exponents; ``notes`` are added to every text."""
    finite = view.runs.filter(pl.col("regret").is_finite())
    beside, drawn = with_baselines(view), quantities(view._replace(runs=finite))
    return [
        _figure(view if "capacity" in one.drivers else beside, one, cast, "again" if i else "first", *notes)
        for i, one in enumerate(drawn)
    ]


def _figure(view: View, quantity: Quantity, cast: Cast, usual: str, *notes: str) -> tuple[Figure, list[Fit]]:
    frame, found = measured(view, quantity), fits(view, quantity)
    means = intervals(frame, ["panel", "name", "setting", "x"], "regret").sort("x")
    level = means.clear()
    if quantity.name == "capacity":  # what is reached without a limit has no place on the axis
        free = view.named(view.runs.filter(pl.col("capacity").is_null()), ["capacity"])
        level = intervals(free, ["panel", "name", "setting"], "regret")
    # Lines go by the names they have where the drivers are not mentioned: several of the cast may share one, which then
    # looks as the first of them does in other figures.
    line_names = dict(view.named(view.runs, quantity.drivers).select("line", "name").iter_rows())
    shown: list[str] = []
    for line in cast.shown:
        name = line_names.get(line, line)
        shown.append(line if name in shown else name)
    mine = Cast(shown, len(set(line_names.values()) - set(shown)))
    scene = _Scene(quantity, mine if set(quantity.drivers) & set(view.player_keys) else cast, means, level, found)
    names = list(dict.fromkeys(panel for panel in frame["panel"] if panel in set(means["panel"])))
    chosen = style.choose(names, view.levels("panel", quantity.drivers))
    drawn = {panel: _panel(scene, panel, len(names) == 1) for panel in chosen}
    told = style.captions()["scaling"]
    is_fitted = any(fit.law == "straight" and fit.panel in chosen for fit in found)
    parts = [quantity.name, usual, *(["fitted"] if is_fitted else []), *(["level"] if level.height else [])]
    words = [told.get(part, "") for part in parts]
    more = *notes, style.left_out(chosen, names), cast.note, style.not_finite(lost(frame["regret"]))
    text = " ".join(word for word in words if word) + "".join(more)
    return Figure(f"regret-{quantity.name}", quantity.title, text, style.panels(drawn)), found


def _panel(scene: _Scene, panel: str, is_alone: bool) -> Any:
    alt = altair()
    rows, levels = scene.rows(scene.means, panel), scene.rows(scene.level, panel)
    # What is not positive has no logarithm: to leave it out would hide what is best, to cut it what is not known.
    is_log = all(row["low"] > 0 for row in rows + levels)
    kept = [{**row, "low": row["mean"], "high": row["mean"]} for row in levels]
    # In the one panel of a figure the legend tells the slopes.
    labels = {fit.name: f"{fit.name}: {slope_text(fit)}" for fit in scene.fits} if is_alone else None
    names = list(dict.fromkeys([*scene.means["name"], *scene.level["name"]]))
    look = style.encodings(scene.cast, labels, marked=True, only=names)
    x, y = _axes(rows, kept, scene.quantity.words, is_log)
    base = alt.Chart(data_of(rows))
    at = {"x": x, "y": "mean:Q", "color": look["color"]}
    pale = base.transform_filter(style.IS_OTHER)
    straight = [fit for fit in scene.fits if fit.panel == panel and fit.law == "straight" and is_log]
    fitted, joined = _fitted_lines(scene, straight), _joined(straight, rows)
    layers = [
        style.lines_of(alt.Chart(data_of(fitted)), look, x=x, y="mean:Q"),
        style.lines_of(alt.Chart(data_of(joined)), look, width=0.9, x=x, y="mean:Q"),
        alt.Chart(data_of(kept)).mark_rule(strokeWidth=1.6, strokeDash=[2, 3]).encode(y=y, color=look["color"]),
        pale.mark_point(filled=True, size=12, opacity=0.6).encode(**at),
    ]
    # A little beside each other: at one x intervals would cover each other.
    here = [name for name in scene.cast.shown if name in set(scene.means["name"])]
    middle, apart = (len(here) - 1) / 2, min(3.0, 12.0 / max(1, len(here)))
    for i, name in enumerate(here):
        mine, beside = base.transform_filter(f"datum.group == {json.dumps(name)}"), apart * (i - middle)
        bar = mine.mark_rule(strokeWidth=1.3, opacity=0.8, xOffset=beside)
        layers.append(bar.encode(x=x, y=y, y2="high:Q", color=look["color"]))
        layers += style.spots(mine, 55, aside=beside, **at, shape=look["shape"])
    return alt.layer(*layers)


def _axes(rows: Rows, levels: Rows, words: str, is_log: bool) -> tuple[Any, Any]:
    alt = altair()
    xs = [row["x"] for row in rows]
    low, high = min(row["low"] for row in rows + levels), max(row["high"] for row in rows + levels)
    # A few whole numbers are all named on the axis; more would run into each other.
    is_few = len(set(xs)) <= 6 and max(xs) < 10_000 and all(x == int(x) for x in xs)
    marks = {"values": sorted(set(xs))} if is_few else {}
    if min(xs) > 0:
        wide = {"domain": [min(xs) / 1.12, max(xs) * 1.12]}
        x = style.logarithmic(alt.X, "x:Q", words, xs, wide, grid=False, **marks)
    else:
        axis = alt.Axis(grid=False, **short(max(xs)), **marks)
        x = alt.X("x:Q", title=words, scale=alt.Scale(zero=False, padding=12), axis=axis)
    if is_log:
        tall = {"domain": [low / 1.12, high * 1.12]}
        return x, style.logarithmic(alt.Y, "low:Q", "final regret", [low / 1.1, high * 1.1], tall)
    return x, alt.Y("low:Q", title="final regret", axis=alt.Axis(tickCount=5, **short(max(high, -low))))


def _fitted_lines(scene: _Scene, straight: list[Fit]) -> Rows:
    lines = []
    for fit in straight:
        named = {"line": fit.name, "group": scene.cast.of(fit.name)}
        lines += [{**named, "x": x, "mean": float(fit.exponent.at(x))} for x in fit.reach if fit.exponent is not None]
    return lines


def _joined(straight: list[Fit], rows: Rows) -> Rows:
    """Return the means that no fitted line goes through, to be joined."""
    left = [row for row in rows if row["name"] not in {fit.name for fit in straight}]
    return [{"line": row["name"], "group": row["group"], "x": row["x"], "mean": row["mean"]} for row in left]
