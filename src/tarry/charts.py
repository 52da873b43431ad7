"""How charts look, how they become pictures, and the chart of regret (needs the extra ``report``)."""

from __future__ import annotations

import json
import re
import textwrap
from functools import cache
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

# Ink has a few colours only, so that a page can put others in their place where the reader's screen is dark.
INK, FAINT, GRID, RULE = "#222222", "#6b6b6b", "#e4e4e4", "#b8b8b8"
# Okabe and Ito's palette: told apart by readers with any colour vision, and in print.
PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D00", "#7F7F7F", "#000000"]
# What ink and palette become on a dark screen: the same hues, lighter.
LIGHTER = ["#3ea6e6", "#f0803c", "#1fc79a", "#dd9cc0", "#f0b840", "#8fd0f5", "#c9a227", "#9a9a9a", "#ffffff"]
DARK = {INK: "#ececec", FAINT: "#a8a8a8", GRID: "#333333", RULE: "#5c5c5c", **dict(zip(PALETTE, LIGHTER, strict=True))}
DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [10, 4], [1, 3], [12, 3, 3, 3], [3, 6]]
FATE_COLOURS = {"used": PALETTE[0], "untracked": RULE, "saturated": PALETTE[1], "preempted": PALETTE[4]}
FATE_COLOURS |= {"expired": PALETTE[3], "pending": PALETTE[5]}
WIDTH, HALF = 740, 340  # pixels: a figure by itself, and one of two in a row
DENSITY = 144  # pixels an inch of a .png, twice the picture's own
TIED = "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}"
DATA = ("data", "datasets")  # parts of a specification that are no layout

# The fonts of every chart: all of the same widths but the last, for which a reader's system may put a wider one.
FONT = "Liberation Sans, Arial, Helvetica, Arimo, Nimbus Sans, sans-serif"
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
CONFIDENCE = 0.95  # of every interval of a mean


def altair() -> Any:
    """Return the module Altair; raise ImportError with the way to install it if it is not there."""
    try:
        import altair as module
    except ImportError as error:
        raise ImportError("charts need altair: pip install 'tarry[report]'") from error
    return module


def draw(chart: Any, kind: str = "svg", *, density: float = DENSITY, ground: str = "white") -> bytes:
    """Return a chart as ``svg``, ``pdf`` or ``png`` (``density`` pixels an inch), with room for any usual font."""
    try:
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise ImportError("pictures need vl-convert-python: pip install 'tarry[report]'") from error
    spec = {**chart.to_dict(), "background": ground}
    config = spec.get("config", {})
    spec["config"] = {
        "font": FONT,
        **config,
        **{part: {**sizes, **config.get(part, {})} for part, sizes in SIZES.items()},
    }
    return convert(_laid_out(spec), kind, density=density)


def _laid_out(spec: dict[str, Any]) -> str:
    """Return a specification as SVG. It is laid out with letters ``ROOM`` times as large as they are then drawn."""
    import vl_convert

    laid_out = vl_convert.vegalite_to_svg(json.dumps(_with_letters(spec, ROOM)))
    return re.sub(r'font-size="([\d.]+)px"', lambda size: f'font-size="{float(size[1]) / ROOM:.4g}px"', laid_out)


def convert(svg: str, kind: str, *, density: float = DENSITY, ground: str | None = None) -> bytes:
    """Return a picture that is drawn already as ``svg``, ``pdf`` or ``png``, on a ``ground`` if it has none."""
    import vl_convert

    if ground is not None:
        svg = re.sub(r"(<svg[^>]*>)", rf'\1<rect width="100%" height="100%" fill="{ground}"/>', svg, count=1)
    if kind == "pdf":
        return bytes(vl_convert.svg_to_pdf(svg))
    return bytes(vl_convert.svg_to_png(svg, ppi=density)) if kind == "png" else svg.encode()


def wrap(title: str, letters: int) -> list[str]:
    """Return a title in lines of at most so many letters: one that is cut short may read like its neighbour's.

    >>> wrap("drift, C = 64, bursts(length=250, slow=200, fast=3)", 40)
    ['drift, C = 64, bursts(length=250,', 'slow=200, fast=3)']
    """
    # A name stays beside its value: the wrapper breaks no line at this other kind of space.
    lines = textwrap.wrap(title.replace(" = ", TIED), letters, break_on_hyphens=False)
    return [line.replace(TIED, " = ") for line in lines]


def _with_letters(spec: Any, times: float) -> Any:
    """Return a specification with every size of letters times a factor, and its data untouched."""
    if isinstance(spec, list):
        return [_with_letters(part, times) for part in spec]
    if not isinstance(spec, dict):
        return spec
    larger = {name: part if name in DATA else _with_letters(part, times) for name, part in spec.items()}
    sizes = [name for name, part in spec.items() if name.lower().endswith("fontsize") and not isinstance(part, dict)]
    return larger | {name: times * spec[name] for name in sizes}


def drawn(chart: Any) -> Any:
    """Return the chart with a ``save`` whose pictures are those of :func:`draw`."""
    # Altair keeps attributes as parts of the specification, and copies a chart by its class: so the class is exchanged.
    kind: Any = type(chart)
    object.__setattr__(chart, "__class__", _drawn_kind(kind))
    return chart


@cache
def _drawn_kind(kind: Any) -> Any:
    """Return the class of charts of this kind that are saved by ``draw``."""

    class Drawn(kind):  # type: ignore[misc]
        def save(self, fp: Any, format: str | None = None, **options: Any) -> None:
            """Write the chart to a file or a path: pictures by ``draw``, other formats as Altair does."""
            kind_wanted = format or Path(str(fp)).suffix[1:].lower()
            if kind_wanted not in ("svg", "pdf", "png"):
                super().save(fp, format, **options)
                return
            density = options.get("ppi") or DENSITY
            data = draw(self, kind_wanted, density=density * options.get("scale_factor", 1))
            if isinstance(fp, (str, Path)):
                Path(fp).write_bytes(data)
            else:
                fp.write(data)

    return Drawn


def dressed(chart: Any, title: str = "", subtitle: str | list[str] = "") -> Any:
    """Return a chart in the dress that all charts share, under a title of its own if one is given."""
    axis = {"labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": "normal", "labelColor": INK, "titleColor": INK}
    lines = {"gridColor": GRID, "domainColor": RULE, "tickColor": RULE, "labelLimit": 240, "titleLimit": 560}
    if title:
        heading = {"fontSize": 16, "subtitleFontSize": 12, "subtitlePadding": 6, "offset": 14, "anchor": "start"}
        chart = chart.properties(title=altair().TitleParams(title, subtitle=subtitle, **heading))
    return drawn(
        chart.configure(
            padding=8,
            axis={**axis, **lines},
            view={"stroke": None},
            legend={"labelFontSize": 12, "labelColor": INK, "titleColor": INK},
            title={"fontSize": 13, "anchor": "start", "fontWeight": "bold", "color": INK, "subtitleColor": FAINT},
        )
    )


def data_of(rows: list[dict[str, Any]]) -> Any:
    """Return rows for a chart as text; raise ValueError on NaN."""
    alt = altair()
    # Altair copies lists again and again, and text not at all.
    return alt.Data(values=json.dumps(rows, allow_nan=False), format=alt.DataFormat(type="json"))


def grouped(names: list[str], **options: Any) -> dict[str, Any]:
    """Return colour and dash by the column ``group``, in the order given: lines are told apart without colour too.

    ``options`` are those of the legend.
    """
    alt = altair()
    stroke = {"symbolType": "stroke", "symbolStrokeWidth": 2, "symbolOpacity": 1, "symbolSize": 400}
    legend = alt.Legend(title=None, **stroke, **options)
    # From the tenth on colours come again, with another dash.
    places, many = range(len(names)), len(PALETTE)
    colours = alt.Scale(domain=names, range=[PALETTE[i % many] for i in places])
    dashes = alt.Scale(domain=names, range=[DASHES[(i + i // many) % len(DASHES)] for i in places])
    return {
        "color": alt.Color("group:N", scale=colours, legend=legend),
        "strokeDash": alt.StrokeDash("group:N", scale=dashes, legend=legend),
    }


def level(height: float, text: str, field: str, x: float, *, align: str) -> list[Any]:
    """Return a dashed line across a chart, and its name above the line where ``field`` is x."""
    at = altair().Chart(data_of([{"y": height, field: x, "text": text}]))
    name = at.mark_text(align=align, dx=4 if align == "left" else 0, dy=-7, fontSize=11.5, color=INK)
    return [
        at.mark_rule(color=INK, strokeDash=[5, 4]).encode(y="y:Q"),
        name.encode(y="y:Q", x=f"{field}:Q", text="text:N"),
    ]


def student(confidence: float, freedom: int) -> float:
    """Return Student's two-sided quantile; infinity where nothing is free.

    >>> round(student(0.95, 9), 3)
    2.262
    """
    # Not scipy.stats, which takes half a second to import and asks the same function.
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1.0 + confidence) / 2.0)) if freedom > 0 else inf


def intervals(frame: pl.DataFrame, keys: list[str], value: str) -> pl.DataFrame:
    """Return the columns mean, half, low, high, seeds for each of the keys, from values that are finite.

    ``half`` is Student's quantile times the standard error; it is null, and low = high = mean, with one seed.
    :func:`lost` counts the values that are left out.
    """
    import polars as pl

    mean, error, seeds = pl.col(value).mean(), pl.col(value).std(ddof=1) / pl.len().sqrt(), pl.len().cast(pl.Int64)
    finite = frame.filter(pl.col(value).is_finite())
    means = finite.group_by(keys, maintain_order=True).agg(mean=mean, half=error, seeds=seeds)
    quantile = {int(n): student(CONFIDENCE, int(n) - 1) for n in means["seeds"].unique() if n > 1}
    means = means.with_columns(
        half=pl.col("half") * pl.col("seeds").replace_strict(quantile, default=None, return_dtype=pl.Float64)
    )
    half = pl.col("half").fill_null(0.0)
    return means.with_columns(low=pl.col("mean") - half, high=pl.col("mean") + half)


def lost(values: pl.Series) -> int:
    """Return how many values are not finite, and so in no mean."""
    return int(values.len() - (values.is_finite().sum() or 0))


def regret_chart(curve: pl.DataFrame, title: str = "Regret", group: str | None = None, **legend: Any) -> Any:
    """Return a chart of mean regret over seeds with the band of its 95 % interval, against the round.

    ``curve`` has the columns seed, t, regret and, with ``group``, one more to tell lines apart; ``legend`` has options.
    """
    import polars as pl

    alt = altair()
    named = curve.with_columns(pl.lit("regret").alias("group") if group is None else pl.col(group).alias("group"))
    names = named["group"].unique(maintain_order=True).to_list()
    frame = intervals(named, ["group", "t"], "regret").sort("group", "t")
    gone = lost(named["regret"])
    heading = f"{title} ({gone:,} values are not finite and left out)" if gone else title
    base = alt.Chart(alt.Data(values=frame.select("group", "t", "mean", "low", "high").to_dicts()), title=heading)
    x = alt.X("t:Q", title="round", axis=alt.Axis(tickCount=5))
    look = grouped(names, **legend) if group is not None else {"color": alt.value(PALETTE[0])}
    counts = sorted(frame["seeds"].unique()) or [0]
    seeds = " to ".join(dict.fromkeys(str(count) for count in (counts[0], counts[-1])))
    told_seeds = f"regret (mean over {seeds} seeds, 95 % interval)" if counts[-1] > 1 else "regret (one seed)"
    y = alt.Y("low:Q", title=told_seeds)
    band = base.mark_area(opacity=0.15).encode(x=x, y=y, y2="high:Q", color=look["color"])
    line = base.mark_line(strokeWidth=2).encode(x=x, y="mean:Q", **look)
    return drawn((band + line).properties(width=460, height=300))
