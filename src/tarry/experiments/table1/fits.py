"""The table's exponents as measured: slopes of regret along lines of cells, and what to make of them."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

from tarry.experiments.table1.claims import ATTAINED, Claim
from tarry.results.exponents import Exponent, fit_exponent

if TYPE_CHECKING:
    import polars as pl

    from tarry.experiments import Tables

SLACK = 0.1
FEWEST = 3
"""So many means, all of them positive, are the least that a slope is taken from."""

OK, WIDE, STEEPER, FLATTER, UNDECIDED, MISSING = "ok", "ok, wide", "steeper", "flatter", "undecided", "missing"
FINE = (OK, WIDE)
VERDICTS = (OK, WIDE, STEEPER, FLATTER, UNDECIDED, MISSING)

# What a line goes by in the plan, which does not know backlogs yet; the length of blocks goes with the delay.
KEYS = {"horizon": "horizon", "dimension": "dimension", "capacity": "capacity"}
SETTINGS = ("horizon", "dimension", "capacity", "axis_delay", "axis_block")


class Measured(NamedTuple):
    """A claim and its slope, None where there is a ``reason``, from ``played`` points: 0 if not all is finished."""

    claim: Claim
    found: Exponent | None
    played: int = 0
    reason: str = ""

    @property
    def verdict(self) -> str:
        """What the slope says of the claim.

        ``ok``         at most 0.1 above the exponent and, where it is to be attained, at most 0.1 below; so is all of
                       the interval
        ``ok, wide``   so is the slope, and the interval is not (or is not known): more seeds would tell
        ``steeper``    more than 0.1 above
        ``flatter``    more than 0.1 below, where the rate is to be attained
        ``undecided``  everything was played, and there is no slope: too few positive means, or runs without a regret
        ``missing``    not everything was played
        """
        if self.found is None:
            return UNDECIDED if self.played else MISSING
        low, high = self._fences
        slope = self.found.slope
        if not isfinite(slope):
            return UNDECIDED
        if slope > high:
            return STEEPER
        if slope < low:
            return FLATTER
        return OK if low <= self.found.low and self.found.high <= high else WIDE

    @property
    def _fences(self) -> tuple[float, float]:
        low = self.claim.exponent - SLACK if self.claim.kind == ATTAINED else -float("inf")
        return low, self.claim.exponent + SLACK


def measure(tables: Tables, claims: list[Claim]) -> list[Measured]:
    """Each claim's slope, from the longest line of planned cells along which nothing else changes."""
    return [_measured(tables, claim) for claim in claims]


def _measured(tables: Tables, claim: Claim) -> Measured:
    line = _line(tables.cells, claim)
    if line is None:
        return Measured(claim, None, reason=f"the plan has no {FEWEST} cells along which only this changes")
    runs = line.select("cell").unique().join(tables.runs, on="cell", maintain_order="left")
    wanted, there = line["cell"].n_unique(), runs["cell"].n_unique()
    if there < wanted:
        return Measured(claim, None, reason=f"{wanted - there} of {wanted} cells are not finished")
    astray = runs.height - int(runs["regret"].is_finite().sum())
    if astray:
        return Measured(claim, None, wanted, f"{astray} of {runs.height} runs have no finite regret")
    wide = runs.pivot("seed", index=claim.by, values="regret", aggregate_function="first").sort(claim.by)
    by_seed = wide.drop(claim.by)
    positive = sum(mean > 0 for mean in by_seed.mean_horizontal())
    if positive < FEWEST:
        return Measured(claim, None, wide.height, f"only {positive} of {wide.height} means are positive")
    return Measured(claim, fit_exponent(wide[claim.by].to_numpy(), by_seed.to_numpy()), wide.height)


def _line(cells: pl.DataFrame, claim: Claim) -> pl.DataFrame | None:
    """The planned cells of a claim's line, finished or not; of several as long the first in the plan."""
    import polars as pl

    along = KEYS.get(claim.by, "axis_delay")
    named = (pl.col("game") == claim.game) & (pl.col("player") == claim.player)
    mine = cells.filter(named & (pl.col(along) > 0))  # no delay has no logarithm
    free = (along,) if along in KEYS else ("axis_delay", "axis_block")
    fixed = [name for name in SETTINGS if name not in free and name in mine.columns]
    lines = mine.group_by(fixed, maintain_order=True).agg(pl.col(along).n_unique().alias("points"))
    longest = lines.sort("points", descending=True, maintain_order=True).head(1)
    if not longest.height or longest["points"].item() < FEWEST:
        return None
    return mine.join(longest, on=fixed, nulls_equal=True, maintain_order="left")
