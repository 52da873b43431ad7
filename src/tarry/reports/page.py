"""One self-contained HTML page: text, figures as inline SVG, a table. No scripts, no network."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from tarry.reports.table import COLUMNS, LEGEND, Cell, figures, name_of
from tarry.results.charts import altair, draw, grouped, regret_chart
from tarry.results.intervals import CONFIDENCE, student

STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
figure { margin: 1.5rem 0; background: #fff; color: #222; padding: .75rem; border-radius: .5rem; overflow-x: auto; }
figcaption { font-size: .9rem; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(28rem, 1fr)); gap: 1rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid #8884; }
th:nth-child(2), td:nth-child(2) { text-align: left; }
.scroll { overflow-x: auto; }
svg { max-width: 100%; height: auto; }
"""


def demo_page(cells: list[Cell], path: Path, *, title: str, story: str) -> Path:
    """Write the page of a demonstration and return its absolute path."""
    capacities = sorted({cell.capacity for cell in cells if cell.capacity is not None})
    parts = [f"<h1>{escape(title)}</h1>", f"<p>{escape(story)}</p>"]
    parts.append(
        figure(
            _against_capacity(cells),
            "Final regret against capacity, means with 95 % intervals; dotted: no limit. * unweighted, biased.",
        )
    )
    parts.append("<div class=pair>")
    parts += [
        figure(_curves(cells, capacity), f"Regret over time with {capacity} slots, mean with its 95 % interval")
        for capacity in capacities
    ]
    parts.append("</div>")
    parts.append(_table(cells))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document(title, "\n".join(parts)), encoding="utf-8")
    return path.resolve()


def document(title: str, body: str, style: str = STYLE) -> str:
    """A whole page around its body."""
    return (
        f"<!doctype html>\n<html lang=en><head><meta charset=utf-8><title>{escape(title)}</title>"
        f"<meta name=viewport content='width=device-width'><style>{style}</style></head>\n"
        f"<body>\n{body}\n</body></html>\n"
    )


def figure(chart: Any, caption: str) -> str:
    """A chart as inline SVG with a caption."""
    return f"<figure>{draw(chart).decode()}<figcaption>{escape(caption)}</figcaption></figure>"


def compare(records: dict[str, Any]) -> Any:
    """Regret curves of several records in one chart, by the names given."""
    import polars as pl

    named = [record.curve.with_columns(pl.lit(name).alias("name")) for name, record in records.items()]
    return regret_chart(pl.concat(named), title="Regret", group="name")


def _curves(cells: list[Cell], capacity: int) -> Any:
    import polars as pl

    shown = [cell for cell in cells if cell.capacity in (capacity, None)]
    frame = pl.concat([cell.curve.with_columns(pl.lit(name_of(cell)).alias("policy")) for cell in shown])
    return regret_chart(frame, title=f"capacity {capacity}", group="policy")


def _against_capacity(cells: list[Cell]) -> Any:
    alt = altair()
    limited = [cell for cell in cells if cell.capacity is not None]
    rows = [{"group": name_of(cell), "capacity": cell.capacity, **_interval(cell)} for cell in limited]
    look = grouped(alt, list(dict.fromkeys(name_of(cell) for cell in limited)))
    base = alt.Chart(alt.Data(values=rows))
    x = alt.X(
        "capacity:Q",
        scale=alt.Scale(type="log", base=2),
        axis=alt.Axis(values=sorted({cell.capacity for cell in limited if cell.capacity})),
        title="slots",
    )
    lines = base.mark_line(strokeWidth=2).encode(x=x, y=alt.Y("regret:Q", title="final regret"), **look)
    points = base.mark_point(filled=True, size=40).encode(x=x, y="regret:Q", color=look["color"])
    bars = base.mark_rule(strokeWidth=2).encode(x=x, y="low:Q", y2="high:Q", color=look["color"])
    floors = [
        alt.Chart(alt.Data(values=[_interval(cell)])).mark_rule(color="#000", strokeDash=[2, 3]).encode(y="regret:Q")
        for cell in cells
        if cell.capacity is None
    ]
    return alt.layer(lines, points, bars, *floors).properties(width=640, height=340)


def _interval(cell: Cell) -> dict[str, float]:
    mean, seeds = cell.summary["regret"], cell.curve["seed"].n_unique()
    half = student(CONFIDENCE, seeds - 1) * cell.summary["standard_error"] if seeds > 1 else 0.0
    return {"regret": mean, "low": mean - half, "high": mean + half}


def _table(cells: list[Cell]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in ("slots", "policy", *COLUMNS))
    rows = (
        "<tr>"
        + "".join(f"<td>{escape(text)}</td>" for text in (str(c.capacity or "∞"), name_of(c), *figures(c)))
        + "</tr>"
        for c in cells
    )
    body = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return f"<div class=scroll>{body}</div><p><small>{escape(LEGEND)}</small></p>"
