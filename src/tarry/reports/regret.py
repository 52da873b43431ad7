"""Figures of regret: over time, beside its bound, against moving comparators, and against what varies."""

from __future__ import annotations

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
    settings = style.choose([s for s in view.settings if s in set(view.curves["setting"])])
    if not settings:
        return []
    keys = ["setting", "line", "t"]
    regret, bound = intervals(view.curves, keys, "regret"), intervals(view.curves, keys, "bound")
    diverged = view.curves.filter(~pl.col("regret").is_finite()).n_unique(["cell", "seed"])
    left_out = style.left_out(settings, view.settings)
    over_time = {s: _over_time(_rows(regret, s, cast), cast) for s in settings}
    notes = left_out, cast.note, style.not_finite(diverged)
    figures = [style.figure("regret", style.panels(over_time), *notes)]
    bounded = [s for s in settings if s in set(bound["setting"])]
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
    along = alt.Axis(tickCount=5, format=short(last), grid=False)
    x = alt.X("t:Q", title="round", axis=along, scale=alt.Scale(nice=False))
    y = alt.Y("mean:Q", title="regret", axis=alt.Axis(tickCount=5, format=short(highest)))
    # The bands of a crowd would cover its lines.
    band = base.transform_filter(style.IS_SHOWN).mark_area(opacity=0.16)
    band = band.encode(x=x, y="low:Q", y2="high:Q", color=look["color"], detail="line:N")
    return band + style.lines_of(base, look, x=x, y=y)


def _beside_bound(regret: Rows, bound: Rows, cast: Cast) -> Any:
    alt, look = altair(), style.encodings(cast, marked=True, only=cast.shown)
    # A logarithm has no room for zero.
    rows, above = ([row for row in part if row["mean"] > 0 and row["line"] in cast.shown] for part in (regret, bound))
    both = rows + above
    if not both:
        return alt.Chart(data_of([{"text": "nothing positive"}])).mark_text().encode(text="text:N")
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
    y = alt.Y("regret:Q", title="regret", axis=alt.Axis(tickCount=5, format=short(highest)))
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
    beside = with_baselines(view)
    return [
        _figure(view if "capacity" in one.drivers else beside, one, cast, "again" if i else "first")
        for i, one in enumerate(quantities(view))
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
    names = list(dict.fromkeys(frame["panel"]))
    chosen = style.choose(names)
    drawn = {panel: _panel(scene, panel, len(names) == 1) for panel in chosen}
    told = style.captions()["scaling"]
    words = [told.get(quantity.name, ""), told[usual], told["level"] if level.height else ""]
    notes = style.left_out(chosen, names) + cast.note + style.not_finite(lost(frame["regret"]))
    text = " ".join(word for word in words if word) + notes
    return Figure(f"regret-{quantity.name}", quantity.title, text, style.panels(drawn)), found


def _panel(scene: _Scene, panel: str, is_alone: bool) -> Any:
    alt = altair()
    rows, levels = scene.rows(scene.means, panel), scene.rows(scene.level, panel)
    positive = [row for row in rows if row["mean"] > 0 and row["x"] > 0]
    # A few means that are not positive are left out; where most are not, the axes are plain.
    is_log = len(positive) > len(rows) / 2
    rows = positive if is_log else rows
    if not rows:
        return alt.Chart(data_of([{"text": "no finished runs"}])).mark_text().encode(text="text:N")
    # An interval that reaches zero has no end on a logarithmic axis: it is cut a third below the lowest mean.
    floor = min(row["mean"] for row in rows) / 3
    shown = [{**row, "low": max(row["low"], floor) if is_log else row["low"]} for row in rows]
    kept = [{**row, "low": row["mean"], "high": row["mean"]} for row in levels if row["mean"] > 0 or not is_log]
    # In the one panel of a figure the legend tells the slopes.
    labels = {fit.name: f"{fit.name}: {slope_text(fit.exponent)}" for fit in scene.fits} if is_alone else None
    names = list(dict.fromkeys([*scene.means["name"], *scene.level["name"]]))
    look = style.encodings(scene.cast, labels, marked=True, only=names)
    x, y = _axes(shown, kept, scene.quantity.words, is_log)
    base = alt.Chart(data_of(shown))
    at = {"x": x, "y": "mean:Q", "color": look["color"]}
    told, pale = base.transform_filter(style.IS_SHOWN), base.transform_filter(style.IS_OTHER)
    layers = [
        alt.Chart(data_of(kept)).mark_rule(strokeWidth=1.6, strokeDash=[2, 3]).encode(y=y, color=look["color"]),
        pale.mark_point(filled=True, size=12, opacity=0.6).encode(**at),
        told.mark_rule(strokeWidth=1.3, opacity=0.8).encode(x=x, y=y, y2="high:Q", color=look["color"]),
        told.mark_point(filled=True, size=55, opacity=1).encode(**at, shape=look["shape"]),
    ]
    if is_log:
        lines = alt.Chart(data_of(_fitted_lines(scene, panel, shown)))
        layers.insert(0, style.lines_of(lines, look, x=x, y="mean:Q"))
    return alt.layer(*layers)


def _axes(rows: Rows, levels: Rows, words: str, is_log: bool) -> tuple[Any, Any]:
    alt = altair()
    if not is_log:
        x = alt.X("x:Q", title=words, scale=alt.Scale(zero=False), axis=alt.Axis(grid=False))
        return x, alt.Y("low:Q", title="final regret", axis=alt.Axis(tickCount=5, format="~s"))
    xs = [row["x"] for row in rows]
    low, high = min(row["low"] for row in rows + levels), max(row["high"] for row in rows + levels)
    # A few whole numbers are all named on the axis; more would run into each other.
    is_few = len(set(xs)) <= 6 and max(xs) < 10_000 and all(x == int(x) for x in xs)
    marks = {"values": sorted(set(xs))} if is_few else {}
    wide, tall = ({"domain": [ends[0] / 1.12, ends[1] * 1.12]} for ends in ((min(xs), max(xs)), (low, high)))
    return (
        style.logarithmic(alt.X, "x:Q", words, xs, wide, grid=False, **marks),
        style.logarithmic(alt.Y, "low:Q", "final regret", [low / 1.1, high * 1.1], tall),
    )


def _fitted_lines(scene: _Scene, panel: str, rows: Rows) -> Rows:
    lines = []
    for fit in scene.fits:
        xs = [row["x"] for row in rows if row["name"] == fit.name]
        if fit.panel == panel and fit.exponent is not None and xs:
            named = {"line": fit.name, "group": scene.cast.of(fit.name)}
            lines += [{**named, "x": x, "mean": float(fit.exponent.at(x))} for x in (min(xs), max(xs))]
    return lines
