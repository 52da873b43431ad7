"""The demonstration's tables and page, and records overlaid."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tarry.charts import altair, data_of, dressed, grouped, intervals, level, regret_chart
from tarry.errors import ArgumentError
from tarry.game import Record
from tarry.outcomes import DASH, number
from tarry.planning.demo import AS_IT_IS, MOVED, PRICE, SHUFFLED, SLOTS, STEPS, STORY, Result
from tarry.reports.page import Page, save_page
from tarry.reports.style import Figure, captions, figure, spots
from tarry.reports.table import STAR, Table

DRAWN = ("VarOpt", "drop newest", "time out", "unlimited")  # lines of a picture; the tables have all


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


def demo_tables(results: Sequence[Result]) -> list[Table]:
    """Return the policies with ``SLOTS``, the controls, and the error of the rate by number of slots."""
    usual = {(r.policy, r.world): r for r in results if r.capacity in (SLOTS, None)}
    policies = list(dict.fromkeys(r.policy for r in results))
    rows: list[tuple[str, ...]] = []
    controls: list[tuple[str, ...]] = []
    for policy in policies:
        one, moved, shuffled = (usual[policy, world] for world in (AS_IT_IS, MOVED, SHUFFLED))
        believed = f"{one.truth + np.nanmean(one.errors):.1%}" if np.isfinite(one.errors).any() else DASH
        rows.append((one.name, believed, _error(one), _hours(one), f"{one.step:g}", f"{one.seen:.1%}"))
        controls.append((one.name, _error(moved), _hours(moved), _error(shuffled), _hours(shuffled)))
    trials = results[0].by_step[STEPS[0]].size
    fairness = (
        f"Every policy has its own best of the same {len(STEPS)} steps, {', '.join(f'{step:g}' for step in STEPS)} "
        f"over √(T + 2Σd), chosen on {trials} months that are in no table. Shown are {results[0].errors.size} others. "
        f"A time-out gives a ticket up after {usual['time out', AS_IT_IS].age} more, the mean delay."
    )
    limited = [r for r in results if r.world == AS_IT_IS and r.capacity is not None]
    capacities = sorted({int(r.capacity) for r in limited if r.capacity})
    by_slots = {(r.name, r.capacity): _error(r) for r in limited}
    errors = [(name, *(by_slots[name, c] for c in capacities)) for name in dict.fromkeys(r.name for r in limited)]
    heads = ("policy", "believes", "off, points", "hours lost", "step", "seen")
    moved_heads = ("policy", "moved: off", "hours lost", "shuffled: off", "hours lost ")
    return [
        _table("demo-policies", heads, rows, f" {fairness}\n{STAR}"),
        _table("demo-controls", moved_heads, controls),
        _table("demo-slots", ("policy", *(f"{c} slots" for c in capacities)), errors),
    ]


def _table(name: str, heads: tuple[str, ...], rows: list[tuple[str, ...]], note: str = "") -> Table:
    told = captions()[name]
    return Table(told["title"], heads, rows, told["text"] + note, text=("policy",), name=name)


def _error(result: Result) -> str:
    """Return by how many points the believed rate is off; nothing where every label is seen, or none."""
    if result.capacity is None or not np.isfinite(result.errors).any():
        return DASH
    mean, half = _interval(100 * result.errors)
    return f"{mean:z.1f}" if half is None else f"{mean:z.1f} ± {half:.1f}"


def _hours(result: Result) -> str:
    return number(*_interval(result.regrets))


def _interval(values: NDArray[np.float64]) -> tuple[float, float | None]:
    """Return the mean over months and half its 95 % interval."""
    means = intervals(pl.DataFrame({"all": 0, "value": values}), ["all"], "value")
    return means["mean"][0], means["half"][0]


def demo_guide() -> dict[str, str]:
    """Return what the problem is, for whom, when not, what to do next, and what is played, by heading."""
    return {**captions()["demo"]["guide"], "What is played": STORY}


def demo_page(results: Sequence[Result], path: Path) -> Path:
    policies, controls, slots = demo_tables(results)
    rate, steps = figure("demo-rate", rate_chart(results)), figure("demo-steps", steps_chart(results))
    parts: list[Figure | Table] = [rate, policies, steps, controls, slots]
    return save_page(Page(captions()["demo"]["title"], parts=parts, guide=demo_guide()), path)


def rate_chart(results: Sequence[Result]) -> Any:
    """Return a chart of the believed rate against the slots, beside the truth and the rate from which a look pays."""
    limited = [r for r in results if r.world == AS_IT_IS and r.policy in DRAWN and r.capacity is not None]
    rows = [{"group": r.name, "x": r.capacity, "y": 100 * (r.truth + error)} for r in limited for error in r.errors]
    least = min(row["x"] for row in rows)
    lines = _lines(rows, "slots", "tickets believed to be hard, %", 2)
    truth = level(100 * limited[0].truth, "the truth, which unlimited tracking gives", "x", least, align="left")
    pays = level(100 * PRICE, "from here on a look pays", "x", least, align="left")
    return dressed(altair().layer(lines, *truth, *pays).properties(width=620, height=300))


def steps_chart(results: Sequence[Result]) -> Any:
    """Return a chart of the hours lost in the months of the trial, against the step."""
    usual = [r for r in results if r.world == AS_IT_IS and r.policy in DRAWN and r.capacity in (SLOTS, None)]
    usual.sort(key=lambda r: DRAWN.index(r.policy))  # colours as in the other chart
    rows = [{"group": r.name, "x": step, "y": hours} for r in usual for step in STEPS for hours in r.by_step[step]]
    return dressed(_lines(rows, "step", "hours lost", 4).properties(width=620, height=300))


def _lines(rows: list[dict[str, Any]], x_title: str, y_title: str, base: int) -> Any:
    """Return a line for each group through its means, with their intervals, over a logarithmic axis."""
    alt = altair()
    look = grouped(list(dict.fromkeys(row["group"] for row in rows)), orient="bottom", columns=4)
    means = intervals(pl.DataFrame(rows), ["group", "x"], "y").select("group", "x", "mean", "low", "high")
    chart = alt.Chart(data_of(means.to_dicts()))
    at = alt.Axis(values=sorted({row["x"] for row in rows}), format="~r")
    x = alt.X("x:Q", scale=alt.Scale(type="log", base=base), axis=at, title=x_title)
    y = alt.Y("mean:Q", title=y_title, scale=alt.Scale(zero=True))
    bars = chart.mark_rule(strokeWidth=1.5).encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=look["color"])
    lines = chart.mark_line(strokeWidth=2).encode(x=x, y=y, **look)
    return alt.layer(lines, bars, *spots(chart, 40, x=x, y=y, color=look["color"]))
