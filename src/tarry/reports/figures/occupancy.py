"""How full the set is: on average, at its limit, and over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tarry.reports.figures.axes import short
from tarry.reports.figures.cast import Cast, encodings
from tarry.reports.figures.look import FAINT, INK, WIDTH, Figure, data_of, dressed
from tarry.reports.figures.metrics import Metric, metric_chart
from tarry.results.charts import altair

if TYPE_CHECKING:
    from tarry.experiments.replays import Replays
    from tarry.reports.view import View

TEXT = (
    "How the slots are used. Left: tracked rounds, as a share of the slots, on average over rounds. Middle: the share "
    "of rounds that found every slot taken. Right: the share of rounds that were turned away for want of room; "
    "weights cannot make up for those, so they bias what is learnt."
)
TIME_TEXT = (
    "Above: rounds whose feedback is still out, whoever plays. Below: how many of them each player tracks; the dashed "
    "rule is the number of slots."
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


def tracked_figure(replays: Replays, cast: Cast) -> Figure:
    """The backlog over time, and the size of the set beneath."""
    alt = altair()
    look = encodings(cast, only=replays.lines)
    out, rows = replays.waiting.to_dicts(), [{**r, "group": cast.of(r["line"])} for r in replays.tracked.to_dicts()]
    scale, axis = alt.Scale(nice=False), alt.Axis(format=short(replays.played), tickCount=6, grid=False)
    bare = alt.Axis(labels=False, ticks=False, grid=False)
    area = alt.Chart(data_of(out)).mark_area(color=FAINT, opacity=0.3, interpolate="step")
    above = area.encode(x=alt.X("t:Q", title=None, scale=scale, axis=bare), y=_count(alt, "waiting", "still out", out))
    lines = alt.Chart(data_of(rows)).mark_line(strokeWidth=1.4, interpolate="step", opacity=0.9)
    below = lines.encode(
        x=alt.X("t:Q", title="round", scale=scale, axis=axis),
        y=_count(alt, "tracked", "tracked", rows),
        detail="line:N",
        color=look["color"],
        strokeDash=look["strokeDash"],
    )
    if replays.capacity is not None:
        limit = alt.Chart(data_of([{"tracked": replays.capacity}]))
        below += limit.mark_rule(color=INK, strokeDash=[5, 4]).encode(y="tracked:Q")
    stacked = [above.properties(width=WIDTH, height=80), below.properties(width=WIDTH, height=150)]
    text = f"{TIME_TEXT} {replays.setting}, seed {replays.seed}, the first {replays.played:,} rounds."
    return Figure("tracked", "The set over time", text, dressed(alt.vconcat(*stacked, spacing=8)))


def _count(alt: Any, field: str, title: str, rows: list[dict[str, Any]]) -> Any:
    highest = max((float(row[field]) for row in rows), default=0.0)
    return alt.Y(f"{field}:Q", title=title, axis=alt.Axis(tickCount=4, tickMinStep=1, format=short(highest)))
