"""The table's exponents as measured: slopes of regret along lines of cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tarry.experiments.table1.claims import ATTAINED, Claim
from tarry.results.exponents import Exponent, fit_exponent

if TYPE_CHECKING:
    import polars as pl

    from tarry.experiments.collect import Tables

SLACK = 0.1
DELAYS = ("total_delay", "max_backlog", "max_delay")
# What must stay the same along a line, unless it is what the line goes by; the length of blocks goes with the delay.
SETTINGS: dict[str, tuple[str, ...]] = {"capacity": ("capacity",), "horizon": ("horizon",), "dimension": ("dimension",)}
SETTINGS |= dict.fromkeys(DELAYS, ("axis_delay", "axis_block"))


class Measured(NamedTuple):
    """A claim and its slope; None where too few of its cells are finished."""

    claim: Claim
    found: Exponent | None

    @property
    def verdict(self) -> str:
        """``ok``; ``steeper`` or, where the rate is to be attained, ``flatter`` by more than 0.1; or ``missing``."""
        if self.found is None:
            return "missing"
        if self.found.slope > self.claim.exponent + SLACK:
            return "steeper"
        is_flat = self.claim.kind == ATTAINED and self.found.slope < self.claim.exponent - SLACK
        return "flatter" if is_flat else "ok"


def measure(tables: Tables, claims: list[Claim]) -> list[Measured]:
    """Each claim's slope, from the longest line of cells along which nothing else changes."""
    import polars as pl

    named = tables.cells.select("cell", "game", "player", *(n for n in tables.cells.columns if n.startswith("axis_")))
    runs = tables.runs.join(named.unique(), on="cell").with_columns(pl.col("capacity").fill_null(-1))
    return [Measured(claim, _fit(runs, claim)) for claim in claims]


def _fit(runs: pl.DataFrame, claim: Claim) -> Exponent | None:
    import polars as pl

    mine = runs.filter((pl.col("game") == claim.game) & (pl.col("player") == claim.player))
    free = SETTINGS[claim.by]
    fixed = [name for names in dict.fromkeys(SETTINGS.values()) for name in names if name not in free]
    lines = mine.group_by(*(name for name in fixed if name in mine.columns)).agg(pl.col(claim.by).n_unique())
    if not lines.height or lines[claim.by].max() < 3:  # type: ignore[operator]
        return None
    line = lines.sort(claim.by, descending=True).head(1).drop(claim.by)
    along = mine.join(line, on=line.columns, nulls_equal=True)
    wide = along.pivot("seed", index=claim.by, values="regret", aggregate_function="first").sort(claim.by)
    return fit_exponent(wide[claim.by].to_numpy(), wide.drop(claim.by).to_numpy())
