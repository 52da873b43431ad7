"""Charts of results frames (needs the extra ``report``)."""

from __future__ import annotations

from typing import Any

# Okabe and Ito's palette: told apart by readers with any colour vision, and in print.
PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#555555", "#8C6D00"]


def altair() -> Any:
    """Altair, or a sentence saying how to get it."""
    try:
        import altair as module
    except ImportError as error:
        raise ImportError("charts need altair: pip install 'tarry[report]'") from error
    return module


def regret_chart(curve: Any, title: str = "Regret", group: str | None = None) -> Any:
    """Mean regret over seeds with a band of ± two standard errors, against the round.

    ``curve`` has the columns seed, t, regret and, with ``group``, one more to colour by.
    """
    import polars as pl

    alt = altair()
    keys = ["t"] if group is None else ["t", group]
    spread = pl.col("regret").std(ddof=1).fill_null(0.0) / pl.len().sqrt()
    frame = (
        curve.group_by(keys)
        .agg(pl.col("regret").mean().alias("mean"), spread.alias("error"))
        .with_columns(
            (pl.col("mean") - 2 * pl.col("error")).alias("low"),
            (pl.col("mean") + 2 * pl.col("error")).alias("high"),
        )
        .sort(keys)
    )
    base = alt.Chart(alt.Data(values=frame.to_dicts()), title=title)
    x = alt.X("t:Q", title="round")
    colour = (
        alt.value(PALETTE[0]) if group is None else alt.Color(f"{group}:N", scale=alt.Scale(range=PALETTE), title=group)
    )
    band = base.mark_area(opacity=0.2).encode(
        x=x, y=alt.Y("low:Q", title="regret (mean ± 2 s.e.)"), y2="high:Q", color=colour
    )
    line = base.mark_line(strokeWidth=2).encode(x=x, y="mean:Q", color=colour)
    return (band + line).properties(width=520, height=320)
