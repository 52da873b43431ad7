"""A case's figures as tables for the terminal and the page."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from tarry.cases.learning import FOUR, Result
from tarry.cases.measure import Figures, Spread
from tarry.cases.stream import Stream

if TYPE_CHECKING:
    from rich.table import Table

LEGEND = (
    "Ridge regression (λ = 1). progressive: mean squared error of the plays minus that of the best fixed linear model, "
    "± s.e.; last model: the same of the last one over the whole stream; believed mean: by the labels heard and their "
    "weights, ± one run's s.d.; pending: bytes of what waits, at most. * unweighted, hence biased."
)
OTHERS = (
    "Steps of the first-order learners are the best of a grid for each policy, known only in hindsight. "
    "Mean squared errors are against the best fixed linear model, so a model that is not linear may be below 0."
)


def columns(stream: Stream) -> tuple[str, ...]:
    """The heads of the first table."""
    unit = stream.unit
    return (
        "policy",
        f"progressive, {unit}²",
        f"last model, {unit}²",
        f"believed mean, {unit}",
        "seen",
        "pending, bytes",
    )


def cells(one: Figures) -> tuple[str, ...]:
    """A row of the first table as text."""
    return (
        one.policy if one.is_unbiased else f"{one.policy} *",
        shown(one.progressive),
        shown(one.last),
        _with(one.believed.mean, one.believed.deviation if one.believed.runs > 1 else None),
        f"{one.seen:.1%}",
        f"{one.memory:,}",
    )


def shown(spread: Spread) -> str:
    """A mean with its standard error, where there is one."""
    return _with(spread.mean, spread.error if spread.runs > 1 else None)


def rounded(mean: float) -> float:
    """A mean as it is shown, so that what is said of it can be checked against the table."""
    return round(mean, _digits(mean))


def _digits(mean: float) -> int:
    return 1 if abs(mean) < 100 else 0


def _with(mean: float, error: float | None) -> str:
    digits = _digits(mean)
    tail = "" if error is None else f" ± {error:.{digits}f}"
    return f"{mean:,.{digits}f}{tail}".replace("-0.0", "0.0") if abs(mean) < 0.05 else f"{mean:,.{digits}f}{tail}"


def figures_table(stream: Stream, figures: list[Figures]) -> Table:
    """The policies side by side, for ``rich`` to print."""
    unit, best = stream.unit, stream.best_error
    slots = max((one.capacity or 0) for one in figures)
    title = f"{stream.name}, {slots} slots: true mean {stream.mean:.1f} {unit}, best linear model {best:,.0f} {unit}²"
    table = _table(title, LEGEND, columns(stream))
    for one in figures:
        table.add_row(*cells(one), style="bold" if one.policy == "VarOpt" else None)
    return table


def others_rows(results: list[Result]) -> list[tuple[str, ...]]:
    """A row per learner, a column per policy."""
    rows = []
    for learner, what in dict.fromkeys((r.learner, r.what) for r in results):
        found = {r.policy: r for r in results if r.learner == learner}
        rows.append((learner, what, *(shown(found[p.name].value) if p.name in found else "–" for p in FOUR)))
    return rows


def others_table(stream: Stream, results: list[Result], rounds: int) -> Table:
    """The other learners, for ``rich`` to print."""
    heads = ("learner", "what", *(p.name for p in FOUR))
    table = _table(f"Other learners, first {min(rounds, stream.horizon):,} decisions", OTHERS, heads)
    for row in others_rows(results):
        table.add_row(*row)
    return table


def html(heads: tuple[str, ...], rows: list[tuple[str, ...]], legend: str) -> str:
    """A table for the page."""
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<div class=scroll><table><tr>{top}</tr>{body}</table></div><p><small>{escape(legend)}</small></p>"


def _table(title: str, caption: str, heads: tuple[str, ...]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(
        title=title,
        title_justify="left",
        caption=caption,
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for head in heads:
        is_text = head in ("policy", "learner", "what")
        # What a number measures goes above its unit; words may be wrapped, figures may not.
        table.add_column(
            head if is_text else head.replace(", ", "\n"), justify="left" if is_text else "right", no_wrap=not is_text
        )
    return table
