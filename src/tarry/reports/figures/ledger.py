"""What became of the rounds, as bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tarry.reports.figures.choices import choose, left_out
from tarry.reports.figures.look import HALF, RULE, Figure, data_of, panels, rows_height
from tarry.results import FATES
from tarry.results.charts import altair

if TYPE_CHECKING:
    from tarry.reports.view import View

COLOURS = {
    "used": "#0072B2",
    "untracked": RULE,
    "saturated": "#D55E00",
    "preempted": "#E69F00",
    "expired": "#CC79A7",
    "pending": "#56B4E9",
}
TEXT = (
    "Every round ends in one of these ways, in this order from the left: used (its feedback reached the learner), "
    "untracked (the scheduler declined it), saturated (no room), preempted (dropped again), expired, still pending at "
    "the end. Shares are means over seeds."
)


def ledger_figures(view: View) -> list[Figure]:
    """Stacked shares by fate: a panel for each setting, a bar for each line."""
    import polars as pl

    alt = altair()
    finished = list(dict.fromkeys(view.runs["setting"]))
    if not finished:
        return []
    many = len(view.lines)
    chosen = choose(finished, 1 if many > 24 else 2 if many > 10 else 6)
    shares = view.runs.group_by("setting", "line", maintain_order=True).agg(
        (pl.col(fate) / pl.col("horizon")).mean() for fate in FATES
    )
    met = [fate for fate in FATES if float(shares[fate].sum()) > 0]
    drawn = {}
    for setting in chosen:
        rows = [
            {"line": row["line"], "fate": fate, "order": i, "share": row[fate]}
            for row in shares.filter(pl.col("setting") == setting).to_dicts()
            for i, fate in enumerate(met)
        ]
        legend = alt.Legend(title=None, orient="bottom", symbolType="square", columns=len(met))
        colour = alt.Color("fate:N", scale=alt.Scale(domain=met, range=[COLOURS[f] for f in met]), legend=legend)
        y = alt.Y("line:N", sort=view.lines, title=None, axis=alt.Axis(labelLimit=150, ticks=False, domain=False))
        x = alt.X(
            "share:Q", title=None, stack="zero", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%", tickCount=4)
        )
        bars = alt.Chart(data_of(rows)).mark_bar(height={"band": 0.72})
        drawn[setting] = bars.encode(y=y, x=x, color=colour, order="order:Q")
    title = "Rounds by fate"
    text = TEXT + left_out(chosen, finished)
    return [Figure("fates", title, text, panels(drawn, rows_height(many), width=HALF - 60))]
