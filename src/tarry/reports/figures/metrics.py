"""Several figures of merit side by side: against capacity where it varies, else a row for each player."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tarry.reports.figures.axes import ticks
from tarry.reports.figures.cast import IS_SHOWN, Cast, encodings, lines_of
from tarry.reports.figures.choices import counted, not_finite
from tarry.reports.figures.look import HALF, WIDTH, data_of, dressed, rows_height
from tarry.results.charts import altair
from tarry.results.intervals import intervals

if TYPE_CHECKING:
    import polars as pl

    from tarry.reports.view import View

THIRD = WIDTH // 3 - 24


class Metric(NamedTuple):
    """An expression over the runs with its title; ``format`` of the axis, which may be logarithmic."""

    title: str
    value: pl.Expr
    format: str = "%"
    is_log: bool = False


def metric_chart(view: View, cast: Cast, metrics: list[Metric]) -> tuple[Any, str] | None:
    """The chart, and a sentence that says which setting it shows; None where nothing is finished."""
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
    """The panel in the middle of the list, with its runs."""
    import polars as pl

    names = list(dict.fromkeys(runs["panel"]))
    panel = names[(len(names) - 1) // 2]
    return panel, runs.filter(pl.col("panel") == panel)


def _means(runs: pl.DataFrame, metric: Metric) -> pl.DataFrame:
    told = runs.with_columns(metric.value.cast(float).alias("value"))
    return intervals(told, ["line", "capacity"], "value")


def _unknown(runs: pl.DataFrame, metrics: list[Metric]) -> int:
    """How many runs have no finite value of some metric."""
    import polars as pl

    known = runs.select(pl.all_horizontal(metric.value.cast(float).is_finite() for metric in metrics)).to_series()
    return runs.height - int(known.sum())


def _rows(frame: pl.DataFrame, cast: Cast, metric: Metric) -> list[dict[str, Any]]:
    rows = [{**row, "group": cast.of(row["line"])} for row in frame.drop("seeds").to_dicts()]
    kept = [row for row in rows if row["mean"] > 0 or not metric.is_log]
    for row in kept:  # no value is negative, and a logarithm has no room for zero either
        row["low"] = max(row["low"], row["mean"] / 3 if metric.is_log else 0.0)
    return sorted(kept, key=lambda row: row["line"] in cast.shown)


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
    dots = base.transform_filter(IS_SHOWN).mark_point(filled=True, size=26, opacity=1)
    drawn = lines_of(base, look, x=x, y=y) + dots.encode(x=x, y=y, color=look["color"])
    return drawn.properties(width=THIRD, height=190)


def _reach(rows: list[dict[str, Any]]) -> tuple[float, float]:
    """The ends of a logarithmic axis, with some air."""
    return min((row["low"] for row in rows), default=1.0) / 1.2, max((row["high"] for row in rows), default=1.0) * 1.2


def _scale(metric: Metric, rows: list[dict[str, Any]]) -> Any:
    """From zero up, with a height also where everything is zero; or logarithmic."""
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
