"""The three pictures people look at first, which need the extra ``report``, and the data behind the timeline."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from studies.measure import Scores, Spread, scheduler_for
from studies.streams import Stream, Vector
from tarry.game import replay
from tarry.planning.policies import find_policy
from tarry.results.charts import PALETTE, altair, grouped

WIDTH = 620
GREY = "#6b6b6b"
WEIGHTED, NAIVE = PALETTE[0], PALETTE[1]
PANELS = tuple(map(find_policy, ("VarOpt", "drop newest", "drop oldest")))  # of the timeline
KINDS = {"weighted": WEIGHTED, "no limit": "#000000", "unweighted": NAIVE}


def bias_chart(stream: Stream, figures: Iterable[Scores]) -> Any:
    """The mean label as each policy believes it: a point, with the range of most single runs."""
    alt = altair()
    least, most = stream.scale * float(stream.labels.min()), stream.scale * float(stream.labels.max())
    rows = [
        {
            "policy": one.policy,
            "kind": "no limit" if one.capacity is None else "weighted" if one.is_unbiased else "unweighted",
            "mean": one.believed.mean,
            "low": max(least, one.believed.mean - 2 * one.believed.deviation),
            "high": min(most, one.believed.mean + 2 * one.believed.deviation),
            "text": f"{one.believed.mean:.1f}" + (f" ± {one.believed.deviation:.1f}" if one.believed.runs > 1 else ""),
        }
        for one in figures
    ]
    order = [row["policy"] for row in rows]
    slots = max((one.capacity or 0) for one in figures)
    base = alt.Chart(alt.Data(values=rows))
    y = alt.Y("policy:N", sort=order, title=None, axis=alt.Axis(labelLimit=220, ticks=False, domain=False))
    x = alt.X("mean:Q", title=f"believed mean label ({stream.unit}), two standard deviations of one run either way")
    colour = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=list(KINDS), range=list(KINDS.values())),
        legend=alt.Legend(title=None, orient="top", symbolType="circle", symbolOpacity=1),
    )
    shape = alt.Shape("kind:N", scale=alt.Scale(domain=list(KINDS), range=["circle", "diamond", "square"]), legend=None)
    truth = alt.Chart(alt.Data(values=[{"x": stream.mean, "text": f"truth {stream.mean:.1f}"}]))
    layers = [
        truth.mark_rule(color="#222", strokeDash=[5, 4]).encode(x="x:Q"),
        base.mark_rule(strokeWidth=3, opacity=0.5).encode(y=y, x="low:Q", x2="high:Q", color=colour),
        base.mark_point(filled=True, size=80, opacity=1).encode(y=y, x=x, color=colour, shape=shape),
        base.mark_text(align="left", fontSize=12, color="#222").encode(y=y, x=alt.value(WIDTH - 110), text="text:N"),
        truth.mark_text(dy=-8, fontSize=12, color="#222", fontWeight="bold").encode(
            x="x:Q", y=alt.value(0), text="text:N"
        ),
    ]
    drawn = alt.layer(*layers).properties(width=WIDTH - 120, height=26 * len(rows))
    return _finished(alt, drawn, f"What {slots} slots take the mean label to be", stream.name)


def precision_chart(stream: Stream, cells: Iterable[tuple[str, int, Spread]]) -> Any:
    """The error of the believed mean label, root mean square over runs, against the slots; both axes by powers."""
    alt = altair()
    rows: list[dict[str, Any]] = [
        {"group": name, "slots": slots, "error": float(np.hypot(spread.mean - stream.mean, spread.deviation))}
        for name, slots, spread in cells
    ]
    rows = [row for row in rows if row["error"] > 1e-9]  # a logarithm has no room for "exact"
    names = list(dict.fromkeys(str(row["group"]) for row in rows))
    slots = sorted({int(row["slots"]) for row in rows})
    look = grouped(alt, names)
    base = alt.Chart(alt.Data(values=rows))
    x = alt.X(
        "slots:Q",
        title="slots",
        scale=alt.Scale(type="log", base=2, nice=False),
        axis=alt.Axis(values=slots, format="d"),
    )
    y = alt.Y(
        "error:Q",
        title=f"typical error of the mean label ({stream.unit})",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(format="~g", values=_powers([row["error"] for row in rows])),
    )
    lines = base.mark_line(strokeWidth=2).encode(x=x, y=y, **look)
    points = base.mark_point(filled=True, size=36, opacity=1).encode(x=x, y=y, color=look["color"])
    title = "How wrong is the mean label? By slots"
    subtitle = f"{stream.name}, true mean {stream.mean:.1f} {stream.unit}; * unweighted, hence biased"
    return _finished(alt, alt.layer(lines, points).properties(width=WIDTH, height=320), title, subtitle)


def _powers(values: list[float]) -> list[float]:
    """The powers of ten, and their halves, between the least and the largest value."""
    low, high = int(np.floor(np.log10(min(values)))), int(np.ceil(np.log10(max(values))))
    return [float(f"{digit}e{power}") for power in range(low, high + 1) for digit in (1, 3)]


def timeline_chart(stream: Stream, panels: dict[str, list[dict[str, Any]]], slots: int) -> Any:
    """Who is in the tracking set, and until when: a panel per policy, a lane per slot (of :func:`timeline`)."""
    alt = altair()
    stays = [row for rows in panels.values() for row in rows]
    heaviest = max((row["weight"] for row in stays), default=1.0)
    unit, length = ("days", 1440.0) if max((row["stop"] for row in stays), default=0.0) > 4320 else ("minutes", 1.0)
    size = alt.Size("weight:Q", scale=alt.Scale(domain=[0, heaviest], range=[0, 320]), legend=None)
    drawn = []
    for name, rows in panels.items():
        scaled = [{**row, "start": row["start"] / length, "stop": row["stop"] / length} for row in rows]
        drawn.append(_panel(alt, name, scaled, slots, size, unit if name == list(panels)[-1] else None))
    stacked = alt.vconcat(*drawn, spacing=14).resolve_scale(x="shared", color="shared", size="shared")
    title = f"{slots} slots for everything that waits"
    return _finished(
        alt, stacked, title, f"{stream.name}; a line is a slot, the area of a dot the weight of a label heard"
    )


def _panel(alt: Any, name: str, rows: list[dict[str, Any]], slots: int, size: Any, unit: str | None) -> Any:
    ends = {"heard": WEIGHTED, "pushed out": NAIVE}
    colour = alt.Color(
        "end:N",
        scale=alt.Scale(domain=list(ends), range=list(ends.values())),
        legend=alt.Legend(title=None, orient="top", symbolType="stroke", symbolStrokeWidth=4, symbolOpacity=1),
    )
    base = alt.Chart(alt.Data(values=rows), title=alt.TitleParams(name, fontSize=12.5, anchor="start"))
    axis = alt.Axis(grid=False, labels=unit is not None, ticks=unit is not None, tickCount=8)
    x = alt.X("start:Q", title=unit, axis=axis, scale=alt.Scale(nice=False))
    y = alt.Y("lane:Q", title="slot", axis=None, scale=alt.Scale(domain=[-0.7, slots - 0.3]))
    bars = base.mark_rule(strokeWidth=3, opacity=0.75).encode(x=x, x2="stop:Q", y=y, color=colour)
    used = base.transform_filter("datum.weight > 0")
    dots = used.mark_circle(opacity=0.9, color=WEIGHTED).encode(x="stop:Q", y=y, size=size)
    gaps = base.mark_tick(color="#fff", thickness=1.5, size=7).encode(x="stop:Q", y=y)
    return alt.layer(bars, gaps, dots).properties(width=WIDTH, height=13 * slots)


def _finished(alt: Any, chart: Any, title: str, subtitle: str) -> Any:
    heading = alt.TitleParams(
        title, subtitle=subtitle, fontSize=16, subtitleFontSize=12, subtitleColor=GREY, anchor="start", offset=14
    )
    axes = {"labelFontSize": 12, "titleFontSize": 12.5, "titleFontWeight": "normal", "gridColor": "#ececec"}
    return (
        chart.properties(title=heading, padding=14, background="#fff")
        .configure_axis(**axes, domainColor="#bbb", tickColor="#bbb", labelFlush=False, labelPadding=4)
        .configure_view(stroke=None)
        .configure_legend(labelFontSize=12)
    )


def timeline(stream: Stream, capacity: int, first: int, last: int) -> dict[str, list[dict[str, Any]]]:
    """Stays in the set that touch rounds first..last, by policy: lane, start, stop, end, weight.

    Times are in minutes from the first round shown; what lasts longer is cut, and its weight, not yet known, is 0. A
    lane is a slot; stays in one lane do not overlap.
    """
    few = stream.head(last + stream.delays.max_delay)  # far enough to know how every stay ends
    clock = np.clip(few.times - few.times[first - 1], 0.0, few.times[last - 1] - few.times[first - 1])
    found = {p.name: _stays(few, scheduler_for(p, few, capacity), capacity, clock) for p in PANELS}
    return {name: [row for row in rows if row["stop"] > row["start"]] for name, rows in found.items()}


def _stays(stream: Stream, scheduler: Any, capacity: int, clock: Vector) -> list[dict[str, Any]]:
    events = replay(scheduler, stream.delays, capacity=capacity, keep_rounds=True).events()
    lanes, rows = list(range(capacity)), []
    inside: dict[int, tuple[int, int]] = {}
    for t, event, s, weight in events.iter_rows():
        if event == "entered":
            inside[s] = (lanes.pop(0), t)
        elif event in ("preempted", "feedback") and s in inside:
            lane, since = inside.pop(s)
            lanes.insert(0, lane)
            start, stop = float(clock[since - 1]), float(clock[t - 1])
            end = "heard" if event == "feedback" else "pushed out"
            told = float(weight) if stop < clock[-1] else 0.0
            rows.append({"lane": lane, "start": start, "stop": stop, "end": end, "weight": told})
    return rows


def busiest(stream: Stream, rounds: int) -> int:
    """The first round of the stretch of so many rounds in which most labels wait."""
    waiting = np.cumsum(np.concatenate(([0.0], stream.delays.backlog().astype(np.float64))))
    return int(np.argmax(waiting[rounds:] - waiting[:-rounds])) + 1
