"""Figures of regret: over time, beside its bound, against moving comparators, and against what varies."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import polars as pl

from tarry.charts import altair, data_of, intervals, lost
from tarry.experiments.replays import Replays
from tarry.reports import style
from tarry.reports.exponents import Fit, Quantity, fits, measured, quantities, slope_text
from tarry.reports.style import Cast, Figure, short
from tarry.reports.view import View, with_baselines

Rows = list[dict[str, Any]]


def regret_curves(view: View, cast: Cast) -> list[Figure]:
    """Return figures of regret against the round, a panel for each setting; and with bounds if there are any."""
    settings = style.choose([s for s in view.settings if s in set(view.curves["setting"])], view.levels("setting"))
    if not settings:
        return []
    keys = ["setting", "line", "t"]
    regret, bound = intervals(view.curves, keys, "regret"), intervals(view.curves, keys, "bound")
    diverged = view.curves.filter(~pl.col("regret").is_finite()).n_unique(["cell", "seed"])
    left_out = style.left_out(settings, view.settings)
    over_time = {s: _over_time(_rows(regret, s, cast), cast) for s in settings}
    notes = left_out, cast.note, style.not_finite(diverged)
    figures = [style.figure("regret", style.panels(over_time), *notes)]
    positive = (pl.col("mean") > 0) & pl.col("line").is_in(cast.shown)  # what the logarithmic axes can show
    bounded = [s for s in settings if s in set(bound.filter(positive)["setting"])]
    if bounded:
        few = f" The {len(cast.shown)} with the least regret are shown." if cast.others else ""
        beside = {s: _beside_bound(_rows(regret, s, cast), _rows(bound, s, cast), cast) for s in bounded}
        figures.append(style.figure("bounds", style.panels(beside), left_out, few))
    return figures


def _rows(frame: pl.DataFrame, setting: str, cast: Cast) -> Rows:
    return cast.rows(frame.filter(pl.col("setting") == setting).drop("setting", "seeds").to_dicts())


def _over_time(rows: Rows, cast: Cast) -> Any:
    alt, look = altair(), style.encodings(cast)
    base = alt.Chart(data_of(rows))
    last, highest = (max((row[key] for row in rows), default=0) for key in ("t", "high"))
    along = alt.Axis(tickCount=5, **short(last), grid=False)
    x = alt.X("t:Q", title="round", axis=along, scale=alt.Scale(nice=False))
    # A band that dips below zero at the start would otherwise take a part of the picture.
    least = min((row["mean"] for row in rows), default=0.0)
    scale = alt.Scale(domainMin=0.0) if least > -0.05 * highest else alt.Scale()
    y = alt.Y("mean:Q", title="regret", axis=alt.Axis(tickCount=5, **short(highest)), scale=scale)
    # The bands of a crowd would cover its lines.
    band = base.transform_filter(style.IS_SHOWN).mark_area(opacity=0.16, clip=True)
    band = band.encode(x=x, y="low:Q", y2="high:Q", color=look["color"], detail="line:N")
    return band + style.lines_of(base, look, x=x, y=y)


def _beside_bound(regret: Rows, bound: Rows, cast: Cast) -> Any:
    alt, look = altair(), style.encodings(cast, marked=True, only=cast.shown)
    # A logarithm has no room for zero.
    rows, above = ([row for row in part if row["mean"] > 0 and row["line"] in cast.shown] for part in (regret, bound))
    both = rows + above
    x = style.logarithmic(alt.X, "t:Q", "round", [row["t"] for row in both], grid=False)
    y = style.logarithmic(alt.Y, "mean:Q", "regret and bound", [row["mean"] for row in both])
    line = alt.Chart(data_of(rows)).mark_line(strokeWidth=1.8)
    dots = alt.Chart(data_of(above)).mark_line(strokeWidth=1.4, strokeDash=[1.5, 3])
    # Both kinds of line end in the player's mark.
    ends = [row for part in (rows, above) for row in {row["line"]: row for row in part}.values()]
    marks = alt.Chart(data_of(ends)).mark_point(filled=True, size=45, opacity=1)
    at = {"x": x, "y": y, "color": look["color"]}
    lines = [part.encode(**at, detail="line:N") for part in (dots, line)]
    return alt.layer(*lines, marks.encode(**at, shape=look["shape"]))


def comparator_figures(replays: Replays, cast: Cast) -> list[Figure]:
    """Return a figure of regret against the best action of each of m pieces of the game."""
    if not replays.segments.height:
        return []
    alt, look = altair(), style.encodings(cast, only=list(dict.fromkeys(replays.segments["line"])))
    rows = cast.rows(replays.segments.to_dicts())
    pieces = sorted({row["pieces"] for row in rows})
    title, marks = "pieces, each with its best action", {"values": pieces, "format": "d", "grid": False}
    x = style.logarithmic(alt.X, "pieces:Q", title, pieces, {"base": 2}, **marks)
    highest = max(row["regret"] for row in rows)
    y = alt.Y("regret:Q", title="regret", axis=alt.Axis(tickCount=5, **short(highest)))
    chart = style.panels({replays.setting: style.dotted_lines(alt.Chart(data_of(rows)), look, 30, x=x, y=y)}, 210)
    return [style.figure("comparators", chart, f" One seed ({replays.seed}) of {replays.setting}.", cast.note)]


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


def scaling_figures(view: View, cast: Cast) -> list[tuple[Figure, list[Fit]]]:
    """Return a figure for each quantity that varies, and its exponents."""
    finite = view.runs.filter(pl.col("regret").is_finite())
    beside, drawn = with_baselines(view), quantities(view._replace(runs=finite))
    return [
        _figure(view if "capacity" in one.drivers else beside, one, cast, "again" if i else "first")
        for i, one in enumerate(drawn)
    ]


def _figure(view: View, quantity: Quantity, cast: Cast, usual: str) -> tuple[Figure, list[Fit]]:
    frame, found = measured(view, quantity), fits(view, quantity)
    means = intervals(frame, ["panel", "name", "setting", "x"], "regret").sort("x")
    level = means.clear()
    if quantity.name == "capacity":  # what is reached without a limit has no place on the axis
        free = view.named(view.runs.filter(pl.col("capacity").is_null()), ["capacity"])
        level = intervals(free, ["panel", "name", "setting"], "regret")
    # Lines go by the names they have where the drivers are not mentioned: several of the cast may share one.
    line_names = dict(view.named(view.runs, quantity.drivers).select("line", "name").iter_rows())
    shown = list(dict.fromkeys(line_names[line] for line in cast.shown if line in line_names))
    mine = Cast(shown, len(set(line_names.values()) - set(shown)))
    scene = _Scene(quantity, mine if set(quantity.drivers) & set(view.player_keys) else cast, means, level, found)
    names = list(dict.fromkeys(panel for panel in frame["panel"] if panel in set(means["panel"])))
    chosen = style.choose(names, view.levels("panel", quantity.drivers))
    drawn = {panel: _panel(scene, panel, len(names) == 1) for panel in chosen}
    told = style.captions()["scaling"]
    words = [told.get(quantity.name, ""), told[usual], told["level"] if level.height else ""]
    notes = style.left_out(chosen, names) + cast.note + style.not_finite(lost(frame["regret"]))
    text = " ".join(word for word in words if word) + notes
    return Figure(f"regret-{quantity.name}", quantity.title, text, style.panels(drawn)), found


def _panel(scene: _Scene, panel: str, is_alone: bool) -> Any:
    alt = altair()
    rows, levels = scene.rows(scene.means, panel), scene.rows(scene.level, panel)
    # Means that are not positive have no logarithm, and to leave them out would hide what is best.
    is_log = all(row["mean"] > 0 for row in rows + levels)
    # An interval that reaches zero has no end on a logarithmic axis: it is cut a third below the lowest mean.
    floor = min(row["mean"] for row in rows) / 3
    shown = [{**row, "low": max(row["low"], floor) if is_log else row["low"]} for row in rows]
    kept = [{**row, "low": row["mean"], "high": row["mean"]} for row in levels]
    # In the one panel of a figure the legend tells the slopes.
    labels = {fit.name: f"{fit.name}: {slope_text(fit)}" for fit in scene.fits} if is_alone else None
    names = list(dict.fromkeys([*scene.means["name"], *scene.level["name"]]))
    look = style.encodings(scene.cast, labels, marked=True, only=names)
    x, y = _axes(shown, kept, scene.quantity.words, is_log)
    base = alt.Chart(data_of(shown))
    at = {"x": x, "y": "mean:Q", "color": look["color"]}
    told, pale = base.transform_filter(style.IS_SHOWN), base.transform_filter(style.IS_OTHER)
    straight = [fit for fit in scene.fits if fit.panel == panel and fit.is_straight and is_log]
    fitted, joined = _fitted_lines(scene, straight), _joined(scene, straight, shown)
    layers = [
        style.lines_of(alt.Chart(data_of(fitted)), look, x=x, y="mean:Q"),
        style.lines_of(alt.Chart(data_of(joined)), look, width=0.9, x=x, y="mean:Q"),
        alt.Chart(data_of(kept)).mark_rule(strokeWidth=1.6, strokeDash=[2, 3]).encode(y=y, color=look["color"]),
        pale.mark_point(filled=True, size=12, opacity=0.6).encode(**at),
        *_bars(base, scene.cast.shown, x=x, y=y, y2="high:Q", color=look["color"]),
        told.mark_point(filled=True, size=55, opacity=1).encode(**at, shape=look["shape"]),
    ]
    return alt.layer(*layers)


def _bars(base: Any, names: list[str], **at: Any) -> list[Any]:
    """Return the intervals of each name, a little beside those of the others: at one x they would cover each other."""
    middle, apart = (len(names) - 1) / 2, min(3.0, 12.0 / max(1, len(names)))
    bars = []
    for i, name in enumerate(names):
        mine = base.transform_filter(f"datum.group == {json.dumps(name)}")
        bars.append(mine.mark_rule(strokeWidth=1.3, opacity=0.8, xOffset=apart * (i - middle)).encode(**at))
    return bars


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


def _joined(scene: _Scene, straight: list[Fit], rows: Rows) -> Rows:
    """Return the means that no fitted line goes through, to be joined."""
    if scene.quantity.name == "load":  # of which several settings may have one value: a line would be no function of it
        return []
    left = [row for row in rows if row["name"] not in {fit.name for fit in straight}]
    return [{"line": row["name"], "group": row["group"], "x": row["x"], "mean": row["mean"]} for row in left]
