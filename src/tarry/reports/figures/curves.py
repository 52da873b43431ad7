"""Regret over time, with bands; beside its bound; and against comparators that move."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from tarry.charts import altair, data_of, intervals
from tarry.reports import style
from tarry.reports.style import Cast, Figure, short

if TYPE_CHECKING:
    from tarry.experiments.replays import Replays
    from tarry.reports.view import View


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


def _rows(frame: pl.DataFrame, setting: str, cast: Cast) -> list[dict[str, Any]]:
    return cast.rows(frame.filter(pl.col("setting") == setting).drop("setting", "seeds").to_dicts())


def _over_time(rows: list[dict[str, Any]], cast: Cast) -> Any:
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


def _beside_bound(regret: list[dict[str, Any]], bound: list[dict[str, Any]], cast: Cast) -> Any:
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
