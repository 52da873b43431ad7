"""
Reproducing Table 1
===================

The paper's Table 1 states how regret grows. A slope alone proves little: a player that never moves has slopes too. So
every line is measured beside three controls, and counts as evidence only where the player passes and every control
fails.

``make table1`` plays all lines (a minute or two). This tutorial plays one: gradients, convex losses, nothing known,
along T.
"""

# %%
# One line
# --------
# A line is a series of games along one quantity, with the slope that is claimed. Fences are the claim and a tenth
# either way.
import altair as alt
import polars as pl

from studies.table1 import hush, lines, measure_line, regrets_at
from tarry.charts import dressed

hush()  # leave out the warnings about controls that do badly on purpose
line = next(one for one in lines() if one.column.row.startswith("OCO, convex") and "nothing" in one.column.name)
print(line.column.row, "|", line.column.name, "|", line.name, "| fences", [round(fence, 2) for fence in line.fences])

# %%
# Measure it
# ----------
# Eight seeds for the player and for each control; more where an interval would cross a fence.
measured = measure_line(line, most=8)
print("verdict:", measured.verdict)
pl.DataFrame(
    [
        {"who": who, "slope": round(s.slope, 2), "low": round(s.low, 2), "high": round(s.high, 2)}
        for who, s in measured.slopes.items()
    ]
)

# %%
# Look at it
# ----------
# The slope is fitted to the logarithms of mean regret over seeds; only its two fences decide.
found = [
    {"T": at.horizon, "regret": float(regrets_at(line, at, who, range(4)).mean()), "who": who}
    for at in line.settings
    for who in measured.slopes
]
chart = dressed(
    alt.Chart(alt.Data(values=found))
    .mark_line(point=True)
    .encode(
        x=alt.X("T:Q", scale=alt.Scale(type="log")),
        y=alt.Y("regret:Q", scale=alt.Scale(type="log")),
        color=alt.Color("who:N", title=None),
    )
    .properties(width=480, height=240),
    "Regret along T, player and controls",
)

# %%
# :doc:`/table1` has all lines, what was found, and which claims of the table no line can show.
