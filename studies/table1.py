"""The paper's Table 1 as measured exponents: what the table claims, and slopes of regret beside the claims."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import NamedTuple

import polars as pl

from tarry.experiments import Tables
from tarry.reports.exponents import Exponent, fit_exponent

SWEEPS = Path(__file__).parent / "sweeps"
QUICK, FULL = SWEEPS / "table1_quick.toml", SWEEPS / "table1_full.toml"

ATTAINED, UPPER = "attained", "upper bound"
SLACK = 0.1  # a slope may be so far from its claim: what short games and few seeds leave open
FEWEST = 3  # so many means, all of them positive, are the least that a slope is taken from

OK, WIDE, STEEPER, FLATTER, UNDECIDED, MISSING = "ok", "ok, wide", "steeper", "flatter", "undecided", "missing"
FINE = (OK, WIDE)
VERDICTS = (OK, WIDE, STEEPER, FLATTER, UNDECIDED, MISSING)

# What a line goes by in the plan, which does not know backlogs yet; the length of blocks goes with the delay.
KEYS = {"horizon": "horizon", "dimension": "dimension", "capacity": "capacity"}
SETTINGS = ("horizon", "dimension", "capacity", "axis_delay", "axis_block")


class Claim(NamedTuple):
    """Regret grows like ``by`` to the power ``exponent``; ``kind`` says whether the game is to attain it.

    ``by`` is a column of the runs: horizon, total_delay, max_backlog, max_delay, dimension or capacity.
    """

    row: str
    column: str
    by: str
    exponent: float
    player: str
    game: str
    kind: str


class TableCell(NamedTuple):
    """One cell of the printed table: the row and column, the player behind it, and its rate."""

    row: str
    column: str
    player: str
    rate: str


SYMBOLS = {
    "horizon": "T",
    "total_delay": "d_tot",
    "max_backlog": "σ_max",
    "max_delay": "d_max",
    "capacity": "C",
    "dimension": "k",
}

CONVEX, CURVED = "OCO, convex", "OCO, strongly convex"
BANDIT, BANDIT_CURVED = "BCO, convex", "BCO, strongly convex"
OURS, RECOMMENDED = "this work", "recommended"

CELLS = [
    TableCell(CONVEX, "quanrud2015", "quanrud2015", "√d_tot + √T"),
    TableCell(CONVEX, OURS, "this work, convex", "√d_tot + √T"),
    TableCell(CONVEX, RECOMMENDED, RECOMMENDED, "√d_tot + √T"),
    TableCell(CURVED, "qiu2025", "qiu2025", "min{σ_max ln T, √d_tot} + ln T"),
    TableCell(CURVED, OURS, "this work, strongly convex", "(σ_max + 1) ln T"),
    TableCell(CURVED, RECOMMENDED, RECOMMENDED, "(σ_max + 1) ln T"),
    TableCell(BANDIT, "wan2024", "wan2024", "√(T d_max) + T^(3/4) √k"),
    TableCell(BANDIT, "ryabchenko2026", "ryabchenko2026", "√d_tot + T^(3/4) √k"),
    TableCell(BANDIT, OURS, "this work, convex, values", "√(T σ_max) + T^(3/4) (1 + σ_max/C)^(1/4) √k"),
    TableCell(BANDIT, RECOMMENDED, RECOMMENDED, "√(T σ_max) + T^(3/4) (1 + σ_max/C)^(1/4) √k"),
    TableCell(BANDIT_CURVED, "wan2024", "wan2024, strongly convex", "d_max + T^(2/3) k^(2/3)"),
    TableCell(BANDIT_CURVED, "ryabchenko2026", "ryabchenko2026, strongly convex", "σ_max + T^(2/3) k^(2/3)"),
    TableCell(BANDIT_CURVED, OURS, "this work, strongly convex, values", "σ_max + T^(2/3) (1 + σ_max/C)^(1/3) k^(2/3)"),
    TableCell(BANDIT_CURVED, RECOMMENDED, RECOMMENDED, "σ_max + T^(2/3) (1 + σ_max/C)^(1/3) k^(2/3)"),
]

# By row: what regret is measured against, the exponent, the game, and whether the game attains it. Logarithms count as
# the power 0. Where only a capacity is spoken of, the columns without one make no claim.
MEASURED: dict[str, list[tuple[str, float, str, str]]] = {
    CONVEX: [
        ("horizon", 1 / 2, "signs", ATTAINED),
        ("total_delay", 1 / 2, "signs", ATTAINED),
        ("dimension", 0.0, "signs", ATTAINED),
        ("capacity", 0.0, "signs", ATTAINED),
        ("horizon", 1 / 2, "drift", UPPER),
    ],
    CURVED: [
        ("horizon", 0.0, "targets", ATTAINED),
        ("max_backlog", 1.0, "late start", ATTAINED),
        ("dimension", 0.0, "late start", ATTAINED),
        ("capacity", 0.0, "late start", ATTAINED),
        ("horizon", 0.0, "targets, late", UPPER),
    ],
    BANDIT: [
        ("horizon", 3 / 4, "cone", ATTAINED),
        ("max_backlog", 1 / 2, "signs, values", ATTAINED),
        ("dimension", 1 / 2, "cone", ATTAINED),
        ("capacity", -1 / 4, "cone", ATTAINED),
        ("horizon", 3 / 4, "cone aside", UPPER),
    ],
    BANDIT_CURVED: [
        ("horizon", 2 / 3, "cone, curved", ATTAINED),
        ("max_backlog", 1.0, "late start, values", ATTAINED),
        ("dimension", 2 / 3, "cone, curved", ATTAINED),
        ("capacity", -1 / 3, "cone, curved", ATTAINED),
        ("horizon", 2 / 3, "cone aside, curved", UPPER),
    ],
}
# The columns of the bandits' half name the delay differently; with fixed delays the three grow together.
DELAYS = {(BANDIT, "wan2024"): "max_delay", (BANDIT, "ryabchenko2026"): "total_delay"}
DELAYS |= {(BANDIT_CURVED, "wan2024"): "max_delay"}
CONSTRAINED = (OURS, RECOMMENDED)


def claims() -> list[Claim]:
    """Every exponent of the table, cell by cell."""
    return [
        Claim(cell.row, cell.column, _named(cell, by), exponent, cell.player, game, kind)
        for cell in CELLS
        for by, exponent, game, kind in MEASURED[cell.row]
        if by != "capacity" or cell.column in CONSTRAINED
    ]


def _named(cell: TableCell, by: str) -> str:
    return DELAYS.get((cell.row, cell.column), by) if by == "max_backlog" else by


class MeasuredClaim(NamedTuple):
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


def measure(tables: Tables, claims: list[Claim]) -> list[MeasuredClaim]:
    """Each claim's slope, from the longest line of planned cells along which nothing else changes."""
    return [_measured(tables, claim) for claim in claims]


def _measured(tables: Tables, claim: Claim) -> MeasuredClaim:
    line = _line(tables.cells, claim)
    if line is None:
        return MeasuredClaim(claim, None, reason=f"the plan has no {FEWEST} cells along which only this changes")
    runs = line.select("cell").unique().join(tables.runs, on="cell", maintain_order="left")
    wanted, there = line["cell"].n_unique(), runs["cell"].n_unique()
    if there < wanted:
        return MeasuredClaim(claim, None, reason=f"{wanted - there} of {wanted} cells are not finished")
    astray = runs.height - int(runs["regret"].is_finite().sum())
    if astray:
        return MeasuredClaim(claim, None, wanted, f"{astray} of {runs.height} runs have no finite regret")
    wide = runs.pivot("seed", index=claim.by, values="regret", aggregate_function="first").sort(claim.by)
    by_seed = wide.drop(claim.by)
    positive = sum(mean > 0 for mean in by_seed.mean_horizontal())
    if positive < FEWEST:
        return MeasuredClaim(claim, None, wide.height, f"only {positive} of {wide.height} means are positive")
    return MeasuredClaim(claim, fit_exponent(wide[claim.by].to_numpy(), by_seed.to_numpy()), wide.height)


def _line(cells: pl.DataFrame, claim: Claim) -> pl.DataFrame | None:
    """The planned cells of a claim's line, finished or not; of several as long the first in the plan."""
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
