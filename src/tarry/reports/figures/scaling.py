"""Final regret against what varies, with fitted exponents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tarry.charts import altair, data_of, intervals, lost
from tarry.reports.exponents import Fit, Quantity, fits, measured, quantities, slope_text
from tarry.reports.style import (
    IS_OTHER,
    IS_SHOWN,
    Cast,
    Figure,
    choose,
    encodings,
    left_out,
    lines_of,
    not_finite,
    panels,
    short,
    ticks,
)
from tarry.reports.view import with_baselines

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
LEVEL = "Dotted across: a player's regret where there is no limit."

Rows = list[dict[str, Any]]


class _Scene(NamedTuple):
    """A quantity's figure: who is in it, the means to draw, levels drawn across, and the fits."""

    quantity: Quantity
    cast: Cast
    means: pl.DataFrame
    level: pl.DataFrame
    fits: list[Fit]

    def rows(self, frame: pl.DataFrame, panel: str) -> Rows:
        """Return a panel's rows with the group each is drawn in."""
        mine = frame.filter(frame["panel"] == panel).drop("panel", "setting", "seeds")
        return [{**row, "group": self.cast.of(row["name"])} for row in mine.to_dicts()]

    def look(self, is_alone: bool) -> dict[str, Any]:
        """Return colours and marks; in the one panel of a figure the legend tells the slopes."""
        labels = {fit.name: f"{fit.name}: {slope_text(fit.exponent)}" for fit in self.fits} if is_alone else None
        names = [*self.means["name"], *self.level["name"]]
        return encodings(self.cast, labels, marked=True, only=list(dict.fromkeys(names)))


def scaling_figures(view: View, cast: Cast) -> list[tuple[Figure, list[Fit]]]:
    """Return a figure for each quantity that varies, and its exponents."""
    beside = with_baselines(view)
    return [
        _figure(view if "capacity" in one.drivers else beside, one, cast, AGAIN if i else TEXT)
        for i, one in enumerate(quantities(view))
    ]


def _figure(view: View, quantity: Quantity, cast: Cast, usual: str) -> tuple[Figure, list[Fit]]:
    frame, found = measured(view, quantity), fits(view, quantity)
    means = intervals(frame, ["panel", "name", "setting", "x"], "regret").sort("x")
    level = unlimited(view) if quantity.name == "capacity" else means.clear()
    scene = _Scene(quantity, _without(cast, view, quantity), means, level, found)
    names = list(dict.fromkeys(frame["panel"]))
    chosen = choose(names)
    drawn = {panel: _panel(scene, panel, len(names) == 1) for panel in chosen}
    words = [WORDS.get(quantity.name, ""), usual, LEVEL if level.height else ""]
    text = (
        " ".join(word for word in words if word)
        + left_out(chosen, names)
        + cast.note
        + not_finite(lost(frame["regret"]))
    )
    return Figure(f"regret-{quantity.name}", quantity.title, text, panels(drawn)), found


def unlimited(view: View) -> pl.DataFrame:
    """Return means over seeds where there is no limit, by panel and line."""
    import polars as pl

    runs = view.named(view.runs.filter(pl.col("capacity").is_null()), ["capacity"])
    return intervals(runs, ["panel", "name", "setting"], "regret")


def _without(cast: Cast, view: View, quantity: Quantity) -> Cast:
    """Return the cast under the names they have where the quantity's drivers are not mentioned."""
    if not set(quantity.drivers) & set(view.player_keys):
        return cast
    named = view.named(view.runs, quantity.drivers)
    short_names = dict(zip(named["line"], named["name"], strict=True))
    shown = list(dict.fromkeys(short_names[line] for line in cast.shown if line in short_names))
    return Cast(shown, len(set(short_names.values()) - set(shown)))


def _panel(scene: _Scene, panel: str, is_alone: bool) -> Any:
    alt = altair()
    rows, levels = scene.rows(scene.means, panel), scene.rows(scene.level, panel)
    positive = [row for row in rows if row["mean"] > 0 and row["x"] > 0]
    # A few means that are not positive are left out; where most are not, the axes are plain.
    is_log = len(positive) > len(rows) / 2
    rows = positive if is_log else rows
    if not rows:
        return alt.Chart(data_of([{"text": "no finished runs"}])).mark_text().encode(text="text:N")
    # An interval that reaches zero has no end on a logarithmic axis: it is cut a third below the lowest mean.
    floor = min(row["mean"] for row in rows) / 3
    shown = [{**row, "low": max(row["low"], floor) if is_log else row["low"]} for row in rows]
    kept = [{**row, "low": row["mean"], "high": row["mean"]} for row in levels if row["mean"] > 0 or not is_log]
    look = scene.look(is_alone)
    x, y = _axes(alt, shown, kept, scene.quantity.words, is_log)
    base = alt.Chart(data_of(shown))
    dressed = {"x": x, "y": "mean:Q", "color": look["color"]}
    told, pale = base.transform_filter(IS_SHOWN), base.transform_filter(IS_OTHER)
    layers = [
        alt.Chart(data_of(kept)).mark_rule(strokeWidth=1.6, strokeDash=[2, 3]).encode(y=y, color=look["color"]),
        pale.mark_point(filled=True, size=12, opacity=0.6).encode(**dressed),
        told.mark_rule(strokeWidth=1.3, opacity=0.8).encode(x=x, y=y, y2="high:Q", color=look["color"]),
        told.mark_point(filled=True, size=55, opacity=1).encode(**dressed, shape=look["shape"]),
    ]
    if is_log:
        lines = alt.Chart(data_of(_fitted_lines(scene, panel, shown)))
        layers.insert(0, lines_of(lines, look, x=x, y="mean:Q"))
    return alt.layer(*layers)


def _axes(alt: Any, rows: Rows, levels: Rows, words: str, is_log: bool) -> tuple[Any, Any]:
    if not is_log:
        return alt.X("x:Q", title=words, scale=alt.Scale(zero=False), axis=alt.Axis(grid=False)), alt.Y(
            "low:Q", title="final regret", axis=alt.Axis(tickCount=5, format="~s")
        )
    xs = [row["x"] for row in rows]
    lows, highs = ([row[key] for row in rows + levels] for key in ("low", "high"))
    # A few whole numbers are all named on the axis; more would run into each other.
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


def _fitted_lines(scene: _Scene, panel: str, rows: Rows) -> Rows:
    lines = []
    for fit in scene.fits:
        xs = [row["x"] for row in rows if row["name"] == fit.name]
        if fit.panel == panel and fit.exponent is not None and xs:
            named = {"line": fit.name, "group": scene.cast.of(fit.name)}
            lines += [{**named, "x": x, "mean": float(fit.exponent.at(x))} for x in (min(xs), max(xs))]
    return lines
