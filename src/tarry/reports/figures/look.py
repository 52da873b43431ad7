"""How figures look: one ink, panels side by side, and one dress for all.

Ink is drawn in the few colours below, so that a page can put others in their place where the reader's screen is dark.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from tarry.results.charts import altair

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

WIDTH, HALF = 740, 340


class Figure(NamedTuple):
    """A chart, its name as a file, its title, and a paragraph for a reader who was not there."""

    name: str
    title: str
    text: str
    chart: Any


def data_of(rows: list[dict[str, Any]]) -> Any:
    """Rows for a chart, as text: Altair copies lists again and again, and text not at all. NaN is refused."""
    alt = altair()
    return alt.Data(values=json.dumps(rows, allow_nan=False), format=alt.DataFormat(type="json"))


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


def rows_height(count: int) -> int:
    """The height of a chart with so many rows of text."""
    return max(60, 19 * count)


def dressed(chart: Any) -> Any:
    """The same dress for every figure; no background, so that paper and screen show through."""
    axis = {"labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": "normal", "labelColor": INK, "titleColor": INK}
    lines = {"gridColor": GRID, "domainColor": RULE, "tickColor": RULE, "labelLimit": 240, "titleLimit": 560}
    return chart.configure(
        padding=8,
        background="transparent",
        axis={**axis, **lines},
        view={"stroke": None},
        legend={"labelFontSize": 12, "labelColor": INK, "titleColor": INK},
        title={"fontSize": 13, "anchor": "start", "fontWeight": "bold", "color": INK, "subtitleColor": FAINT},
    )
