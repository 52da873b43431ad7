"""Plans and bounds for the terminal, and a plan as a picture or a page."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from tarry.reports.page import document, figure
from tarry.results.charts import draw

if TYPE_CHECKING:
    from rich.table import Table

    from tarry.planning import Bound, Figures, Plan

LEGEND = (
    "seen: share of labels used. mean w²: second moment of the weights. effective: effective sample size as a share of "
    "unlimited tracking. errors: how many times larger standard errors are. refused: rounds that found no room."
)
STAR = "* unweighted, hence biased: not noisy, but wrong on average where delays and outcomes are related."
DASH = "– not offered at so few (or so many) slots: see docs/planning.md."
SUFFIXES = (".svg", ".png", ".html")
DENSITY = 144  # pixels an inch of a .png, twice the picture's own


def plan_tables(plan: Plan) -> list[Table]:
    """The recommended scheduler in full, and the effective sample size of all of them, for ``rich`` to print."""
    return [_details(plan), _comparison(plan)]


def _table(title: str, caption: str, gap: int = 1) -> Table:
    from rich import box
    from rich.table import Table

    return Table(
        box=box.SIMPLE_HEAD,
        title=title,
        title_justify="left",
        title_style="bold",
        caption=caption,
        caption_justify="left",
        padding=(0, gap, 0, 0),
        pad_edge=False,
    )


def detail_rows(plan: Plan) -> tuple[str, tuple[str, ...], list[tuple[str, ...]]]:
    """The recommended scheduler (or the first), the columns, and a row of text per capacity."""
    name = plan.figures[0].scheduler if plan.choice is None else plan.choice.scheduler
    rate = plan.backlog.per_day
    columns = ("slots", "seen", "mean w²", "effective", *(("a day",) if rate else ()), "errors", "refused")
    rows = []
    for f in plan.figures:
        if f.scheduler == name:
            daily = (f"{f.effective * rate:,.0f}",) if rate else ()
            shown = (f"{f.seen:.1%}", _moment(f), f"{f.effective:.1%}", *daily, f"×{f.error_factor:.2f}")
            rows.append((f"{f.capacity:,}", *shown, f"{f.saturated:.1%}"))
    return name, columns, rows


def _moment(f: Figures) -> str:
    text = f"{f.second_moment:,.2f}" if f.second_moment < 100 else f"{f.second_moment:,.0f}"
    return text if f.second_moment_error < 0.05 * f.second_moment else f"{text} ± {f.second_moment_error:.0f}"


def _details(plan: Plan) -> Table:
    name, columns, rows = detail_rows(plan)
    table = _table(name, LEGEND)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row, style="bold" if row[0] == f"{plan.capacity or 0:,}" else None)
    return table


def _comparison(plan: Plan) -> Table:
    shares = {(f.capacity, f.scheduler): f.effective for f in plan.figures}
    largest = max(f.capacity for f in plan.figures)
    last = [f for f in plan.figures if f.capacity == largest]
    asked = [(capacity, f.scheduler) for capacity in {f.capacity for f in plan.figures} for f in last]
    notes = ["" if all(f.is_unbiased for f in last) else STAR, "" if all(key in shares for key in asked) else DASH]
    table = _table("Effective sample size by scheduler", "\n".join(note for note in notes if note), gap=0)
    table.add_column("slots", justify="right", no_wrap=True)
    for f in last:
        table.add_column(_heading(f), justify="right", no_wrap=True)
    for capacity in sorted({f.capacity for f in plan.figures}):
        found = [shares.get((capacity, f.scheduler)) for f in last]
        cells = ("–" if share is None else _percent(share) for share in found)
        table.add_row(f"{capacity:,}", *cells, style="bold" if capacity == plan.capacity else None)
    return table


def _heading(f: Figures) -> str:
    """The scheduler's name on two lines, so that all fit a terminal."""
    first, _, rest = f.scheduler.replace("(", "").replace(")", "").partition(" ")
    return "\n".join(part for part in (first, rest) if part) + ("" if f.is_unbiased else " *")


def _percent(share: float) -> str:
    return f"{share:.1%}" if share >= 0.001 else "< 0.1%"


def check_chart(path: Path) -> None:
    """Refuse a file that a chart cannot be written as."""
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"a chart is written as {', '.join(SUFFIXES)}, got {path.name!r}")


def save_plan(plan: Plan, path: Path) -> Path:
    """Write the plan's picture (.svg, .png) or a page that holds it (.html); return the absolute path."""
    check_chart(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    match path.suffix.lower():
        case ".html":
            path.write_text(_page(plan), encoding="utf-8")
        case suffix:
            path.write_bytes(draw(plan.plot(), suffix[1:], density=DENSITY))
    return path.resolve()


def _page(plan: Plan) -> str:
    name, columns, rows = detail_rows(plan)
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    parts = [
        "<h1>How many slots?</h1>",
        *(f"<p>{escape(text)}</p>" for text in (plan.backlog.sentence, plan.backlog.little, plan.recommendation)),
        *(f"<p><strong>{escape(text)}.</strong></p>" for text in plan.warnings),
        figure(plan.plot(), "Above: the backlog. Below: what a number of slots is worth."),
        f"<h2>{escape(name)}</h2>",
        f"<div class=scroll><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>",
        f"<p><small>{escape(LEGEND)}</small></p>",
    ]
    return document("How many slots?", "\n".join(parts))


def bounds_table(bounds: list[Bound], trivial: float | None) -> Table:
    """Bounds by game, with the share of GDT where that is known, for ``rich`` to print."""
    caption = "" if trivial is None else f"GDT = {trivial:,.0f} holds for every player: a bound above it is empty."
    table = _table("Bounds on expected regret", caption)
    for column in ("scheduler", "source"):
        table.add_column(column, no_wrap=True)
    table.add_column("bound", justify="right", no_wrap=True)
    if trivial is not None:
        table.add_column("/ GDT", justify="right", no_wrap=True)
    table.add_column("note")
    previous = None
    for b in bounds:
        if b.game != previous:
            table.add_section()
            table.add_row(b.game, style="bold")
        value = "–" if b.value is None else f"{b.value:,.0f}" if b.value >= 100 else f"{b.value:.3g}"
        share = () if trivial is None else ("" if b.value is None else f"{b.value / trivial:.3g}",)
        table.add_row(f"  {b.scheduler}", b.source, value, *share, b.note)
        previous = b.game
    return table
