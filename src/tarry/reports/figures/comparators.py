"""Harder comparators: the best sequence of actions with some changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tarry.reports.figures.axes import short
from tarry.reports.figures.cast import IS_SHOWN, Cast, encodings, lines_of
from tarry.reports.figures.look import Figure, data_of, panels
from tarry.results.charts import altair

if TYPE_CHECKING:
    from tarry.experiments.replays import Replays

TEXT = (
    "Regret so far is against one fixed action for the whole game. Here the game is cut into equal pieces and the "
    "player is compared with the best action of each piece: at 1 this is the usual regret, further right the "
    "comparator may change more often. A line that climbs steeply belongs to a game in which the best action moves."
)


def comparator_figures(replays: Replays, cast: Cast) -> list[Figure]:
    """Regret against the best action of each of m pieces."""
    alt = altair()
    if not replays.segments.height:
        return []
    look = encodings(cast, only=list(dict.fromkeys(replays.segments["line"])))
    rows = [{**row, "group": cast.of(row["line"])} for row in replays.segments.to_dicts()]
    rows.sort(key=lambda row: row["line"] in cast.shown)
    pieces = sorted({row["pieces"] for row in rows})
    base = alt.Chart(data_of(rows))
    x = alt.X(
        "pieces:Q",
        title="pieces, each with its best action",
        scale=alt.Scale(type="log", base=2, nice=False),
        axis=alt.Axis(values=pieces, format="d", grid=False),
    )
    highest = max(row["regret"] for row in rows)
    y = alt.Y("regret:Q", title="regret", axis=alt.Axis(tickCount=5, format=short(highest)))
    dots = base.transform_filter(IS_SHOWN).mark_point(filled=True, size=30, opacity=1)
    drawn = lines_of(base, look, x=x, y=y) + dots.encode(x=x, y=y, color=look["color"])
    text = f"{TEXT} One seed ({replays.seed}) of {replays.setting}.{cast.note}"
    return [Figure("comparators", "Against moving comparators", text, panels({replays.setting: drawn}, 210))]
