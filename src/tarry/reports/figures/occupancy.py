"""How full the set is: on average, at its limit, and over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tarry.reports.figures.look import FAINT, INK, Cast, Figure, encodings, panels, short
from tarry.reports.figures.metrics import Metric, metric_chart
from tarry.results.charts import altair

if TYPE_CHECKING:
    from tarry.reports.replays import Replays
    from tarry.reports.view import View

TEXT = (
    "How the slots are used. Left: tracked rounds, as a share of the slots, on average over rounds. Middle: the share "
    "of rounds that found every slot taken. Right: the share of rounds that were turned away for want of room; "
    "weights cannot make up for those, so they bias what is learnt."
)
TIME_TEXT = (
    "Grey: rounds whose feedback is still out. Lines: how many of them each player tracks; the dashed rule is the "
    "number of slots."
)


def occupancy_figures(view: View, cast: Cast) -> list[Figure]:
    """Occupancy and saturation, from the results."""
    import polars as pl

    runs = view.runs.filter(pl.col("capacity").is_not_null())
    shown = metric_chart(
        view._replace(runs=runs),
        cast,
        [
            Metric("tracked, share of slots", pl.col("occupancy_mean") / pl.col("capacity")),
            Metric("found the set full", pl.col("occupancy_full")),
            Metric("found no room", pl.col("saturated") / pl.col("horizon")),
        ],
    )
    return [Figure("occupancy", "Occupancy and saturation", TEXT + shown[1] + cast.note, shown[0])] if shown else []


def tracked_figure(replays: Replays) -> Figure:
    """The size of the set over time, beside the backlog."""
    alt = altair()
    cast = Cast(replays.lines, 0)
    look = encodings(cast)
    rows = [{**row, "group": row["line"]} for row in replays.tracked.to_dicts()]
    highest = float(max(replays.waiting["waiting"].max(), 1))  # type: ignore[type-var]
    x = alt.X("t:Q", title="round", scale=alt.Scale(nice=False), axis=alt.Axis(format="~s", tickCount=6, grid=False))
    out = alt.Chart(alt.Data(values=replays.waiting.to_dicts()))
    y = alt.Y("waiting:Q", title="rounds", axis=alt.Axis(tickCount=5, format=short(highest)))
    layers = [
        out.mark_area(color=FAINT, opacity=0.22, interpolate="step").encode(x=x, y=y),
        alt.Chart(alt.Data(values=rows))
        .mark_line(strokeWidth=1.5, interpolate="step")
        .encode(x=x, y="tracked:Q", color=look["color"], strokeDash=look["strokeDash"]),
    ]
    if replays.capacity is not None:
        limit = alt.Chart(alt.Data(values=[{"y": replays.capacity}]))
        layers.append(limit.mark_rule(color=INK, strokeDash=[5, 4]).encode(y="y:Q"))
    text = f"{TIME_TEXT} {replays.setting}, seed {replays.seed}, the first {replays.played:,} rounds."
    return Figure("tracked", "The set over time", text, panels({replays.setting: alt.layer(*layers)}, 190))
