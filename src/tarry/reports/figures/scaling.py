"""Final regret against what varies, with fitted exponents."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Any, NamedTuple

from tarry.reports.figures.look import (
    IS_OTHER,
    IS_SHOWN,
    Cast,
    Figure,
    choose,
    encodings,
    left_out,
    lines_of,
    panels,
    short,
    ticks,
)
from tarry.reports.figures.statistics import intervals
from tarry.reports.view import AXIS
from tarry.results.charts import altair
from tarry.results.exponents import Exponent, fit_exponent

if TYPE_CHECKING:
    import polars as pl

    from tarry.reports.view import View

TEXT = (
    "Points are means of the final regret over seeds, with 95 % intervals. On logarithmic axes a power law is a "
    "straight line and its exponent the slope; the lines are least squares fits to the means. A slope describes the "
    "range that was measured and nothing beyond it; all of them, with intervals, are under Exponents."
)
AGAIN = "Points, lines and slopes as above."
WORDS = {
    "capacity": "What more slots are worth: each pending round that is tracked takes one.",
    "load": "How many rounds wait at worst for each slot. Points of all delays and capacities are pooled: they fall on "
    "one line only where the ratio is all that matters.",
    "backlog": "Longer delays mean that more rounds wait at once; this is the most there were.",
    "delay": "The same, against the sum of all delays.",
    "dimension": "What it costs to have more to learn.",
    "horizon": "How regret grows with the length of the game; a slope below 1 means that it vanishes per round.",
}


class Quantity(NamedTuple):
    """Something to plot against: ``column`` of the runs, in words, and the keys that make it vary."""

    name: str
    column: str
    words: str
    title: str
    drivers: list[str]


class Fit(NamedTuple):
    """An exponent with where it was found; None where it cannot be."""

    quantity: Quantity
    panel: str
    name: str
    exponent: Exponent | None


def quantities(view: View) -> list[Quantity]:
    """Everything that varies in this sweep and has a scale."""
    import polars as pl

    late, limited = view.delay_keys, view.runs["capacity"].drop_nulls().n_unique() > 1
    found = []
    if limited:
        found.append(Quantity("capacity", "capacity", "capacity C (slots)", "Regret against capacity", ["capacity"]))
    if limited or (late and view.runs["capacity"].drop_nulls().len()):
        drivers = ["capacity", *late]
        found.append(Quantity("load", "load", "σ_max / C", "Regret against the load σ_max/C", drivers))
    if late:
        backlog = "largest backlog σ_max"
        found.append(Quantity("backlog", "max_backlog", backlog, "Regret against the largest backlog", late))
        found.append(Quantity("delay", "total_delay", "total delay d_tot", "Regret against total delay", late))
    for name, words in (("dimension", "dimension k"), ("horizon", "horizon T (rounds)")):
        if name in view.game_keys:
            found.append(Quantity(name, name, words, f"Regret against {words.partition(' ')[0]}", [name]))
    for key in dict.fromkeys([*view.game_keys, *view.player_keys]):
        if key.startswith(AXIS) and key not in late and view.runs.schema[key].is_numeric():
            words = key.removeprefix(AXIS)
            found.append(Quantity(words, key, words, f"Regret against {words}", [key]))
    return [q for q in found if measured(view, q).select(pl.col("x").drop_nulls().n_unique()).item() > 1]


def measured(view: View, quantity: Quantity) -> pl.DataFrame:
    """Runs with columns panel, name, x: the quantity, on average over the seeds of a setting."""
    import polars as pl

    runs = view.runs.with_columns((pl.col("max_backlog") / pl.col("capacity")).alias("load"))
    named = view.named(runs, quantity.drivers)
    x = pl.col(quantity.column).cast(pl.Float64).mean().over("setting", "line").alias("x")
    return named.with_columns(x).filter(pl.col("x").is_not_null())


def fits(view: View, quantity: Quantity) -> list[Fit]:
    """An exponent for each panel and line."""
    found = []
    for (panel, name), runs in measured(view, quantity).group_by("panel", "name", maintain_order=True):
        found.append(Fit(quantity, str(panel), str(name), _fitted(runs)))
    return found


def _fitted(runs: pl.DataFrame) -> Exponent | None:
    table = runs.pivot(on="seed", index=["setting", "line", "x"], values="regret", aggregate_function="mean").sort("x")
    try:
        return fit_exponent(table["x"].to_numpy(), table.drop("setting", "line", "x").to_numpy())
    except ValueError:  # fewer than two positive means: there is no slope to speak of
        return None


def told(exponent: Exponent | None) -> str:
    """A slope with its interval, in a few characters."""
    if exponent is None:
        return "no slope"
    if isnan(exponent.low):
        return f"slope {exponent.slope:.2f}"
    return f"slope {exponent.slope:.2f} [{exponent.low:.2f}, {exponent.high:.2f}]"


def scaling_figures(view: View, cast: Cast) -> list[tuple[Figure, list[Fit]]]:
    """A figure for each quantity that varies, and its exponents."""
    return [_figure(view, one, cast, AGAIN if i else TEXT) for i, one in enumerate(quantities(view))]


def _figure(view: View, quantity: Quantity, cast: Cast, usual: str) -> tuple[Figure, list[Fit]]:
    frame, found = measured(view, quantity), fits(view, quantity)
    names = list(dict.fromkeys(frame["panel"]))
    chosen = choose(names)
    mine = Cast([n for n in _without(cast, view, quantity) if n in set(frame["name"])], cast.others)
    if not mine.shown:
        mine = Cast(list(dict.fromkeys(frame["name"]))[: len(cast.shown)], cast.others)
    labels = {fit.name: f"{fit.name}: {told(fit.exponent)}" for fit in found} if len(names) == 1 else None
    stats = intervals(frame, ["panel", "name", "setting", "x"], "regret").sort("x")
    drawn = {panel: _panel(stats, found, panel, quantity, mine, labels) for panel in chosen}
    text = f"{WORDS.get(quantity.name, '')} {usual}{left_out(chosen, names)}{mine.note}".strip()
    return Figure(f"regret-{quantity.name}", quantity.title, text, panels(drawn)), found


def _without(cast: Cast, view: View, quantity: Quantity) -> list[str]:
    """The cast under the names they have where the quantity's drivers are not mentioned."""
    if not set(quantity.drivers) & set(view.player_keys):
        return cast.shown
    named = view.named(view.cells, quantity.drivers)
    short = dict(zip(named["line"], named["name"], strict=True))
    return list(dict.fromkeys(short[line] for line in cast.shown))


def _panel(
    stats: pl.DataFrame, found: list[Fit], panel: str, quantity: Quantity, cast: Cast, labels: dict[str, str] | None
) -> Any:
    import polars as pl

    alt, look = altair(), encodings(cast, labels, marked=True)
    mine = stats.filter(pl.col("panel") == panel)
    rows = [{**row, "group": cast.of(row["name"])} for row in mine.drop("panel", "setting", "seeds").to_dicts()]
    positive = [row for row in rows if row["mean"] > 0 and row["x"] > 0]
    is_log = len(positive) > len(rows) / 2
    rows = positive if is_log else rows
    if not rows:
        return alt.Chart(alt.Data(values=[{"text": "no finished runs"}])).mark_text().encode(text="text:N")
    floor = min(row["mean"] for row in rows) / 3
    shown = [{**row, "low": max(row["low"], floor) if is_log else row["low"]} for row in rows]
    x, y = _axes(alt, shown, quantity.words, is_log)
    base = alt.Chart(alt.Data(values=shown))
    dressed = {"x": x, "y": "mean:Q", "color": look["color"]}
    told, pale = base.transform_filter(IS_SHOWN), base.transform_filter(IS_OTHER)
    layers = [
        pale.mark_point(filled=True, size=12, opacity=0.6).encode(**dressed),
        told.mark_rule(strokeWidth=1.3, opacity=0.8).encode(x=x, y=y, y2="high:Q", color=look["color"]),
        told.mark_point(filled=True, size=55, opacity=1).encode(**dressed, shape=look["shape"]),
    ]
    if is_log:
        lines = alt.Chart(alt.Data(values=_fitted_lines(found, panel, shown, cast)))
        layers.insert(0, lines_of(lines, look, x=x, y="mean:Q"))
    return alt.layer(*layers)


def _axes(alt: Any, rows: list[dict[str, Any]], words: str, is_log: bool) -> tuple[Any, Any]:
    if not is_log:
        return alt.X("x:Q", title=words), alt.Y("low:Q", title="final regret", axis=alt.Axis(tickCount=5, format="~s"))
    xs, lows, highs = ([row[key] for row in rows] for key in ("x", "low", "high"))
    is_few = len(set(xs)) <= 6 and max(xs) < 10_000 and all(x == int(x) for x in xs)
    at = sorted(set(xs)) if is_few else ticks(min(xs), max(xs))
    wide = alt.Scale(type="log", nice=False, domain=[min(xs) / 1.12, max(xs) * 1.12])
    tall = alt.Scale(type="log", nice=False, domain=[min(lows) / 1.12, max(highs) * 1.12])
    x = alt.X("x:Q", title=words, scale=wide, axis=alt.Axis(values=at, format=short(max(xs)), grid=False))
    y = alt.Y(
        "low:Q",
        title="final regret",
        scale=tall,
        axis=alt.Axis(values=ticks(min(lows) / 1.1, max(highs) * 1.1), format=short(max(highs))),
    )
    return x, y


def _fitted_lines(found: list[Fit], panel: str, rows: list[dict[str, Any]], cast: Cast) -> list[dict[str, Any]]:
    lines = []
    for fit in found:
        xs = [row["x"] for row in rows if row["name"] == fit.name]
        if fit.panel == panel and fit.exponent is not None and xs:
            ends = (min(xs), max(xs))
            lines += [
                {"line": fit.name, "group": cast.of(fit.name), "x": x, "mean": float(fit.exponent.at(x))} for x in ends
            ]
    return lines
