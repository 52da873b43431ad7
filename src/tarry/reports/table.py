"""Tables of results for the terminal."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Any, NamedTuple

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


COLUMNS = ("regret", "± s.e.", "labels seen", "mean weight", "second moment", "saturated", "pathwise bound")


def figures(cell: Cell) -> tuple[str, ...]:
    """The cell's figures as text, in the order of COLUMNS."""
    s = cell.summary
    bound = "not weighted" if not cell.is_unbiased else ("–" if isnan(s["bound"]) else f"{s['bound']:,.0f}")
    return (
        f"{s['regret']:,.0f}",
        f"{s['standard_error']:.1f}",
        f"{s['observed']:.1%}",
        f"{s['mean_weight']:.3f}",
        f"{s['second_moment']:.2f}",
        f"{s['saturated']:.1%}",
        bound,
    )


def name_of(cell: Cell) -> str:
    """The policy's name; biased ones say so."""
    return cell.policy if cell.is_unbiased else f"{cell.policy} (biased)"


def summary_table(cells: list[Cell]) -> Table:
    """A table with a section per capacity, for ``rich`` to print."""
    from rich.table import Table

    table = Table(title=None, pad_edge=False)
    table.add_column("capacity", justify="right")
    table.add_column("policy")
    for column in COLUMNS:
        table.add_column(column, justify="right")
    previous: Any = None
    for cell in cells:
        if previous is not None and cell.capacity != previous:
            table.add_section()
        style = "bold" if cell.policy == "VarOpt" else None
        table.add_row(str(cell.capacity or "none"), name_of(cell), *figures(cell), style=style)
        previous = cell.capacity
    return table
