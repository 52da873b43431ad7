"""Policies side by side by capacity: the demonstration's table and page, and records overlaid."""

from __future__ import annotations

import json
from math import isnan
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tarry.charts import INK, altair, data_of, dressed, grouped, regret_chart
from tarry.errors import ArgumentError
from tarry.game import Record
from tarry.outcomes import DASH, number
from tarry.reports.page import Page, save_page
from tarry.reports.style import Figure, captions, figure, panels, spots
from tarry.reports.table import Table, moment

COLUMNS = ("slots", "policy", "regret ± 95 %", "seen", "mean w", "mean w²", "refused", "bound")


class PolicyResult(NamedTuple):
    """One policy at one capacity: the summary of its record and its curve (seed, t, regret, bound)."""

    policy: str
    capacity: int | None
    is_unbiased: bool
    summary: dict[str, float]
    curve: pl.DataFrame

    @property
    def name(self) -> str:
        """The policy's name; biased ones carry a star."""
        return self.policy if self.is_unbiased else f"{self.policy} *"

    @property
    def interval(self) -> dict[str, float]:
        """Mean regret and the ends of its interval; with one seed all three are the same."""
        mean, half = self.summary["regret"], self.summary["half"]
        half = 0.0 if isnan(half) else half
        return {"regret": mean, "low": mean - half, "high": mean + half}


def compare(records: dict[str, Record]) -> Any:
    """Return one chart of the regret curves of several records, by the names given.

    The title says whether all have met one game, the same games seed by seed, or different ones. Each band is for
    itself: of the same games, differences seed by seed tell more than bands that overlap.
    """
    if not records:
        raise ArgumentError("records", "needs one record or more, by name, as in {'mine': record}", records)
    named = [record.curve.with_columns(name=pl.lit(name)) for name, record in records.items()]
    return regret_chart(pl.concat(named), title=f"Regret, {_games_of(list(records.values()))}", group="name")


def _games_of(records: list[Record]) -> str:
    """Return whether records have met the same games, in words: by the losses of their comparators."""
    first, best = records[0], [record.loss - record.regret for record in records]
    if all(record.has_one_game for record in records) and np.allclose(np.concatenate(best), best[0][0]):
        return "one game"
    if all(
        record.seeds == first.seeds and np.allclose(one, best[0]) for record, one in zip(records, best, strict=True)
    ):
        return "the same games, one for each seed"
    return "games differ"


def summary_table(results: list[PolicyResult]) -> Table:
    """Return a table with a section for each capacity."""
    slots = [result.capacity for result in results]
    rows = []
    for result in results:
        s = result.summary
        bound = DASH if isnan(s["bound"]) else f"{s['bound']:,.0f}"
        regret = number(s["regret"], s["half"])
        weights = (f"{s['mean_weight']:.3f}", moment(s["second_moment"]))
        seen, refused = f"{s['observed']:.1%}", f"{s['saturated']:.1%}"
        rows.append((str(result.capacity or "∞"), result.name, regret, seen, *weights, refused, bound))
    return Table(
        captions()["policies"]["title"],
        COLUMNS,
        rows,
        captions()["policies"]["text"],
        text=("policy",),
        sections=tuple(i for i in range(1, len(slots)) if slots[i] != slots[i - 1]),
        name="policies",
    )


def demo_page(results: list[PolicyResult], path: Path, *, title: str, story: str) -> Path:
    curves = {}
    for capacity in sorted({result.capacity for result in results if result.capacity is not None}):
        shown = [result for result in results if result.capacity in (capacity, None)]
        frame = pl.concat([result.curve.with_columns(policy=pl.lit(result.name)) for result in shown])
        curves[f"{capacity} slots"] = regret_chart(frame, group="policy", orient="bottom", columns=5)
    parts: list[Figure | Table] = [
        figure("demo-capacity", dressed(against_capacity(results)))._replace(name="capacity"),
        figure("demo-regret", panels(curves))._replace(name="regret"),
        summary_table(results),
    ]
    return save_page(Page(title, [story], parts=parts), path)


def against_capacity(results: list[PolicyResult]) -> Any:
    """Return a chart of final regret with its interval against the slots; policies without a limit lie across."""
    alt = altair()
    limited = [result for result in results if result.capacity is not None]
    rows = [{"group": result.name, "capacity": result.capacity, **result.interval} for result in limited]
    names = list(dict.fromkeys(result.name for result in limited))
    look = grouped(names)
    base = alt.Chart(data_of(rows))
    at = alt.Axis(values=sorted({result.capacity for result in limited if result.capacity}))
    x = alt.X("capacity:Q", scale=alt.Scale(type="log", base=2), axis=at, title="slots")
    lines = base.mark_line(strokeWidth=2).encode(x=x, y=alt.Y("regret:Q", title="final regret"), **look)
    marks = []
    for i, name in enumerate(names):  # a little beside each other, or intervals would cover each other
        mine, aside = base.transform_filter(f"datum.group == {json.dumps(name)}"), 3.0 * (i - (len(names) - 1) / 2)
        bar = mine.mark_rule(strokeWidth=2, xOffset=aside)
        marks.append(bar.encode(x=x, y="low:Q", y2="high:Q", color=look["color"]))
        marks += spots(mine, 40, aside=aside, x=x, y="regret:Q", color=look["color"])
    free = [result.interval for result in results if result.capacity is None]
    floor = alt.Chart(data_of(free)).mark_rule(color=INK, strokeDash=[2, 3])
    return alt.layer(lines, *marks, floor.encode(y="regret:Q")).properties(width=580, height=340)
