"""Charts of results frames, and charts as pictures (needs the extra ``report``)."""

from __future__ import annotations

import json
import re
from typing import Any

from tarry.results.intervals import intervals, lost

# Okabe and Ito's palette: told apart by readers with any colour vision, and in print.
PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D00", "#7F7F7F", "#000000"]
DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [10, 4], [1, 3], [12, 3, 3, 3], [3, 6]]

FONT = "Liberation Sans, Arial, Helvetica, Arimo, Nimbus Sans, sans-serif"
"""The fonts of every chart: all of the same widths but the last, for which a reader's system may put a wider one."""

# A picture is laid out here in Liberation Sans, which the converter brings along, and read elsewhere in whatever is
# there. The widest of what systems fall back to, DejaVu Sans and Verdana, need up to a quarter more room for a word.
ROOM = 1.25
# Vega's own sizes of letters, written down because only sizes that are said can be given room.
SIZES = {
    "axis": {"labelFontSize": 10, "titleFontSize": 11, "labelSeparation": 4},
    "legend": {"labelFontSize": 10, "titleFontSize": 11, "labelLimit": 400},
    "title": {"fontSize": 13, "subtitleFontSize": 12},
    "text": {"fontSize": 11},
}


def altair() -> Any:
    """Altair, or a sentence saying how to get it."""
    try:
        import altair as module
    except ImportError as error:
        raise ImportError("charts need altair: pip install 'tarry[report]'") from error
    return module


def draw(chart: Any, kind: str = "svg", *, density: float = 72) -> bytes:
    """Return a chart as ``svg``, ``pdf`` or ``png`` (with ``density`` pixels an inch), wide enough for any usual font.

    The layout is made with letters that are ``ROOM`` times as large, which are then drawn in their true size.
    """
    try:
        import vl_convert
    except ImportError as error:
        raise ImportError("pictures need vl-convert-python: pip install 'tarry[report]'") from error
    spec = chart.to_dict()
    said = spec.get("config", {})
    spec["config"] = {"font": FONT, **said, **{part: {**sizes, **said.get(part, {})} for part, sizes in SIZES.items()}}
    laid_out = vl_convert.vegalite_to_svg(json.dumps(_with_larger_letters(spec)))
    text = re.sub(r'font-size="([\d.]+)px"', lambda size: f'font-size="{float(size[1]) / ROOM:.4g}px"', laid_out)
    if kind == "pdf":
        return bytes(vl_convert.svg_to_pdf(text))
    return bytes(vl_convert.svg_to_png(text, ppi=density)) if kind == "png" else text.encode()


def _with_larger_letters(spec: Any) -> Any:
    """Return a specification with every size of letters times ``ROOM``, and its data untouched."""
    if isinstance(spec, list):
        return [_with_larger_letters(part) for part in spec]
    if not isinstance(spec, dict):
        return spec
    return {
        name: ROOM * part
        if name.lower().endswith("fontsize") and not isinstance(part, dict)
        else part
        if name in ("data", "datasets")
        else _with_larger_letters(part)
        for name, part in spec.items()
    }


def grouped(alt: Any, names: list[str]) -> dict[str, Any]:
    """Colour and dash by group, in the order given, so that lines are told apart without colour too."""
    legend = alt.Legend(title=None, symbolType="stroke", symbolStrokeWidth=2, symbolOpacity=1, symbolSize=400)
    domain, n = names, len(names)
    return {
        "color": alt.Color("group:N", scale=alt.Scale(domain=domain, range=PALETTE[:n]), legend=legend),
        "strokeDash": alt.StrokeDash("group:N", scale=alt.Scale(domain=domain, range=DASHES[:n]), legend=legend),
    }


def regret_chart(curve: Any, title: str = "Regret", group: str | None = None) -> Any:
    """Mean regret over seeds with the band of its 95 % interval, against the round.

    ``curve`` has the columns seed, t, regret and, with ``group``, one more to tell lines apart. One seed has no band.
    """
    import polars as pl

    alt = altair()
    named = curve.with_columns(pl.lit("regret").alias("group") if group is None else pl.col(group).alias("group"))
    names = named["group"].unique(maintain_order=True).to_list()
    frame = intervals(named, ["group", "t"], "regret").sort("group", "t")
    gone = lost(named["regret"])
    told = f"{title} ({gone:,} values are not finite and left out)" if gone else title
    base = alt.Chart(alt.Data(values=frame.select("group", "t", "mean", "low", "high").to_dicts()), title=told)
    x = alt.X("t:Q", title="round", axis=alt.Axis(tickCount=5))
    look = grouped(alt, names) if group is not None else {"color": alt.value(PALETTE[0])}
    heights = frame["mean"].to_list()
    least, most = min(heights, default=0.0), max(heights, default=0.0)
    floor = 0.0 if least > -0.05 * most else least
    y = alt.Y("low:Q", title="regret (mean, 95 % interval)", scale=alt.Scale(domainMin=floor))
    band = base.mark_area(opacity=0.15, clip=True).encode(x=x, y=y, y2="high:Q", color=look["color"])
    line = base.mark_line(strokeWidth=2).encode(x=x, y="mean:Q", **look)
    return (band + line).properties(width=460, height=300)
