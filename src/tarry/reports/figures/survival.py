"""How long feedback takes, and how long a round may wait for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tarry.experiments.replays import DELAYS
from tarry.reports.figures.axes import ticks
from tarry.reports.figures.cast import Cast, encodings
from tarry.reports.figures.look import FAINT, Figure, data_of, panels
from tarry.results.charts import altair

if TYPE_CHECKING:
    from tarry.experiments.replays import Replays

TEXT = (
    "Grey: the share of rounds whose feedback is still out at an age. Lines: the chance that a scheduler still tracks "
    "a round of that age, had it room (P(proxy delay ≥ age), for a round in the middle of the game). Feedback that "
    "comes at an age weighs one over the line there: where a line runs low while much feedback is still out, weights "
    "are heavy and frequent. Schedulers that decide by other means have no such line."
)


def survival_figures(replays: Replays, cast: Cast) -> list[Figure]:
    """Survival of delays against survival of proxy delays, where some scheduler has the latter."""
    import polars as pl

    alt = altair()
    lines = [line for line in dict.fromkeys(replays.survival["line"]) if line != DELAYS]
    if not lines:
        return []
    look = encodings(cast, only=lines)
    told = replays.survival.filter(pl.col("share") > 0)
    rows = [{**row, "group": cast.of(row["line"])} for row in told.filter(pl.col("line") != DELAYS).to_dicts()]
    out = told.filter(pl.col("line") == DELAYS).to_dicts()
    ages, least = [row["age"] for row in rows], min(row["share"] for row in rows + out)
    at = alt.Axis(values=ticks(1, max(ages)), format="~s", grid=False)
    x = alt.X("age:Q", title="age (rounds)", scale=alt.Scale(type="log", nice=False), axis=at)
    y = alt.Y(
        "share:Q",
        title="share still out, still tracked",
        scale=alt.Scale(type="log", domain=[least / 1.3, 1], nice=False),
        axis=alt.Axis(values=ticks(least / 1.3, 1), format="~%"),
    )
    layers = [
        alt.Chart(data_of(out)).mark_area(color=FAINT, opacity=0.22).encode(x=x, y=y, y2=alt.datum(least / 1.3)),
        alt.Chart(data_of(rows))
        .mark_line(strokeWidth=1.8)
        .encode(x=x, y=y, color=look["color"], strokeDash=look["strokeDash"]),
    ]
    chart = panels({replays.setting: alt.layer(*layers)}, 210)
    return [Figure("survival", "Delays and proxy delays", TEXT, chart)]
