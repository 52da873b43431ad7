"""
Conversions with a window
=========================

This tutorial is for analysts who report a conversion rate while labels are still coming in. A shop shows an offer and
learns later whether the visitor bought. Buyers take days; no purchase within 30 days counts as "no". The shop can
follow 100 visitors at a time.
"""

# %%
# A log of visits
# ---------------
# 3 000 visits in 100 days. One visitor in five buys, 3 to 25 days later.
import altair as alt
import numpy as np
import polars as pl

import tarry
from tarry.charts import INK, dressed

draw = np.random.default_rng(4)
DAY = 86_400.0
visits = np.sort(draw.uniform(0, 100, 3_000))
buys = draw.random(3_000) < 0.2
buys_at = visits + draw.uniform(3, 25, 3_000)

# %%
# One join for all visits
# -----------------------
# ``window="30d"`` ends every decision after thirty days, and ``missing=0`` is the label of a visitor who has not bought
# by then. ``advance`` returns the rows whose windows have ended: call it from a daily job.
join = tarry.LabelJoin(capacity=100, window="30d", missing=0, rng=1)
events = sorted([(at, 0, i) for i, at in enumerate(visits)] + [(buys_at[i], 1, i) for i in np.flatnonzero(buys)])
rows, curve, day = [], [], 0
for at, kind, i in events:
    while day < at:
        day += 1
        rows += join.advance(day * DAY)
        found = join.estimate()
        curve.append({"day": day, "rate": found.mean, "low": found.low, "high": found.high})
    if kind == 0:
        join.decide({"visit": i}, id=i + 1, at=at * DAY)
    else:
        join.label(i + 1, 1, at=at * DAY)
rows += join.advance(200 * DAY)
print(f"{len(rows)} rows of {len(visits)} visits; at most 100 were followed at once")

# %%
# The estimated rate
# ------------------
# The join gives out every row at the end of its window, for buyers and others alike. So quick outcomes do not come
# first. Before the first window ends there is no estimate.
curve = [point for point in curve if not np.isnan(point["rate"])]
base = alt.Chart(alt.Data(values=curve)).encode(x=alt.X("day:Q"))
truth = (
    alt.Chart(alt.Data(values=[{"rate": float(buys.mean())}]))
    .mark_rule(color=INK, strokeDash=[5, 4])
    .encode(y="rate:Q")
)
band = base.mark_area(opacity=0.25, color="#0072B2").encode(y=alt.Y("low:Q", title="conversion rate"), y2="high:Q")
line = base.mark_line(color="#0072B2").encode(y="rate:Q")
chart = dressed(
    alt.layer(band, line, truth).properties(width=560, height=240), "Estimate and 95 % interval; dashed: truth"
)

# %%
# A common mistake is to count visitors without a purchase as "no" at once. On day 60 that rate is too low:
come = buys & (buys_at < 60)
quick = come[visits < 60].mean()
pl.DataFrame(
    {
        "way": ["truth", "Tarry, weighted rows", "counted as no until they buy, day 60"],
        "rate": [round(float(x), 3) for x in (buys.mean(), join.estimate().mean, quick)],
    }
)

# %%
# Train on the rows
# -----------------
# ``row.relative`` is the sample weight for a model with a penalty; ``row.weight`` is for sums.
total = sum(row.weight for row in rows)
print(f"weights add up to {total:.0f}, the number of visits whose window has ended")

# %%
# Next: :doc:`/live` has the rules of windows, and :doc:`/planning` says how many slots you need.
