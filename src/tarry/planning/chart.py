"""The picture of a plan (needs the extra ``report``)."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any

from tarry.charts import INK, PALETTE, altair, data_of, dressed, grouped, level

if TYPE_CHECKING:
    from tarry.planning.measure import Figures
    from tarry.planning.plan import Plan

WIDTH = 580  # pixels: the legend stands beside it
LETTERS = 100  # of a line of the recommendation, as wide as the picture


def plan_chart(plan: Plan) -> Any:
    """Return the backlog over time above, effective sample size against slots below; the recommendation in both."""
    stacked = altair().vconcat(_backlog(plan), _effective(plan), spacing=24)
    # The upper chart has one line and no legend: shared scales would put it in the lower one's.
    apart = stacked.resolve_legend(color="independent", strokeDash="independent")
    return dressed(apart, "How many slots?", wrap(plan.recommendation, LETTERS))


def _backlog(plan: Plan) -> Any:
    alt = altair()
    rows = [{"t": t, "mean": middle, "peak": top} for t, middle, top in plan.backlog.curve]
    mean, peak = plan.backlog.mean_backlog, plan.backlog.max_backlog
    title = f"Decisions waiting for feedback: {mean:,.0f} on average, {peak:,} at most"
    base = alt.Chart(data_of(rows), title=alt.TitleParams(title, frame="group"))
    x = alt.X("t:Q", title="decision", axis=alt.Axis(tickCount=6, grid=False, format="~s"), scale=alt.Scale(nice=False))
    y = alt.Y("peak:Q", title="waiting", axis=alt.Axis(tickCount=4))
    layers = [
        base.mark_area(color=PALETTE[0], opacity=0.18, interpolate="monotone").encode(x=x, y=y),
        base.mark_line(color=PALETTE[0], strokeWidth=1.6, interpolate="monotone").encode(x=x, y="mean:Q"),
    ]
    if plan.capacity is not None:
        layers += level(plan.capacity, f"{plan.capacity:,} slots", "t", plan.backlog.horizon, align="right")
    return alt.layer(*layers).properties(width=WIDTH, height=120)


def _effective(plan: Plan) -> Any:
    alt = altair()
    rows = [{"group": _name(f), "slots": f.capacity, "effective": f.effective} for f in plan.figures]
    slots = sorted({f.capacity for f in plan.figures})
    # At the largest capacity everybody takes part, so the legend keeps the order of the policies.
    look = grouped([_name(f) for f in plan.figures if f.capacity == slots[-1]])
    x = alt.X(
        "slots:Q",
        title="slots (log scale)",
        scale=alt.Scale(type="log", base=2, domain=[slots[0], max(slots[-1], slots[0] + 1)], nice=False),
        axis=alt.Axis(values=[c for c in slots if c & (c - 1) == 0] or slots, format=",d", grid=False),
    )
    y = alt.Y("effective:Q", title="share", axis=alt.Axis(format="%", tickCount=5), scale=alt.Scale(domain=[0, 1]))
    star = "" if all(f.is_unbiased for f in plan.figures) else " (* unweighted)"
    title = f"Effective sample size, as a share of unlimited tracking{star}"
    base = alt.Chart(data_of(rows), title=alt.TitleParams(title, frame="group"))
    naive = "indexof(datum.group, '*') > 0"
    faint = base.transform_filter(naive).mark_line(strokeWidth=1.3, opacity=0.6).encode(x=x, y=y, **look)
    ours = base.transform_filter(f"!({naive})")
    lines = ours.mark_line(strokeWidth=2.2, interpolate="monotone").encode(x=x, y=y, **look)
    points = ours.mark_point(filled=True, size=26, opacity=1).encode(x=x, y="effective:Q", color=look["color"])
    layers = [faint, lines, points, *level(plan.target, f"target {plan.target:.0%}", "slots", slots[0], align="left")]
    if plan.choice is not None:
        best = {"slots": plan.choice.capacity, "effective": plan.choice.effective, "text": f"{plan.capacity:,} slots"}
        chosen, at = alt.Chart(data_of([best])), {"x": "slots:Q", "y": "effective:Q"}
        ring = chosen.mark_point(size=150, strokeWidth=2, color=INK, filled=False, opacity=1)
        name = chosen.mark_text(align="right", dx=-11, dy=-11, fontSize=12.5, fontWeight="bold", color=INK)
        layers += [ring.encode(**at), name.encode(**at, text="text:N")]
    return alt.layer(*layers).properties(width=WIDTH, height=300)


def _name(figures: Figures) -> str:
    return figures.scheduler if figures.is_unbiased else f"{figures.scheduler} *"
