"""The tracking set over a stretch of rounds: who holds a slot, from when to when, and how it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tarry.reports.figures.ledger import COLOURS
from tarry.reports.figures.look import FAINT, WIDTH, Figure, data_of, dressed
from tarry.results.charts import altair

if TYPE_CHECKING:
    from tarry.experiments.replays import Replays

ENDS = ("used", "preempted", "expired", "pending")
LANES = 40
TICKS: dict[str, dict[str, Any]] = {
    "untracked": {"color": FAINT, "size": 6},
    "saturated": {"color": COLOURS["saturated"], "size": 9},
    "": {"color": FAINT, "size": 6, "opacity": 0.4},
}
TEXT = (
    "Every row is a slot, every bar a round that holds it: from the round itself to the arrival of its feedback "
    "(used), to the moment it is dropped for another (preempted), or past the end of the picture. Ticks beneath are "
    "rounds that were never tracked: short and grey if the scheduler declined them, tall and red if there was no room."
)
UNKNOWN = " Of the faintest it is not known which, for their player does both and the set was full."


def timeline_figure(replays: Replays) -> Figure:
    """A panel for each player that was replayed."""
    alt = altair()
    seen = set(replays.stays["fate"]) if replays.stays.height else set()
    ends = [fate for fate in ENDS if fate in seen]
    lanes = max((int(lane) for lane in replays.stays["lane"]), default=0) + 1 if replays.stays.height else 1
    shown = min(lanes, LANES)
    drawn = [
        _panel(alt, replays, line, shown, ends, i == len(replays.lines) - 1) for i, line in enumerate(replays.lines)
    ]
    more = f" {shown} of {lanes} slots are shown." if lanes > shown else ""
    unknown = UNKNOWN if "" in replays.passed["fate"] else ""
    where = f" {replays.setting}, seed {replays.seed}, rounds {replays.first:,} to {replays.last:,}."
    chart = alt.vconcat(*drawn, spacing=12).resolve_scale(x="shared", color="shared")
    return Figure("timeline", "Who is tracked", TEXT + unknown + where + more, dressed(chart))


def _panel(alt: Any, replays: Replays, line: str, lanes: int, ends: list[str], is_last: bool) -> Any:
    import polars as pl

    mine = replays.stays.filter((pl.col("line") == line) & (pl.col("lane") < lanes))
    passed = replays.passed.filter(pl.col("line") == line)
    thick = max(2.0, min(7.0, 260 / lanes / 1.5))
    legend = alt.Legend(title=None, orient="bottom", symbolType="stroke", symbolStrokeWidth=5, symbolSize=300)
    colour = alt.Color("fate:N", scale=alt.Scale(domain=ends, range=[COLOURS[e] for e in ends]), legend=legend)
    axis = alt.Axis(grid=False, labels=is_last, ticks=is_last, tickCount=8, format=",d")
    reach = alt.Scale(domain=[replays.first, replays.last + 1], nice=False)
    x = alt.X("start:Q", title="round" if is_last else None, scale=reach, axis=axis)
    y = alt.Y("lane:Q", axis=None, scale=alt.Scale(domain=[lanes + 0.4, -0.6]))
    base = alt.Chart(
        data_of(mine.select("lane", "start", "stop", "fate").to_dicts()),
        title=alt.TitleParams(line, fontSize=12, frame="group"),
    )
    bars = base.mark_rule(strokeWidth=thick, opacity=0.9).encode(x=x, x2="end:Q", y=y, color=colour)
    gone = [
        alt.Chart(data_of([{"start": t + 0.5, "lane": lanes} for t in passed.filter(pl.col("fate") == fate)["t"]]))
        .mark_tick(thickness=1.2, **look)
        .encode(x=x, y=y)
        for fate, look in TICKS.items()
        if fate in passed["fate"]
    ]
    # A hair of room between two stays in one slot, in whatever colour the page has.
    return alt.layer(bars.transform_calculate(end="datum.stop - 0.25"), *gone).properties(
        width=WIDTH, height=int((thick * 1.5) * (lanes + 1)) + 6
    )
