"""The picture of a plan (needs the extra ``report``)."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any

from tarry.results.charts import PALETTE, altair, grouped

if TYPE_CHECKING:
    from tarry.planning.measure import Figures
    from tarry.planning.plan import Plan

WIDTH = 620
GREY = "#6b6b6b"


def plan_chart(plan: Plan) -> Any:
    """The backlog over time above, effective sample size against slots below; the recommendation in both."""
    alt = altair()
    stacked = alt.vconcat(_backlog(alt, plan), _effective(alt, plan), spacing=24).resolve_legend(
        color="independent", strokeDash="independent"
    )
    title = alt.TitleParams(
        "How many slots?",
        subtitle=wrap(plan.recommendation, 100),
        fontSize=17,
        subtitleFontSize=12.5,
        subtitleColor=GREY,
        subtitlePadding=6,
        offset=14,
    )
    axes = {"labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": "normal", "gridColor": "#ececec"}
    return (
        stacked.properties(title=title, padding=14, background="#fff")
        .configure_axis(**axes, domainColor="#bbb", tickColor="#bbb")
        .configure_view(stroke=None)
        .configure_legend(labelFontSize=12)
        .configure_title(fontSize=13, anchor="start", fontWeight="bold")
    )


def _backlog(alt: Any, plan: Plan) -> Any:
    rows = [{"t": t, "mean": middle, "peak": top} for t, middle, top in plan.backlog.curve]
    mean, peak = plan.backlog.mean_backlog, plan.backlog.max_backlog
    title = f"Decisions waiting for feedback: {mean:,.0f} on average, {peak:,} at most"
    base = alt.Chart(alt.Data(values=rows), title=alt.TitleParams(title, frame="group"))
    x = alt.X("t:Q", title="decision", axis=alt.Axis(tickCount=6, grid=False, format="~s"), scale=alt.Scale(nice=False))
    area = base.mark_area(color=PALETTE[0], opacity=0.18, interpolate="monotone").encode(
        x=x, y=alt.Y("peak:Q", title="waiting", axis=alt.Axis(tickCount=4))
    )
    line = base.mark_line(color=PALETTE[0], strokeWidth=1.6, interpolate="monotone").encode(x=x, y="mean:Q")
    layers = [area, line]
    if plan.capacity is not None:
        layers += _level(alt, plan.capacity, f"{plan.capacity:,} slots", plan.backlog.horizon)
    return alt.layer(*layers).properties(width=WIDTH, height=120)


def _level(alt: Any, height: float, text: str, last: int) -> list[Any]:
    """A dashed line across, with its name at the right end."""
    at = alt.Chart(alt.Data(values=[{"y": height, "t": last, "text": text}]))
    rule = at.mark_rule(color="#222", strokeDash=[5, 4]).encode(y="y:Q")
    name = at.mark_text(align="right", dy=-6, fontSize=11.5, color="#222").encode(y="y:Q", x="t:Q", text="text:N")
    return [rule, name]


def _effective(alt: Any, plan: Plan) -> Any:
    rows = [{"group": _name(f), "slots": f.capacity, "effective": f.effective} for f in plan.figures]
    slots = sorted({f.capacity for f in plan.figures})
    # At the largest capacity everybody takes part, so the legend keeps the order of the policies.
    look = grouped(alt, [_name(f) for f in plan.figures if f.capacity == slots[-1]])
    x = alt.X(
        "slots:Q",
        title="slots (log scale)",
        scale=alt.Scale(type="log", base=2, domain=[slots[0], max(slots[-1], slots[0] + 1)], nice=False),
        axis=alt.Axis(values=[c for c in slots if c & (c - 1) == 0] or slots, format=",d", grid=False),
    )
    y = alt.Y("effective:Q", title="share", axis=alt.Axis(format="%", tickCount=5), scale=alt.Scale(domain=[0, 1]))
    star = "" if all(f.is_unbiased for f in plan.figures) else " (* unweighted, hence biased)"
    title = f"Effective sample size, as a share of unlimited tracking{star}"
    base = alt.Chart(alt.Data(values=rows), title=alt.TitleParams(title, frame="group"))
    naive = "indexof(datum.group, '*') > 0"
    faint = base.transform_filter(naive).mark_line(strokeWidth=1.3, opacity=0.6).encode(x=x, y=y, **look)
    ours = base.transform_filter(f"!({naive})")
    lines = ours.mark_line(strokeWidth=2.2, interpolate="monotone").encode(x=x, y=y, **look)
    points = ours.mark_point(filled=True, size=26, opacity=1).encode(x=x, y="effective:Q", color=look["color"])
    layers = [faint, lines, points, *_target(alt, plan, slots[0])]
    return alt.layer(*layers).properties(width=WIDTH, height=300)


def _name(figures: Figures) -> str:
    return figures.scheduler if figures.is_unbiased else f"{figures.scheduler} *"


def _target(alt: Any, plan: Plan, first: int) -> list[Any]:
    asked = alt.Chart(alt.Data(values=[{"y": plan.target, "x": first, "text": f"target {plan.target:.0%}"}]))
    layers = [
        asked.mark_rule(color="#222", strokeDash=[5, 4]).encode(y="y:Q"),
        asked.mark_text(align="left", dx=4, dy=-7, fontSize=11.5, color="#222").encode(y="y:Q", x="x:Q", text="text:N"),
    ]
    if plan.choice is not None:
        best = {"x": plan.choice.capacity, "y": plan.choice.effective, "text": f"{plan.choice.capacity:,} slots"}
        chosen = alt.Chart(alt.Data(values=[best]))
        layers += [
            chosen.mark_point(size=150, strokeWidth=2, color="#222", filled=False, opacity=1).encode(x="x:Q", y="y:Q"),
            chosen.mark_text(align="right", dx=-11, dy=-11, fontSize=12.5, fontWeight="bold", color="#222").encode(
                x="x:Q", y="y:Q", text="text:N"
            ),
        ]
    return layers
