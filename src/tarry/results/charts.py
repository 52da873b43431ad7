"""Charts of results frames (needs the extra ``report``)."""

from __future__ import annotations

from typing import Any

# Okabe and Ito's palette: told apart by readers with any colour vision, and in print.
PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D00", "#7F7F7F", "#000000"]
DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [10, 4], [1, 3], [12, 3, 3, 3], [3, 6]]


def altair() -> Any:
    """Altair, or a sentence saying how to get it."""
    try:
        import altair as module
    except ImportError as error:
        raise ImportError("charts need altair: pip install 'tarry[report]'") from error
    return module


def grouped(alt: Any, names: list[str]) -> dict[str, Any]:
    """Colour and dash by group, in the order given, so that lines are told apart without colour too."""
    legend = alt.Legend(title=None, symbolType="stroke", symbolStrokeWidth=2, symbolOpacity=1, symbolSize=400)
    domain, n = names, len(names)
    return {
        "color": alt.Color("group:N", scale=alt.Scale(domain=domain, range=PALETTE[:n]), legend=legend),
        "strokeDash": alt.StrokeDash("group:N", scale=alt.Scale(domain=domain, range=DASHES[:n]), legend=legend),
    }


def regret_chart(curve: Any, title: str = "Regret", group: str | None = None) -> Any:
    """Mean regret over seeds with a band of ± two standard errors, against the round.

    ``curve`` has the columns seed, t, regret and, with ``group``, one more to tell lines apart.
    """
    import polars as pl

    alt = altair()
    named = curve.with_columns(pl.lit("regret").alias("group") if group is None else pl.col(group).alias("group"))
    names = named["group"].unique(maintain_order=True).to_list()
    spread = pl.col("regret").std(ddof=1).fill_null(0.0) / pl.len().sqrt()
    frame = (
        named.group_by(["t", "group"])
        .agg(pl.col("regret").mean().alias("mean"), spread.alias("error"))
        .with_columns(
            (pl.col("mean") - 2 * pl.col("error")).alias("low"),
            (pl.col("mean") + 2 * pl.col("error")).alias("high"),
        )
        .sort(["group", "t"])
    )
    base = alt.Chart(alt.Data(values=frame.to_dicts()), title=title)
    x = alt.X("t:Q", title="round", axis=alt.Axis(tickCount=5))
    look = grouped(alt, names) if group is not None else {"color": alt.value(PALETTE[0])}
    least, most = frame["mean"].min(), frame["mean"].max()
    floor = 0.0 if least > -0.05 * most else least
    y = alt.Y("low:Q", title="regret (mean ± 2 s.e.)", scale=alt.Scale(domainMin=floor))
    band = base.mark_area(opacity=0.15, clip=True).encode(x=x, y=y, y2="high:Q", color=look["color"])
    line = base.mark_line(strokeWidth=2).encode(x=x, y="mean:Q", **look)
    return (band + line).properties(width=460, height=300)
