"""What the figures of a report share: colours of lines, panels, axes, and sentences on what is left out."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cache
from math import ceil, floor, log10
from pathlib import Path
from typing import Any, NamedTuple

from tarry.charts import DASHES, HALF, PALETTE, RULE, WIDTH, altair, dressed, wrap
from tarry.outcomes import counted

SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left"]
TOLD_APART = 8  # lines, the most that colours, dashes and marks tell apart in one chart
OTHERS = "others"
# Vega's filters: lines that are told apart, and lines that are grey.
IS_SHOWN, IS_OTHER = f"datum.group != '{OTHERS}'", f"datum.group == '{OTHERS}'"
PANELS = 6  # of a figure: more do not fit a screen
LETTERS = 88  # of a title as wide as a figure
# What ticks of a logarithmic axis begin with, from few to many.
DIGITS = ((1,), (1, 3), (1, 2, 5))


class Figure(NamedTuple):
    """A chart, its name as a file, its title, and a paragraph of explanation."""

    name: str
    title: str
    text: str
    chart: Any


def figure(name: str, chart: Any, *notes: str) -> Figure:
    """Return the figure of this name with its title and text, followed by what is to be said of this one."""
    told = captions()[name]
    return Figure(name, told["title"], told["text"] + "".join(notes), chart)


@cache
def captions() -> dict[str, Any]:
    """Return the titles and texts of figures and tables by name."""
    return tomllib.loads((Path(__file__).parent / "captions.toml").read_text(encoding="utf-8"))


class Cast(NamedTuple):
    """Which lines are told apart by colour, in this order, and how many others are drawn in grey."""

    shown: list[str]
    others: int

    def of(self, name: str) -> str:
        """Return the group in which a line is drawn."""
        return name if name in self.shown else OTHERS

    def rows(self, rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return rows with their group; grey lines first, so that coloured ones lie on top."""
        grouped = [{**row, "group": self.of(row["line"])} for row in rows]
        return sorted(grouped, key=lambda row: row["group"] != OTHERS)

    @property
    def note(self) -> str:
        """A sentence on which lines are grey, if any are."""
        told = f" {len(self.shown)} players, evenly spread over the file, have colours; {self.others} others are grey."
        return told if self.others else ""


def encodings(
    cast: Cast, labels: dict[str, str] | None = None, *, marked: bool = False, only: list[str] | None = None
) -> dict[str, Any]:
    """Return colour, dash and mark of the column ``group``, with one legend: of lines, or of marks if ``marked``.

    ``labels`` say more in the legend; ``only`` some of the cast take part, and look as they do elsewhere.
    """
    alt = altair()
    places = [i for i, name in enumerate(cast.shown) if only is None or name in only]
    has_others = cast.others > 0 and (only is None or any(name not in cast.shown for name in only))
    groups = [cast.shown[i] for i in places] + [OTHERS] * has_others
    labels = {OTHERS: f"{cast.others} others", **(labels or {})} if has_others else labels
    said = [(labels or {}).get(name, name) for name in groups]
    longest = max((len(text) for text in said), default=0)
    # A hundred letters of this size are as wide as a figure; each entry has a symbol as wide as six.
    options: dict[str, Any] = {"columns": max(1, min(5, 100 // (longest + 6))), "labelLimit": 640, "symbolOpacity": 1}
    if labels:
        options["labelExpr"] = f"{json.dumps(dict(zip(groups, said, strict=True)))}[datum.label]"
    stroke = {"symbolType": "stroke", "symbolStrokeWidth": 2, "symbolSize": 500}
    options |= {"symbolSize": 90, "symbolStrokeWidth": 0} if marked else stroke
    legend = alt.Legend(title=None, orient="bottom", **options)

    def channel(kind: Any, range_: list[Any], grey: Any, shown: bool) -> Any:
        scale = alt.Scale(domain=groups, range=[range_[i] for i in places] + [grey] * has_others)
        return kind("group:N", scale=scale, legend=legend if shown else None)

    return {
        "color": channel(alt.Color, PALETTE, RULE, True),
        "strokeDash": channel(alt.StrokeDash, DASHES, [1, 0], not marked),
        "shape": channel(alt.Shape, SHAPES, "circle", marked),
    }


def lines_of(base: Any, look: dict[str, Any], *, width: float = 1.8, **at: Any) -> Any:
    """Return a line for each ``line`` of the rows: those told apart in full, the others thin and pale beneath them."""
    told = {"detail": "line:N", "color": look["color"], "strokeDash": look["strokeDash"]}
    pale = base.transform_filter(IS_OTHER).mark_line(strokeWidth=0.8, opacity=0.55).encode(**at, **told)
    return pale + base.transform_filter(IS_SHOWN).mark_line(strokeWidth=width).encode(**at, **told)


def dotted_lines(base: Any, look: dict[str, Any], size: int, **at: Any) -> Any:
    """Return the lines of the rows, with a dot at every row of those told apart."""
    dots = base.transform_filter(IS_SHOWN).mark_point(filled=True, size=size, opacity=1)
    return lines_of(base, look, **at) + dots.encode(**at, color=look["color"])


def spots(base: Any, size: int, *, aside: float = 0.0, **at: Any) -> list[Any]:
    """Return a point for each row, hollow where it has no interval, low to high; ``aside`` by so many pixels."""
    look = {"size": size, "opacity": 1, "xOffset": aside}
    known = base.transform_filter("datum.low < datum.high").mark_point(filled=True, **look)
    alone = base.transform_filter("datum.low >= datum.high").mark_point(filled=False, strokeWidth=1.6, **look)
    return [known.encode(**at), alone.encode(**at)]


def panels(charts: dict[str, Any], height: int = 230, width: int = HALF) -> Any:
    """Return charts under their titles: one alone and wide, several two in a row."""
    alt = altair()
    one = len(charts) == 1
    drawn = [
        chart.properties(
            title=alt.TitleParams(wrap(title, LETTERS if one else LETTERS // 2), frame="group"),
            width=WIDTH - HALF + width if one else width,
            height=height,
        )
        for title, chart in charts.items()
    ]
    return dressed(drawn[0] if one else alt.concat(*drawn, columns=2, spacing=22))


def logarithmic(
    channel: Any, field: str, title: str | None, over: Sequence[float], scale: dict[str, Any] | None = None, **axis: Any
) -> Any:
    """Return a logarithmic axis over these values, with round numbers as ticks unless ``axis`` gives some."""
    alt = altair()
    low, high = min(over), max(over)
    marks = {"values": ticks(low, high), **({} if "format" in axis else short(high)), **axis}
    return channel(field, title=title, scale=alt.Scale(type="log", nice=False, **(scale or {})), axis=alt.Axis(**marks))


def rows_height(count: int) -> int:
    """Return the height of a chart with so many rows of text."""
    return max(60, 19 * count)


def ticks(low: float, high: float) -> list[float]:
    """Return round numbers for a logarithmic axis: as few kinds as give three; where it is short, in even steps.

    >>> ticks(3, 40), ticks(1, 1000), ticks(96, 121)
    ([3.0, 10.0, 30.0], [1.0, 10.0, 100.0, 1000.0], [100.0, 105.0, 110.0, 115.0, 120.0])
    """
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    for digits in DIGITS:
        listed = [float(f"{digit}e{power}") for power in powers for digit in digits]
        # A tick at the very end of an axis may miss it by rounding.
        found = [value for value in listed if 0.999 * low <= value <= 1.001 * high]
        if len(found) >= 3:
            return found[:: 1 + len(found) // 8]
    width = max(high - low, 1e-9 * high)
    unit = 10.0 ** floor(log10(width))
    step = next(unit * share for share in (0.2, 0.5, 1.0, 2.0) if width / (unit * share) <= 5)
    places = max(0, 1 - floor(log10(step)))
    return [round(i * step, places) for i in range(ceil(low / step), floor(high / step) + 1)]


def short(highest: float) -> dict[str, str]:
    """Return how an axis up to this number writes its ticks: thousands as 12k where it is long, never 0.1 as 100m."""
    if highest < 10_000:
        return {"format": ",~r"}
    return {"labelExpr": "format(datum.value, abs(datum.value) >= 1000 ? '~s' : ',~r')"}


def choose(names: list[str], levels: Mapping[str, set[Hashable]] | None = None, most: int = PANELS) -> list[str]:
    """Return at most so many names, evenly spread; more where it takes more to have every one of the ``levels``.

    ``levels`` has what each name shows, pairs of a key and a value. A number with more than ``most`` values has figures
    of its own: of these the least and the largest are enough.

    >>> choose(["a", "b", "c", "d", "e"], most=3)
    ['a', 'c', 'e']
    >>> choose(["a", "b", "c"], {"a": {("law", "fixed")}, "b": {("law", "pareto")}, "c": {("law", "fixed")}}, most=1)
    ['a', 'b']
    """
    if len(names) <= most:
        return names
    spread = [names[len(names) // 2 if most == 1 else round(i * (len(names) - 1) / (most - 1))] for i in range(most)]
    if levels is None:
        return spread
    wanted = _wanted(set().union(*(levels[name] for name in names)), most)
    chosen: list[str] = []
    while wanted:  # the name that shows most of what is missing; of several the evenly spread, then the first
        best = max(names, key=lambda name: (len(levels[name] & wanted), name in spread, -names.index(name)))
        chosen.append(best)
        wanted -= levels[best]
    rest = [name for name in spread if name not in chosen]
    return sorted([*chosen, *rest[: max(0, most - len(chosen))]], key=names.index)


def _wanted(levels: set[Any], most: int) -> set[Hashable]:
    """Return the levels that a figure has to show."""
    wanted: set[Hashable] = set()
    for key in {key for key, _ in levels}:
        values = [value for name, value in levels if name == key]
        known = sorted(value for value in values if isinstance(value, (int, float)) and not isinstance(value, bool))
        if known and len(known) > most:
            values = [known[0], known[-1], *(value for value in values if value not in known)]
        wanted |= {(key, value) for value in values}
    return wanted


def left_out(chosen: list[str], names: list[str]) -> str:
    """Return a sentence on what is not shown, empty if everything is."""
    return "" if len(chosen) == len(names) else f" {len(chosen)} of {len(names)} settings are shown."


def not_finite(count: int) -> str:
    """Return a sentence on runs that are in no mean, empty if there are none."""
    said = f" {counted(count, 'run')} without a finite value {'is' if count == 1 else 'are'} left out."
    return said if count else ""
