"""
Reproducing Table 1
===================

This tutorial is for readers of the paper who want to check its Table 1, which states how regret grows. A slope alone
proves little: a player that never moves has slopes too. So every line is measured beside three controls. A line is
evidence only where the player passes and every control fails.

``make table1`` plays all lines (a minute or two). This tutorial plays one line: gradients, convex losses, nothing
known, along T.
"""

# %%
# One line
# --------
# A line is a series of games along one quantity, with the slope that the paper claims. The two fences lie a tenth below
# and above the claim.
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
# The player and each control play at most eight seeds: first a pilot, then more where an interval crosses a fence.
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
# The slope is fitted to the logarithms of mean regret over seeds. Only the two fences decide.
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
# Next: :doc:`/table1` has all lines, the results, and the claims of the table that no line can show.
