"""The three pictures people look at first (they need the extra ``report``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl

from studies.measure import Scores, scheduler_for
from studies.streams import Stream
from tarry.cases import Spread
from tarry.charts import FATE_COLOURS, INK, PALETTE, altair, data_of, dressed, grouped
from tarry.charts import WIDTH as PAGE_WIDTH
from tarry.game import replay
from tarry.planning.policies import find_policy
from tarry.reports.style import ticks

WIDTH = 580  # pixels
TRACKED = tuple(map(find_policy, ("VarOpt", "drop newest", "drop oldest")))  # of the timeline
KINDS = {"weighted": PALETTE[0], "no limit": INK, "unweighted": PALETTE[1]}
ENDS = ("used", "preempted", "expired", "pending")  # fates of rounds that held a slot
DAY = 1440.0  # minutes; a stretch of more than three is told in days


def bias_chart(stream: Stream, figures: Iterable[Scores]) -> Any:
    """Return a chart of the mean label as each policy believes it: a point, with the range of most single runs."""
    alt = altair()
    least, most = stream.scale * float(stream.labels.min()), stream.scale * float(stream.labels.max())
    rows = [
        {
            "policy": one.policy,
            "kind": "no limit" if one.capacity is None else "weighted" if one.is_unbiased else "unweighted",
            "mean": one.believed.mean,
            "low": max(least, one.believed.mean - 2 * one.believed.deviation),
            "high": min(most, one.believed.mean + 2 * one.believed.deviation),
            "text": f"{one.believed.mean:.1f}"
            + (f" (s.d. {one.believed.deviation:.1f})" if one.believed.runs > 1 else ""),
        }
        for one in figures
    ]
    order = [row["policy"] for row in rows]
    slots = max((one.capacity or 0) for one in figures)
    base = alt.Chart(data_of(rows))
    # Padded, since a point at zero lies on the axis and would cover the end of its label.
    axis = alt.Axis(labelLimit=220, labelPadding=9, ticks=False, domain=False)
    y = alt.Y("policy:N", sort=order, title=None, axis=axis)
    x = alt.X("mean:Q", title=f"believed mean label ({stream.unit}), two standard deviations of one run either way")
    colour = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=list(KINDS), range=list(KINDS.values())),
        legend=alt.Legend(title=None, orient="top", symbolType="circle", symbolOpacity=1),
    )
    shape = alt.Shape("kind:N", scale=alt.Scale(domain=list(KINDS), range=["circle", "diamond", "square"]), legend=None)
    truth = alt.Chart(data_of([{"mean": stream.mean, "text": f"truth {stream.mean:.1f}"}]))
    layers = [
        truth.mark_rule(color=INK, strokeDash=[5, 4]).encode(x="mean:Q"),
        base.mark_rule(strokeWidth=3, opacity=0.5).encode(y=y, x="low:Q", x2="high:Q", color=colour),
        base.mark_point(filled=True, size=80, opacity=1).encode(y=y, x=x, color=colour, shape=shape),
        base.mark_text(align="left", fontSize=12, color=INK).encode(y=y, x=alt.value(WIDTH - 110), text="text:N"),
        truth.mark_text(dy=-8, fontSize=12, color=INK, fontWeight="bold").encode(
            x="mean:Q", y=alt.value(0), text="text:N"
        ),
    ]
    drawn = alt.layer(*layers).properties(width=WIDTH - 120, height=26 * len(rows))
    return dressed(drawn, f"What {slots} slots take the mean label to be", stream.name)


def precision_chart(stream: Stream, cells: Iterable[tuple[str, int, Spread]]) -> Any:
    """Return a chart of the believed mean label's error, root mean square over runs, against slots; by powers."""
    alt = altair()
    rows: list[dict[str, Any]] = [
        {"group": name, "slots": slots, "error": float(np.hypot(spread.mean - stream.mean, spread.deviation))}
        for name, slots, spread in cells
    ]
    rows = [row for row in rows if row["error"] > 1e-9]  # a logarithm has no room for "exact"
    names = list(dict.fromkeys(str(row["group"]) for row in rows))
    slots = sorted({int(row["slots"]) for row in rows})
    look = grouped(names)
    errors = [row["error"] for row in rows]
    base = alt.Chart(data_of(rows))
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
        axis=alt.Axis(format="~g", values=ticks(min(errors), max(errors))),
    )
    lines = base.mark_line(strokeWidth=2).encode(x=x, y=y, **look)
    points = base.mark_point(filled=True, size=36, opacity=1).encode(x=x, y=y, color=look["color"])
    title = "How wrong is the mean label? By slots"
    subtitle = f"{stream.name}, true mean {stream.mean:.1f} {stream.unit}; * unweighted"
    return dressed(alt.layer(lines, points).properties(width=WIDTH, height=320), title, subtitle)


def timeline_chart(stream: Stream, slots: int, first: int, last: int) -> Any:
    """Return a chart of who holds a slot in rounds first..last, and until when: a panel for each policy."""
    held = stays(stream, slots, first, last)
    end = float(stream.times[min(last, stream.horizon - 1)] - stream.times[first - 1])
    unit, length = ("days", DAY) if end > 3 * DAY else ("minutes", 1.0)
    scaled = {name: frame.with_columns(pl.col("start", "stop") / length) for name, frame in held.items()}
    chart = timeline(scaled, slots, (0.0, end / length), unit)
    about = f"{stream.name}; a row is a slot, the area of a dot the weight of a label heard"
    return dressed(chart, f"{slots} slots for everything that waits", about)


def stays(stream: Stream, slots: int, first: int, last: int) -> dict[str, pl.DataFrame]:
    """Return stays in slots that touch rounds first..last, by policy; times are minutes from the first round shown."""
    few = stream.head(last + stream.delays.max_delay)  # far enough to know how every stay ends
    # What is heard as a round ends leaves its slot when the next one begins.
    minutes = np.append(few.times, few.times[-1]) - few.times[first - 1]
    found = {}
    for policy in TRACKED:
        events = replay(scheduler_for(policy, few, slots), few.delays, capacity=slots, keep_rounds=True).events()
        frame = pl.DataFrame(stays_in_lanes(events.iter_rows(), first, last, few.horizon))
        at = [pl.Series(name, minutes[frame[name].to_numpy() - 1]) for name in ("start", "stop")]
        found[policy.name] = frame.with_columns(at)
    return found


def timeline(
    held: dict[str, pl.DataFrame],
    lanes: int,
    reach: tuple[float, float],
    unit: str,
) -> Any:
    """Return a chart of stays in slots (lane, start, stop, fate): a panel for each name, a row for each slot.

    A dot at the end of a stay has the weight of the label as its area.
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
        size = alt.Size("weight:Q", scale=alt.Scale(range=[0, 320]), legend=None)
        heard = base.transform_filter("datum.weight > 0")
        dots = heard.mark_circle(opacity=0.9, color=FATE_COLOURS["used"]).encode(x="stop:Q", y=y, size=size)
        layers = [bars.transform_calculate(end=f"datum.stop - {gap}"), dots]
        drawn.append(alt.layer(*layers).properties(width=PAGE_WIDTH, height=int((thick * 1.5) * (lanes + 1)) + 6))
    return alt.vconcat(*drawn, spacing=12).resolve_scale(x="shared", color="shared", size="shared")


def stays_in_lanes(events: Iterable[tuple[Any, ...]], first: int, last: int, played: int) -> dict[str, list[Any]]:
    """Return the stays that touch rounds first..last, each in the lane of its slot, from the events in order."""
    stays: dict[str, list[Any]] = {name: [] for name in ("lane", "start", "stop", "fate", "weight")}
    inside: dict[int, int] = {}
    free: list[int] = []

    def leave(s: int, t: int, fate: str, weight: float) -> None:
        lane = inside.pop(s)
        free.append(lane)
        stop = t if fate == "preempted" else t + 1  # dropped as a round begins, heard as it ends
        if stop > first and s <= last:
            visible = weight if stop <= last else 0.0  # what lasts longer is cut, and not heard yet
            for name, value in zip(stays, (lane, max(s, first), min(stop, last + 1), fate, visible), strict=True):
                stays[name].append(value)

    for t, event, s, weight in events:
        if event == "entered":
            free.sort(reverse=True)  # the lowest lane that is free: the picture has as many lanes as slots were held
            inside[s] = free.pop() if free else len(inside)
        elif s in inside and event in ("preempted", "feedback", "expired"):
            is_heard = event == "feedback"
            leave(s, t, "used" if is_heard else event, float(weight) if is_heard else 0.0)
    for s in sorted(inside):
        leave(s, played, "pending", 0.0)
    return stays


def busiest(stream: Stream, rounds: int) -> int:
    """Return the first round of the stretch of so many rounds in which most labels wait."""
    waiting = np.cumsum(np.concatenate(([0.0], stream.delays.backlog().astype(np.float64))))
    return int(np.argmax(waiting[rounds:] - waiting[:-rounds])) + 1
