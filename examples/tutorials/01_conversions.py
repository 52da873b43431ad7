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
# 3 000 visits in 100 days. One visitor in five buys, 3 to 25 days later; more of those with full baskets, and fewer on
# phones.
import altair as alt
import numpy as np
import polars as pl
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

import tarry
from tarry.charts import INK, dressed

draw = np.random.default_rng(4)
DAY = 86_400.0
visits = np.sort(draw.uniform(0, 100, 3_000))
basket, phone = draw.uniform(10, 90, 3_000), draw.random(3_000) < 0.5
features = [{"basket": b / 10, "device": "phone" if p else "desktop"} for b, p in zip(basket, phone, strict=True)]
buys = draw.random(3_000) < basket / np.where(phone, 500, 167)
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
    while day + 1 < at:
        day += 1
        rows += join.advance(day * DAY)
        found = join.estimate()
        curve.append({"day": day, "rate": found.mean, "low": found.low, "high": found.high})
    if kind == 0:
        join.decide(features[i], id=i + 1, at=at * DAY)
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
found = next(point for point in curve if point["day"] == 60)
pl.DataFrame(
    {
        "on day 60": ["truth", "Tarry", "not yet is no"],
        "rate": [round(float(x), 3) for x in (buys.mean(), found["rate"], quick)],
        "95 % interval": ["", f"{found['low']:.2f} to {found['high']:.2f}", ""],
    }
)

# %%
# Train on the rows
# -----------------
# The features of a row are the dictionary that ``decide`` was given. ``DictVectorizer`` makes a matrix of them.
# ``row.weight`` is for sums: here the weights add up to the number of visits. For a fit of all rows, divide the weights
# by their mean, so that a penalty keeps its meaning.
weights = np.array([row.weight for row in rows])
print(f"weights add up to {weights.sum():.0f}")
table = DictVectorizer(sparse=False)
X, y = table.fit_transform([row.features for row in rows]), [row.label for row in rows]
from_rows = LogisticRegression().fit(X, y, sample_weight=weights / weights.mean())

# %%
# A model that had the label of every visit shows what the limit costs. Both predict all visits, by log loss:
every = table.transform(features)
from_all = LogisticRegression().fit(every, buys)
models = {"no model": None, f"{len(rows)} rows of Tarry": from_rows, f"all {len(visits)} labels": from_all}
pl.DataFrame(
    {
        "trained on": list(models),
        "log loss": [
            round(log_loss(buys, model.predict_proba(every) if model else np.full(len(buys), buys.mean())), 3)
            for model in models.values()
        ],
    }
)

# %%
# Next: :doc:`/live` has the rules of windows, and :doc:`/planning` says how many slots you need.
