"""The three pictures people look at first (they need the extra ``report``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl

from studies.measure import Scores, scheduler_for
from studies.streams import Stream
from tarry.cases import Spread
from tarry.charts import INK, PALETTE, altair, data_of, dressed, grouped
from tarry.experiments.replays import follow
from tarry.game import replay
from tarry.planning.policies import find_policy
from tarry.reports.style import ticks
from tarry.reports.tracking import timeline

WIDTH = 580  # pixels
TRACKED = tuple(map(find_policy, ("VarOpt", "drop newest", "drop oldest")))  # of the timeline
KINDS = {"weighted": PALETTE[0], "no limit": INK, "unweighted": PALETTE[1]}
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
    chart = timeline(scaled, slots, (0.0, end / length), unit, weigh=True)
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
        frame = pl.DataFrame(follow(events.iter_rows(), first, last, few.horizon)["stays"])
        at = [pl.Series(name, minutes[frame[name].to_numpy() - 1]) for name in ("start", "stop")]
        found[policy.name] = frame.with_columns(at)
    return found


def busiest(stream: Stream, rounds: int) -> int:
    """Return the first round of the stretch of so many rounds in which most labels wait."""
    waiting = np.cumsum(np.concatenate(([0.0], stream.delays.backlog().astype(np.float64))))
    return int(np.argmax(waiting[rounds:] - waiting[:-rounds])) + 1
