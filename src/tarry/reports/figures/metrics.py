"""Weights and occupancy: several figures of merit side by side.

They are drawn against capacity where it varies, else with a row for each player.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tarry.charts import HALF, WIDTH, altair, data_of, dressed, intervals
from tarry.reports.style import Cast, Figure, counted, dotted_lines, encodings, not_finite, rows_height, ticks

if TYPE_CHECKING:
    import polars as pl

    from tarry.reports.view import View

THIRD = WIDTH // 3 - 24  # pixels of one of three charts in a row, less the gaps
WEIGHT_TEXT = (
    "A round that is seen stands for those that are not, by its weight; heavy weights are noise. Left: effective "
    "sample size, (Σw)²/Σw², as a share of all rounds; unlimited tracking has 100 %. Middle: the mean squared weight, "
    "the factor by which errors' variance grows; 1 is the least where weights are unbiased. Right: the heaviest "
    "weight."
)
OCCUPANCY_TEXT = (
    "How the slots are used. Left: tracked rounds, as a share of the slots, on average over rounds. Middle: the share "
    "of rounds that found every slot taken. Right: the share of rounds that were turned away for want of room; "
    "weights cannot make up for those, so they bias what is learnt."
)


class Metric(NamedTuple):
    """An expression over the runs with its title; ``format`` of the axis, which may be logarithmic."""

    title: str
    value: pl.Expr
    format: str = "%"
    is_log: bool = False


def weight_figures(view: View, cast: Cast) -> list[Figure]:
    """Return a figure of effective sample size, second moment and largest weight."""
    import polars as pl

    shown = metric_chart(
        view,
        cast,
        [
            Metric("effective sample size", pl.col("effective_sample_size") / pl.col("horizon")),
            Metric("mean squared weight", pl.col("weight_second_moment"), ",~r", is_log=True),
            Metric("largest weight", pl.col("weight_max"), ",~r", is_log=True),
        ],
    )
    return (
        [Figure("weights", "Weights and effective sample size", WEIGHT_TEXT + shown[1] + cast.note, shown[0])]
        if shown
        else []
    )


def occupancy_figures(view: View, cast: Cast) -> list[Figure]:
    """Return a figure of occupancy and saturation, from the results."""
    import polars as pl

    runs = view.runs.filter(pl.col("capacity").is_not_null())
    shown = metric_chart(
        view._replace(runs=runs),
        cast,
        [
            Metric("tracked, share of slots", pl.col("occupancy_mean") / pl.col("capacity")),
            Metric("found the set full", pl.col("occupancy_full")),
            Metric("found no room", pl.col("saturated") / pl.col("horizon")),
        ],
    )
    return (
        [Figure("occupancy", "Occupancy and saturation", OCCUPANCY_TEXT + shown[1] + cast.note, shown[0])]
        if shown
        else []
    )


def metric_chart(view: View, cast: Cast, metrics: list[Metric]) -> tuple[Any, str] | None:
    """Return the chart, and a sentence that says which setting it shows; None where nothing is finished."""
    alt = altair()
    runs = view.named(view.runs, ["capacity"])
    if not runs.height:
        return None
    panel, mine = _middle(runs)
    by_capacity = mine["capacity"].drop_nulls().n_unique() > 1
    means = [_means(mine, metric) for metric in metrics]
    if by_capacity:
        charts = [_against_capacity(found, cast, metric) for found, metric in zip(means, metrics, strict=True)]
    else:
        pairs = enumerate(zip(means, metrics, strict=True))
        charts = [_by_line(found, cast, metric, labels=i == 0) for i, (found, metric) in pairs]
    row = alt.hconcat(*charts, spacing=18) if by_capacity or len(charts) > 1 else charts[0]
    others = runs["panel"].n_unique() - 1
    said = f" Shown for {panel}" + (f"; {counted(others, 'more setting')} in the tables." if others else ".")
    return dressed(row), said + not_finite(_unknown(mine, metrics))


def _middle(runs: pl.DataFrame) -> tuple[str, pl.DataFrame]:
    """Return the panel in the middle of the list, with its runs."""
    import polars as pl

    names = list(dict.fromkeys(runs["panel"]))
    panel = names[(len(names) - 1) // 2]
    return panel, runs.filter(pl.col("panel") == panel)


def _means(runs: pl.DataFrame, metric: Metric) -> pl.DataFrame:
    told = runs.with_columns(metric.value.cast(float).alias("value"))
    return intervals(told, ["line", "capacity"], "value")


def _unknown(runs: pl.DataFrame, metrics: list[Metric]) -> int:
    """Return how many runs have no finite value of some metric."""
    import polars as pl

    known = runs.select(pl.all_horizontal(metric.value.cast(float).is_finite() for metric in metrics)).to_series()
    return runs.height - int(known.sum())


def _rows(frame: pl.DataFrame, cast: Cast, metric: Metric) -> list[dict[str, Any]]:
    kept = [row for row in cast.rows(frame.drop("seeds").to_dicts()) if row["mean"] > 0 or not metric.is_log]
    for row in kept:  # no value is negative, and a logarithm has no room for zero either
        row["low"] = max(row["low"], row["mean"] / 3 if metric.is_log else 0.0)
    return kept


def _against_capacity(frame: pl.DataFrame, cast: Cast, metric: Metric) -> Any:
    import polars as pl

    limited = frame.filter(pl.col("capacity").is_not_null()).sort("capacity")
    alt, look = altair(), encodings(cast, only=list(dict.fromkeys(limited["line"])))
    rows = _rows(limited, cast, metric)
    slots = sorted({row["capacity"] for row in rows})
    scale = alt.Scale(type="log", base=2, nice=False)
    axis = alt.Axis(values=slots[:: 1 + len(slots) // 7], format="~s", grid=False, labelOverlap=True)
    kind = _scale(metric, rows)
    y = alt.Y("mean:Q", title=None, scale=kind, axis=_axis(metric, rows))
    base = alt.Chart(data_of(rows), title=alt.TitleParams(metric.title, fontSize=12, frame="group"))
    x = alt.X("capacity:Q", title="capacity C (slots)", scale=scale, axis=axis)
    return dotted_lines(base, look, 26, x=x, y=y).properties(width=THIRD, height=190)


def _reach(rows: list[dict[str, Any]]) -> tuple[float, float]:
    """Return the ends of a logarithmic axis, with some air."""
    return min((row["low"] for row in rows), default=1.0) / 1.2, max((row["high"] for row in rows), default=1.0) * 1.2


def _scale(metric: Metric, rows: list[dict[str, Any]]) -> Any:
    """Return a scale from zero up, with a height also where everything is zero; or logarithmic."""
    alt = altair()
    if metric.is_log:
        return alt.Scale(type="log", domain=_reach(rows), nice=False)
    return alt.Scale(zero=True) if any(row["mean"] > 0 for row in rows) else alt.Scale(domain=[0, 1])


def _axis(metric: Metric, rows: list[dict[str, Any]]) -> Any:
    alt = altair()
    if not metric.is_log:
        return alt.Axis(format=metric.format, tickCount=4)
    return alt.Axis(format=metric.format, values=ticks(*_reach(rows)), labelOverlap=True)


def _by_line(frame: pl.DataFrame, cast: Cast, metric: Metric, *, labels: bool) -> Any:
    alt = altair()
    rows = _rows(frame, cast, metric)
    order = list(dict.fromkeys(frame["line"]))
    kind = _scale(metric, rows)
    axis = alt.Axis(labels=labels, ticks=False, domain=False, labelLimit=220, labelPadding=6)
    x = alt.X("mean:Q", title=None, scale=kind, axis=_axis(metric, rows))
    base = alt.Chart(data_of(rows), title=alt.TitleParams(metric.title, fontSize=12, frame="group"))
    colour = encodings(cast)["color"]
    colour.legend = None
    y = alt.Y("line:N", sort=order, title=None, axis=axis)
    spread = base.mark_rule(strokeWidth=2, opacity=0.5).encode(y=y, x="low:Q", x2="high:Q", color=colour)
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(y=y, x=x, color=colour)
    return (spread + dots).properties(width=min(HALF, THIRD - 40), height=rows_height(len(order)))
