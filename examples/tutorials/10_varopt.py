"""
VarOpt in pictures
==================

This tutorial is for readers who want to see why VarOpt is unbiased. VarOpt is the scheduler that decides which rounds
are tracked. You follow it through a few rounds and see two facts. An overflow keeps the total weight, and every round
has mean weight 1.
"""

# %%
# One overflow
# ------------
# Four slots are full, with weights 1, 1, 2 and 4. A newcomer has weight 1, so there are five candidates and one must
# go. VarOpt finds the threshold θ with Σ min(1, W/θ) = 4. Candidates above θ stay. Each other candidate goes with
# probability 1 − W/θ, and gets the weight θ if it stays. The total weight stays 9.
import altair as alt
import numpy as np
import polars as pl

import tarry
from tarry.charts import INK, dressed

weights = np.array([1.0, 1.0, 2.0, 4.0, 1.0])


def threshold(weights, slots):
    """Solve Σ min(1, W/θ) = slots by bisection."""
    low, high = 0.0, weights.sum()
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if np.minimum(1, weights / middle).sum() > slots else (low, middle)
    return high


theta = threshold(weights, 4)
stay = np.minimum(1, weights / theta)
print(f"threshold {theta:.3f}; chances to stay {stay.round(3)}; they add up to {stay.sum():.3f}")
print(f"mean weight afterwards {np.round(stay * np.maximum(weights, theta), 3)}: as before, for each")

# %%
candidates = [
    {"candidate": name, "weight": float(w), "part": part}
    for name, before, after in zip("ABCDE", weights, np.maximum(weights, theta), strict=True)
    for part, w in (("before", before), ("after, if it stays", after))
]
bars = (
    alt.Chart(alt.Data(values=candidates))
    .mark_bar()
    .encode(
        x=alt.X("candidate:N", axis=alt.Axis(labelAngle=0)),
        xOffset=alt.XOffset("part:N", sort=["before", "after, if it stays"]),
        y="weight:Q",
        color=alt.Color("part:N", title=None, scale=alt.Scale(range=["#56B4E9", "#0072B2"])),
    )
)
line = alt.Chart(alt.Data(values=[{"weight": theta}])).mark_rule(color=INK, strokeDash=[5, 4]).encode(y="weight:Q")
overflow = dressed(alt.layer(bars, line).properties(width=420, height=200), "One overflow; dashed: the threshold")

# %%
# Many rounds
# -----------
# This join makes 300 decisions with 6 slots, and every label is 40 rounds late. Arrived weight and held weight add up
# to the number of decisions, at every moment and in every run.
join = tarry.LabelJoin(capacity=6, rng=3)
points, arrived = [], 0.0
for t in range(1, 301):
    join.decide({"t": t}, id=t)
    if t > 40:
        row = join.label(t - 40, 1)
        arrived += 0.0 if row is None else row.weight
    points += [{"round": t, "weight": arrived, "part": "arrived"}, {"round": t, "weight": t - arrived, "part": "held"}]
areas = (
    alt.Chart(alt.Data(values=points))
    .mark_area()
    .encode(
        x="round:Q",
        y=alt.Y("weight:Q", stack=True),
        color=alt.Color(
            "part:N", title=None, scale=alt.Scale(domain=["held", "arrived"], range=["#E69F00", "#0072B2"])
        ),
    )
)
flow = dressed(areas.properties(width=520, height=220), "Held and arrived weight; their sum is the round")
print(f"balance {join.status().balance:.6f}")

# %%
# The held weight estimates the backlog (40 here) without bias, although only six decisions are tracked. Rates that
# follow the backlog use this estimate: :doc:`/explanation/main-theorem`.
#
# Mean weight 1, for each round
# -----------------------------
# Delays differ here: every third round waits 60 rounds, others 5. Over 300 runs both kinds have a mean weight near 1:
waits = np.where(np.arange(120) % 3 == 0, 60, 5)
total = np.zeros(120)
for seed in range(300):
    replayed = tarry.game.replay(
        tarry.schedulers.VarOpt(),
        tarry.delays.array(np.minimum(waits, 119 - np.arange(120))),
        capacity=6,
        seeds=[seed],
        keep_rounds=True,
    )
    total += replayed.heard()
means = pl.DataFrame({"delay": np.minimum(waits, 119 - np.arange(120)), "weight": total / 300})
means.group_by(pl.col("delay") > 30).agg(pl.col("weight").mean().round(3)).sort("delay")
