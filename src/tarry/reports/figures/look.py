"""How figures look: who gets a colour, a dash and a mark, panels side by side, and one dress for all.

Ink is drawn in the few colours below, so that a page can put others in their place where the reader's screen is dark.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from math import ceil, floor, log10
from typing import Any, NamedTuple

from tarry.results.charts import DASHES, PALETTE, altair

INK, FAINT, GRID, RULE = "#222222", "#6b6b6b", "#e4e4e4", "#b8b8b8"
DARK = {
    INK: "#ececec",
    FAINT: "#a8a8a8",
    GRID: "#333333",
    RULE: "#5c5c5c",
    "#0072B2": "#3ea6e6",
    "#D55E00": "#f0803c",
    "#009E73": "#1fc79a",
    "#CC79A7": "#dd9cc0",
    "#E69F00": "#f0b840",
    "#56B4E9": "#8fd0f5",
    "#8C6D00": "#c9a227",
    "#7F7F7F": "#9a9a9a",
}
"""What a colour becomes on a dark screen: the same hue, lighter."""

SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left"]
TOLD_APART = 8
OTHERS = "others"
IS_SHOWN, IS_OTHER = f"datum.group != '{OTHERS}'", f"datum.group == '{OTHERS}'"
"""Filters: whoever is told apart, and whoever is not."""

WIDTH, HALF = 740, 340
PANELS = 6
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"


class Figure(NamedTuple):
    """A chart, its name as a file, its title, and a paragraph for a reader who was not there."""

    name: str
    title: str
    text: str
    chart: Any


class Cast(NamedTuple):
    """Who is told apart by colour, in this order, and how many others are drawn in grey."""

    shown: list[str]
    others: int

    def of(self, name: str) -> str:
        """The group in which a name is drawn."""
        return name if name in self.shown else OTHERS

    @property
    def groups(self) -> list[str]:
        return [*self.shown, OTHERS] if self.others else self.shown

    @property
    def note(self) -> str:
        """A sentence on who is grey, if anybody is."""
        if not self.others:
            return ""
        return f" The {len(self.shown)} with the least regret have colours; {self.others} others are grey."


def choose_cast(ranked: Iterable[str]) -> Cast:
    """The first so many names, best first; all, if all can be told apart."""
    names = list(ranked)
    return Cast(names[:TOLD_APART], max(0, len(names) - TOLD_APART))


def encodings(
    cast: Cast, labels: dict[str, str] | None = None, *, marked: bool = False, only: list[str] | None = None
) -> dict[str, Any]:
    """Colour, dash and mark of the column ``group``, with one legend: of lines, or of marks where they are drawn.

    ``labels`` say more in the legend; ``only`` some of the cast take part, and look as they do elsewhere.
    """
    alt = altair()
    places = [i for i, name in enumerate(cast.shown) if only is None or name in only]
    has_others = cast.others > 0 and (only is None or any(name not in cast.shown for name in only))
    grey = [RULE] if has_others else []
    groups = [cast.shown[i] for i in places] + [OTHERS] * has_others
    labels = {OTHERS: f"{cast.others} others", **(labels or {})} if has_others else labels
    said = [(labels or {}).get(name, name) for name in groups]
    longest = max((len(text) for text in said), default=0)
    options: dict[str, Any] = {"columns": max(1, min(5, 100 // (longest + 6))), "labelLimit": 640, "symbolOpacity": 1}
    if labels:
        options["labelExpr"] = f"{json.dumps(dict(zip(groups, said, strict=True)))}[datum.label]"
    stroke = {"symbolType": "stroke", "symbolStrokeWidth": 2, "symbolSize": 500}
    points = {"symbolSize": 90, "symbolStrokeWidth": 0}
    legend = alt.Legend(title=None, orient="bottom", **options, **(points if marked else stroke))
    ranges = {
        "color": (alt.Color, [PALETTE[i] for i in places] + grey, legend),
        "strokeDash": (alt.StrokeDash, [DASHES[i] for i in places] + [[1, 0]] * has_others, None if marked else legend),
        "shape": (alt.Shape, [SHAPES[i] for i in places] + ["circle"] * has_others, legend if marked else None),
    }
    return {
        channel: kind("group:N", scale=alt.Scale(domain=groups, range=values), legend=shown)
        for channel, (kind, values, shown) in ranges.items()
    }


def data_of(rows: list[dict[str, Any]]) -> Any:
    """Rows for a chart, as text: Altair copies lists again and again, and text not at all. NaN is refused."""
    alt = altair()
    return alt.Data(values=json.dumps(rows, allow_nan=False), format=alt.DataFormat(type="json"))


def short(highest: float) -> str:
    """The format of an axis up to this number."""
    return "~s" if highest >= 10_000 else ",~r"


def choose(names: list[str], most: int = PANELS) -> list[str]:
    """At most so many, first and last among them, evenly spread.

    >>> choose(["a", "b", "c", "d", "e"], most=3)
    ['a', 'c', 'e']
    """
    if len(names) <= most:
        return names
    if most == 1:
        return [names[len(names) // 2]]
    return [names[round(i * (len(names) - 1) / (most - 1))] for i in range(most)]


def counted(number: int, what: str) -> str:
    """A number of things.

    >>> counted(1, "setting"), counted(2, "setting")
    ('1 setting', '2 settings')
    """
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def left_out(chosen: list[str], names: list[str], what: str = "settings") -> str:
    """A sentence on what is not shown."""
    return "" if len(chosen) == len(names) else f" {len(chosen)} of {len(names)} {what} are shown."


def panels(charts: dict[str, Any], height: int = 230, width: int = HALF) -> Any:
    """Charts by title: one alone and wide, several two in a row."""
    alt = altair()
    one = len(charts) == 1
    drawn = [
        chart.properties(
            title=alt.TitleParams(title, limit=WIDTH if one else HALF, frame="group"),
            width=WIDTH - HALF + width if one else width,
            height=height,
        )
        for title, chart in charts.items()
    ]
    return dressed(drawn[0] if one else alt.concat(*drawn, columns=2, spacing=22))


def lines_of(base: Any, look: dict[str, Any], **at: Any) -> Any:
    """A line for each ``line`` of the rows: those told apart in full, the others thin and pale beneath them."""
    told = {"detail": "line:N", "color": look["color"], "strokeDash": look["strokeDash"]}
    pale = base.transform_filter(IS_OTHER).mark_line(strokeWidth=0.8, opacity=0.55).encode(**at, **told)
    return pale + base.transform_filter(IS_SHOWN).mark_line(strokeWidth=1.8).encode(**at, **told)


def rows_height(count: int) -> int:
    """The height of a chart with so many rows of text."""
    return max(60, 19 * count)


def dressed(chart: Any) -> Any:
    """The same dress for every figure; no background, so that paper and screen show through."""
    axis = {"labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": "normal", "labelColor": INK, "titleColor": INK}
    lines = {"gridColor": GRID, "domainColor": RULE, "tickColor": RULE, "labelLimit": 240, "titleLimit": 560}
    return chart.configure(
        font=FONT,
        padding=8,
        background="transparent",
        axis={**axis, **lines},
        view={"stroke": None},
        legend={"labelFontSize": 12, "labelColor": INK, "titleColor": INK},
        title={"fontSize": 13, "anchor": "start", "fontWeight": "bold", "color": INK, "subtitleColor": FAINT},
    )


DIGITS = ((1,), (1, 3), (1, 2, 5))
"""What ticks of a logarithmic axis begin with, from few to many."""


def ticks(low: float, high: float) -> list[float]:
    """Round numbers for a logarithmic axis: as few kinds as give three; where it is short, in even steps.

    >>> ticks(3, 40), ticks(1, 1000), ticks(96, 121)
    ([3.0, 10.0, 30.0], [1.0, 10.0, 100.0, 1000.0], [100.0, 105.0, 110.0, 115.0, 120.0])
    """
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    for digits in DIGITS:
        listed = [float(f"{digit}e{power}") for power in powers for digit in digits]
        found = [value for value in listed if 0.999 * low <= value <= 1.001 * high]
        if len(found) >= 3:
            return found[:: 1 + len(found) // 8]
    return _even(low, high)


def _even(low: float, high: float) -> list[float]:
    width = max(high - low, 1e-9 * high)
    unit = 10.0 ** floor(log10(width))
    step = next(unit * share for share in (0.2, 0.5, 1.0, 2.0) if width / (unit * share) <= 5)
    places = max(0, 1 - floor(log10(step)))
    return [round(i * step, places) for i in range(ceil(low / step), floor(high / step) + 1)]
