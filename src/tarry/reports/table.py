"""Tables of results for the terminal."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table


class Cell(NamedTuple):
    """One policy at one capacity: the summary of its record and its curve (seed, t, regret, bound)."""

    policy: str
    capacity: int | None
    is_unbiased: bool
    summary: dict[str, float]
    curve: pl.DataFrame


COLUMNS = ("regret ± s.e.", "seen", "mean w", "mean w²", "refused", "bound")
LEGEND = (
    "seen: share of labels used. w: weight of a round, 0 if not seen; unbiased policies have mean 1. "
    "refused: rounds that found no room. bound: on the weighted regret, computed from the path. "
    "* unweighted, hence biased."
)


def figures(cell: Cell) -> tuple[str, ...]:
    """The cell's figures as text, in the order of COLUMNS."""
    s = cell.summary
    has_bound = cell.is_unbiased and not isnan(s["bound"])
    return (
        f"{s['regret']:,.0f} ± {s['standard_error']:.1f}",
        f"{s['observed']:.1%}",
        f"{s['mean_weight']:.3f}",
        f"{s['second_moment']:,.2f}" if s["second_moment"] < 100 else f"{s['second_moment']:,.0f}",
        f"{s['saturated']:.1%}",
        f"{s['bound']:,.0f}" if has_bound else "–",
    )


def name_of(cell: Cell) -> str:
    """The policy's name; biased ones carry a star."""
    return cell.policy if cell.is_unbiased else f"{cell.policy} *"


def summary_table(cells: list[Cell]) -> Table:
    """A table with a section per capacity, for ``rich`` to print."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, caption=LEGEND, caption_justify="left")
    table.add_column("slots", justify="right", no_wrap=True)
    table.add_column("policy", no_wrap=True)
    for column in COLUMNS:
        table.add_column(column, justify="right", no_wrap=True)
    previous: int | None = cells[0].capacity if cells else None
    for cell in cells:
        if cell.capacity != previous:
            table.add_section()
        style = "bold" if cell.policy == "VarOpt" else None
        table.add_row(str(cell.capacity or "∞"), name_of(cell), *figures(cell), style=style)
        previous = cell.capacity
    return table
