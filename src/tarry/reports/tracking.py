"""Figures of the tracking set: weights and occupancy, fates of rounds, the set over time, which round holds a slot."""

from __future__ import annotations

from typing import Any, NamedTuple

import polars as pl

from tarry.charts import FATE_COLOURS, HALF, WIDTH, altair, data_of, dressed, intervals
from tarry.outcomes import FATES, counted
from tarry.reports import style
from tarry.reports.style import Cast, Figure, panels
from tarry.reports.view import View

THIRD = WIDTH // 3 - 24  # pixels of one of three charts in a row, less the gaps


class Metric(NamedTuple):
    """An expression over the runs with its title; ``format`` of the axis, which may be logarithmic."""

    title: str
    value: pl.Expr
    format: str = "%"
    is_log: bool = False


WEIGHTS = [
    Metric("effective sample size", pl.col("effective_sample_size") / pl.col("horizon")),
    Metric("mean squared weight", pl.col("weight_second_moment"), ",~r", is_log=True),
    Metric("largest weight", pl.col("weight_max"), ",~r", is_log=True),
]
OCCUPANCY = [
    Metric("tracked, share of slots", pl.col("occupancy_mean") / pl.col("capacity")),
    Metric("found the set full", pl.col("occupancy_full")),
    Metric(
        "chosen, found no room",  # as in tarry.tracking.room_warnings
        pl.min_horizontal(
            pl.col("saturated") / pl.max_horizontal(1, pl.col("horizon") - pl.col("untracked")), "occupancy_full"
        ),
    ),
]


def metric_figures(view: View, cast: Cast) -> list[Figure]:
    """Return a figure of the weights, and one of the slots where there is a limit."""
    limited = view._replace(runs=view.runs.filter(pl.col("capacity").is_not_null()))
    return [*_figure("weights", view, cast, WEIGHTS), *_figure("occupancy", limited, cast, OCCUPANCY)]


def _figure(name: str, view: View, cast: Cast, metrics: list[Metric]) -> list[Figure]:
    """Return a chart for each metric side by side, of the setting in the middle; nothing where nothing is finished."""
    runs = view.named(view.runs, ["capacity"])
    if not runs.height:
        return []
    panels = list(dict.fromkeys(runs["panel"]))
    panel = panels[(len(panels) - 1) // 2]
    mine = runs.filter(pl.col("panel") == panel)
    limited = mine.filter(pl.col("capacity").is_not_null())
    mine = limited if limited.height else mine  # a player's dots with a limit and without one look the same
    is_by_capacity = limited["capacity"].n_unique() > 1
    slots = f", C = {limited['capacity'][0]}" if limited.height and not is_by_capacity else ""
    charts = []
    for i, metric in enumerate(metrics):
        means = intervals(mine.with_columns(value=metric.value.cast(float)), ["line", "capacity"], "value")
        draw = (
            _against_capacity(means, cast, metric) if is_by_capacity else _by_line(means, cast, metric, labels=i == 0)
        )
        charts.append(draw)
    known = mine.select(pl.all_horizontal(metric.value.cast(float).is_finite() for metric in metrics)).to_series()
    more = f"; {counted(len(panels) - 1, 'more setting')} in the tables." if len(panels) > 1 else "."
    notes = f" Shown for {panel}{slots}{more}", style.not_finite(mine.height - int(known.sum())), cast.note
    return [style.figure(name, dressed(altair().hconcat(*charts, spacing=18)), *notes)]


def _base(frame: pl.DataFrame, cast: Cast, metric: Metric, channel: Any) -> tuple[Any, Any]:
    """Return a chart of the means, and the axis of the metric."""
    alt = altair()
    rows = [row for row in cast.rows(frame.drop("seeds").to_dicts()) if row["mean"] > 0 or not metric.is_log]
    for row in rows:  # no value is negative, and no weight that is drawn on a logarithmic axis zero
        row["low"] = max(row["low"], row["mean"] / 3 if metric.is_log else 0.0)
    if metric.is_log:
        lows, highs = ([row[end] for row in rows] or [1.0] for end in ("low", "high"))
        reach = [min(lows) / 1.2, max(highs) * 1.2]
        marks = {"format": metric.format, "labelOverlap": True}
        axis = style.logarithmic(channel, "mean:Q", None, reach, {"domain": reach}, **marks)
    else:
        # From zero up, with a height also where everything is zero.
        scale = alt.Scale(zero=True) if any(row["mean"] > 0 for row in rows) else alt.Scale(domain=[0, 1])
        axis = channel("mean:Q", title=None, scale=scale, axis=alt.Axis(format=metric.format, tickCount=4))
    return alt.Chart(data_of(rows), title=alt.TitleParams(metric.title, fontSize=12, frame="group")), axis


def _against_capacity(means: pl.DataFrame, cast: Cast, metric: Metric) -> Any:
    limited = means.filter(pl.col("capacity").is_not_null()).sort("capacity")
    alt, look = altair(), style.encodings(cast, only=list(dict.fromkeys(limited["line"])))
    base, y = _base(limited, cast, metric, alt.Y)
    slots = limited["capacity"].unique().sort().to_list()
    marks = {"values": slots[:: 1 + len(slots) // 7], "grid": False, "labelOverlap": True}
    x = style.logarithmic(alt.X, "capacity:Q", "capacity C (slots)", slots, {"base": 2}, **marks)
    return style.dotted_lines(base, look, 26, x=x, y=y).properties(width=THIRD, height=190)


def _by_line(means: pl.DataFrame, cast: Cast, metric: Metric, *, labels: bool) -> Any:
    alt, colour = altair(), style.encodings(cast)["color"]
    colour.legend = None  # rows have their names beside them
    base, x = _base(means, cast, metric, alt.X)
    order = list(dict.fromkeys(means["line"]))
    axis = alt.Axis(labels=labels, ticks=False, domain=False, labelLimit=220, labelPadding=6)
    y = alt.Y("line:N", sort=order, title=None, axis=axis)
    spread = base.mark_rule(strokeWidth=2, opacity=0.5).encode(y=y, x="low:Q", x2="high:Q", color=colour)
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(y=y, x=x, color=colour)
    return (spread + dots).properties(width=min(HALF, THIRD - 40), height=style.rows_height(len(order)))


def ledger_figures(view: View) -> list[Figure]:
    """Return a figure of stacked shares by fate: a panel for each setting, a bar for each line."""
    alt = altair()
    finished = list(dict.fromkeys(view.runs["setting"]))
    if not finished:
        return []
    many = len(view.lines)
    # The more bars a panel has, the fewer panels fit a screen.
    most = 1 if many > 24 else 2 if many > 10 else style.PANELS
    chosen = style.choose(finished, view.levels("setting") if most == style.PANELS else None, most)
    shares = fate_shares(view)
    met = [fate for fate in FATES if float(shares[fate].sum()) > 0]
    legend = alt.Legend(title=None, orient="bottom", symbolType="square", columns=len(met))
    colour = alt.Color("fate:N", scale=alt.Scale(domain=met, range=[FATE_COLOURS[f] for f in met]), legend=legend)
    y = alt.Y("line:N", sort=view.lines, title=None, axis=alt.Axis(labelLimit=150, ticks=False, domain=False))
    axis = alt.Axis(format="%", tickCount=4)
    x = alt.X("share:Q", title=None, stack="zero", scale=alt.Scale(domain=[0, 1]), axis=axis)
    drawn = {}
    for setting in chosen:
        rows = [
            {"line": row["line"], "fate": fate, "order": i, "share": row[fate]}
            for row in shares.filter(pl.col("setting") == setting).to_dicts()
            for i, fate in enumerate(met)
        ]
        bars = alt.Chart(data_of(rows)).mark_bar(height={"band": 0.72})
        drawn[setting] = bars.encode(y=y, x=x, color=colour, order="order:Q")
    chart = panels(drawn, style.rows_height(many), width=HALF - 60)
    return [style.figure("fates", chart, style.left_out(chosen, finished))]


def fate_shares(view: View) -> pl.DataFrame:
    """Return the share of rounds of each fate by setting and line, means over seeds."""
    shares = [(pl.col(fate) / pl.col("horizon")).mean() for fate in FATES]
    return view.runs.group_by("setting", "line", maintain_order=True).agg(shares)
