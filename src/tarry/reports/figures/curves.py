"""Regret over time, with bands; beside its bound; and against comparators that move."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tarry.charts import altair, data_of, intervals
from tarry.reports.style import (
    IS_SHOWN,
    Cast,
    Figure,
    choose,
    dotted_lines,
    encodings,
    left_out,
    lines_of,
    not_finite,
    panels,
    short,
    ticks,
)

if TYPE_CHECKING:
    import polars as pl

    from tarry.experiments.replays import Replays
    from tarry.reports.view import View

TEXT = (
    "Regret is how much more the player has lost, up to a round, than the best fixed action of the whole game. Lines "
    "are means over seeds; the band is the 95 % interval of that mean (none where there is one seed)."
)
BOUND_TEXT = (
    "Solid: regret, as above. Thin and dotted, in the same colour: what the theory allows, computed from what was "
    "observed on each path, on average over seeds. It speaks of the weighted regret over the feedback that has "
    "arrived, and is often far above what happens. For schedulers that drop rounds without making up for them by "
    "weights it may lie below the regret: of rounds that were never seen it says nothing. A player without a dotted "
    "line has no such bound. Both axes are logarithmic; regret that is not positive is not drawn."
)
MOVING_TEXT = (
    "Regret so far is against one fixed action for the whole game. Here the game is cut into equal pieces and the "
    "player is compared with the best action of each piece: at 1 this is the usual regret, further right the "
    "comparator may change more often. A line that climbs steeply belongs to a game in which the best action moves."
)


def regret_curves(view: View, cast: Cast) -> list[Figure]:
    """Return figures of regret against the round, a panel for each setting; and with bounds if there are any."""
    settings = choose([s for s in view.settings if s in set(view.curves["setting"])])
    if not settings:
        return []
    note = left_out(settings, view.settings) + cast.note + not_finite(_diverged(view.curves))
    regret = intervals(view.curves, ["setting", "line", "t"], "regret")
    bound = intervals(view.curves, ["setting", "line", "t"], "bound")
    figures = [
        Figure("regret", "Regret over time", TEXT + note, panels({s: _over_time(regret, s, cast) for s in settings}))
    ]
    bounded = [s for s in settings if s in set(bound["setting"])]
    if bounded:
        few = f" The {len(cast.shown)} with the least regret are shown." if cast.others else ""
        drawn = {s: _beside_bound(regret, bound, s, cast) for s in bounded}
        figures.append(
            Figure(
                "bounds", "Regret and its bound", BOUND_TEXT + left_out(settings, view.settings) + few, panels(drawn)
            )
        )
    return figures


def _diverged(curves: pl.DataFrame) -> int:
    """Return how many runs have a regret that is not finite, at some checkpoint."""
    import polars as pl

    return curves.filter(~pl.col("regret").is_finite()).n_unique(["cell", "seed"])


def _rows(frame: pl.DataFrame, setting: str, cast: Cast) -> list[dict[str, Any]]:
    import polars as pl

    return cast.rows(frame.filter(pl.col("setting") == setting).drop("setting", "seeds").to_dicts())


def _highest(rows: list[dict[str, Any]]) -> float:
    return max((row["high"] for row in rows), default=0.0)


def _over_time(frame: pl.DataFrame, setting: str, cast: Cast) -> Any:
    alt, look = altair(), encodings(cast)
    rows = _rows(frame, setting, cast)
    base = alt.Chart(data_of(rows))
    along = short(max((row["t"] for row in rows), default=0))
    x = alt.X("t:Q", title="round", axis=alt.Axis(tickCount=5, format=along, grid=False), scale=alt.Scale(nice=False))
    y = alt.Y("mean:Q", title="regret", axis=alt.Axis(tickCount=5, format=short(_highest(rows))))
    # The bands of a crowd would cover its lines.
    band = base.transform_filter(IS_SHOWN).mark_area(opacity=0.16)
    return band.encode(x=x, y="low:Q", y2="high:Q", color=look["color"], detail="line:N") + lines_of(
        base, look, x=x, y=y
    )


def _beside_bound(regret: pl.DataFrame, bound: pl.DataFrame, setting: str, cast: Cast) -> Any:
    alt, look = altair(), encodings(cast, marked=True, only=cast.shown)
    rows, above = (
        [row for row in _rows(frame, setting, cast) if row["mean"] > 0 and row["line"] in cast.shown]
        for frame in (regret, bound)
    )
    if not rows + above:
        return alt.Chart(data_of([{"text": "nothing positive"}])).mark_text().encode(text="text:N")
    heights, times = [row["mean"] for row in rows + above], [row["t"] for row in rows + above]
    x = alt.X(
        "t:Q",
        title="round",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(values=ticks(min(times), max(times)), format=short(max(times)), grid=False),
    )
    y = alt.Y(
        "mean:Q",
        title="regret and bound",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(values=ticks(min(heights), max(heights)), format=short(max(heights))),
    )
    line = alt.Chart(data_of(rows)).mark_line(strokeWidth=1.8)
    dots = alt.Chart(data_of(above)).mark_line(strokeWidth=1.4, strokeDash=[1.5, 3])
    # Both kinds of line end in the player's mark.
    ends = [row for part in (rows, above) for row in {row["line"]: row for row in part}.values()]
    marks = alt.Chart(data_of(ends)).mark_point(filled=True, size=45, opacity=1)
    coloured = {"x": x, "y": y, "color": look["color"]}
    return alt.layer(
        dots.encode(**coloured, detail="line:N"),
        line.encode(**coloured, detail="line:N"),
        marks.encode(**coloured, shape=look["shape"]),
    )


def comparator_figures(replays: Replays, cast: Cast) -> list[Figure]:
    """Return a figure of regret against the best action of each of m pieces of the game."""
    alt = altair()
    if not replays.segments.height:
        return []
    look = encodings(cast, only=list(dict.fromkeys(replays.segments["line"])))
    rows = cast.rows(replays.segments.to_dicts())
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
    drawn = dotted_lines(base, look, 30, x=x, y=y)
    text = f"{MOVING_TEXT} One seed ({replays.seed}) of {replays.setting}.{cast.note}"
    return [Figure("comparators", "Against moving comparators", text, panels({replays.setting: drawn}, 210))]
