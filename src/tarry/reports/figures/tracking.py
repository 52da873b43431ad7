"""The tracking set: what became of the rounds, how full it is, which round holds a slot, and how long it may wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from tarry.charts import FAINT, FATE_COLOURS, HALF, INK, WIDTH, altair, data_of, dressed
from tarry.experiments.replays import DELAYS
from tarry.outcomes import FATES
from tarry.reports import style
from tarry.reports.style import Cast, Figure, encodings, panels, short

if TYPE_CHECKING:
    from tarry.experiments.replays import Replays
    from tarry.reports.view import View

ENDS = ("used", "preempted", "expired", "pending")  # fates of rounds that held a slot
LANES = 40  # slots in a timeline: more would be thinner than a line
# Rounds that never held a slot, beneath the lanes, by fate; empty where the fate is unknown.
TICKS: dict[str, dict[str, Any]] = {
    "untracked": {"color": FAINT, "size": 6},
    "saturated": {"color": FATE_COLOURS["saturated"], "size": 9},
    "": {"color": FAINT, "size": 6, "opacity": 0.4},
}
UNKNOWN = " Of the faintest it is not known which, for their player does both and the set was full."


def ledger_figures(view: View) -> list[Figure]:
    """Return a figure of stacked shares by fate: a panel for each setting, a bar for each line."""
    alt = altair()
    finished = list(dict.fromkeys(view.runs["setting"]))
    if not finished:
        return []
    many = len(view.lines)
    # The more bars a panel has, the fewer panels fit a screen.
    chosen = style.choose(finished, 1 if many > 24 else 2 if many > 10 else 6)
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


def tracked_figure(replays: Replays, cast: Cast) -> Figure:
    """Return a figure of the backlog over time, with the size of the set beneath."""
    alt = altair()
    look = encodings(cast, only=replays.lines)
    out, rows = replays.waiting.to_dicts(), [{**r, "group": cast.of(r["line"])} for r in replays.tracked.to_dicts()]
    scale, axis = alt.Scale(nice=False), alt.Axis(format=short(replays.played), tickCount=6, grid=False)
    bare = alt.Axis(labels=False, ticks=False, grid=False)

    def count(field: str, title: str, counted: list[dict[str, Any]]) -> Any:
        highest = max((float(row[field]) for row in counted), default=0.0)
        return alt.Y(f"{field}:Q", title=title, axis=alt.Axis(tickCount=4, tickMinStep=1, format=short(highest)))

    area = alt.Chart(data_of(out)).mark_area(color=FAINT, opacity=0.3, interpolate="step")
    above = area.encode(x=alt.X("t:Q", title=None, scale=scale, axis=bare), y=count("waiting", "still out", out))
    lines = alt.Chart(data_of(rows)).mark_line(strokeWidth=1.4, interpolate="step", opacity=0.9)
    x, told = alt.X("t:Q", title="round", scale=scale, axis=axis), {key: look[key] for key in ("color", "strokeDash")}
    below = lines.encode(x=x, y=count("tracked", "tracked", rows), detail="line:N", **told)
    if replays.capacity is not None:
        limit = alt.Chart(data_of([{"tracked": replays.capacity}]))
        below += limit.mark_rule(color=INK, strokeDash=[5, 4]).encode(y="tracked:Q")
    stacked = [above.properties(width=WIDTH, height=80), below.properties(width=WIDTH, height=150)]
    where = f" {replays.setting}, seed {replays.seed}, the first {replays.played:,} rounds."
    return style.figure("tracked", dressed(alt.vconcat(*stacked, spacing=8)), where)


def timeline_figure(replays: Replays) -> Figure:
    """Return a figure of the slots over a stretch of rounds, a panel for each player that was replayed."""
    stays = replays.stays if replays.stays.height else pl.DataFrame(schema={"line": pl.String, "lane": pl.Int64})
    lanes = max((int(lane) for lane in stays["lane"]), default=0) + 1
    shown = min(lanes, LANES)
    held = {line: stays.filter((pl.col("line") == line) & (pl.col("lane") < shown)) for line in replays.lines}
    passed = {line: replays.passed.filter(pl.col("line") == line) for line in replays.lines}
    more = f" {shown} of {lanes} slots are shown." if lanes > shown else ""
    unknown = UNKNOWN if "" in replays.passed["fate"] else ""
    where = f" {replays.setting}, seed {replays.seed}, rounds {replays.first:,} to {replays.last:,}."
    chart = timeline(held, shown, (replays.first, replays.last + 1), "round", passed)
    return style.figure("timeline", dressed(chart), unknown, where, more)


def timeline(
    held: dict[str, pl.DataFrame],
    lanes: int,
    reach: tuple[float, float],
    unit: str,
    passed: dict[str, pl.DataFrame] | None = None,
    *,
    weigh: bool = False,
) -> Any:
    """Return a chart of stays in slots (lane, start, stop, fate): a panel for each name, a row for each slot.

    ``passed`` has the rounds never tracked (t, fate), drawn as ticks beneath. With ``weigh`` a dot at the end of a stay
    has the weight (a column more) as its area.
    """
    alt = altair()
    seen = {fate for frame in held.values() if frame.height for fate in frame["fate"]}
    ends = [fate for fate in ENDS if fate in seen]
    legend = alt.Legend(title=None, orient="bottom", symbolType="stroke", symbolStrokeWidth=5, symbolSize=300)
    colour = alt.Color("fate:N", scale=alt.Scale(domain=ends, range=[FATE_COLOURS[e] for e in ends]), legend=legend)
    thick = max(2.0, min(7.0, 260 / lanes / 1.5))
    y = alt.Y("lane:Q", axis=None, scale=alt.Scale(domain=[lanes + 0.4, -0.6]))
    gap = (reach[1] - reach[0]) / 480  # between two stays in one slot: a hair, in whatever colour the page has
    drawn: list[Any] = []
    for name, frame in held.items():
        is_last = len(drawn) == len(held) - 1
        axis = alt.Axis(grid=False, labels=is_last, ticks=is_last, tickCount=8, format=",~r")
        x = alt.X("start:Q", title=unit if is_last else None, scale=alt.Scale(domain=reach, nice=False), axis=axis)
        rows = frame.drop("line", strict=False).to_dicts()
        base = alt.Chart(data_of(rows), title=alt.TitleParams(name, fontSize=12, frame="group"))
        bars = base.mark_rule(strokeWidth=thick, opacity=0.9).encode(x=x, x2="end:Q", y=y, color=colour)
        layers = [bars.transform_calculate(end=f"datum.stop - {gap}")]
        if weigh:
            size = alt.Size("weight:Q", scale=alt.Scale(range=[0, 320]), legend=None)
            heard = base.transform_filter("datum.weight > 0")
            layers.append(heard.mark_circle(opacity=0.9, color=FATE_COLOURS["used"]).encode(x="stop:Q", y=y, size=size))
        for (fate,), gone in passed[name].group_by("fate", maintain_order=True) if passed else ():
            ticks = alt.Chart(data_of([{"start": t + 0.5, "lane": lanes} for t in gone["t"]]))
            layers.append(ticks.mark_tick(thickness=1.2, **TICKS[str(fate)]).encode(x=x, y=y))
        drawn.append(alt.layer(*layers).properties(width=WIDTH, height=int((thick * 1.5) * (lanes + 1)) + 6))
    return alt.vconcat(*drawn, spacing=12).resolve_scale(x="shared", color="shared", size="shared")


def survival_figures(replays: Replays, cast: Cast) -> list[Figure]:
    """Return a figure of survival of delays against survival of proxy delays, where some scheduler has the latter."""
    alt = altair()
    lines = [line for line in dict.fromkeys(replays.survival["line"]) if line != DELAYS]
    if not lines:
        return []
    look = encodings(cast, only=lines)
    told = replays.survival.filter(pl.col("share") > 0)
    rows = [{**row, "group": cast.of(row["line"])} for row in told.filter(pl.col("line") != DELAYS).to_dicts()]
    out = told.filter(pl.col("line") == DELAYS).to_dicts()
    ages, least = [row["age"] for row in rows], min(row["share"] for row in rows + out)
    floor = least / 1.3
    x = style.logarithmic(alt.X, "age:Q", "age (rounds)", [1, max(ages)], format="~s", grid=False)
    title, domain = "share still out, still tracked", {"domain": [floor, 1]}
    y = style.logarithmic(alt.Y, "share:Q", title, [floor, 1], domain, format="~%")
    told_apart = {"color": look["color"], "strokeDash": look["strokeDash"]}
    layers = [
        alt.Chart(data_of(out)).mark_area(color=FAINT, opacity=0.22).encode(x=x, y=y, y2=alt.datum(floor)),
        alt.Chart(data_of(rows)).mark_line(strokeWidth=1.8).encode(x=x, y=y, **told_apart),
    ]
    chart = panels({replays.setting: alt.layer(*layers)}, 210)
    return [style.figure("survival", chart)]
