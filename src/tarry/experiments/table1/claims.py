"""What Table 1 says, exponent by exponent, and on which game each is measured."""

from __future__ import annotations

from typing import NamedTuple

ATTAINED, UPPER = "attained", "upper bound"


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


class Cell(NamedTuple):
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
    Cell(CONVEX, "quanrud2015", "quanrud2015", "√d_tot + √T"),
    Cell(CONVEX, OURS, "this work, convex", "√d_tot + √T"),
    Cell(CONVEX, RECOMMENDED, RECOMMENDED, "√d_tot + √T"),
    Cell(CURVED, "qiu2025", "qiu2025", "min{σ_max ln T, √d_tot} + ln T"),
    Cell(CURVED, OURS, "this work, strongly convex", "(σ_max + 1) ln T"),
    Cell(CURVED, RECOMMENDED, RECOMMENDED, "(σ_max + 1) ln T"),
    Cell(BANDIT, "wan2024", "wan2024", "√(T d_max) + T^(3/4) √k"),
    Cell(BANDIT, "ryabchenko2026", "ryabchenko2026", "√d_tot + T^(3/4) √k"),
    Cell(BANDIT, OURS, "this work, convex, values", "√(T σ_max) + T^(3/4) (1 + σ_max/C)^(1/4) √k"),
    Cell(BANDIT, RECOMMENDED, RECOMMENDED, "√(T σ_max) + T^(3/4) (1 + σ_max/C)^(1/4) √k"),
    Cell(BANDIT_CURVED, "wan2024", "wan2024, strongly convex", "d_max + T^(2/3) k^(2/3)"),
    Cell(BANDIT_CURVED, "ryabchenko2026", "ryabchenko2026, strongly convex", "σ_max + T^(2/3) k^(2/3)"),
    Cell(BANDIT_CURVED, OURS, "this work, strongly convex, values", "σ_max + T^(2/3) (1 + σ_max/C)^(1/3) k^(2/3)"),
    Cell(BANDIT_CURVED, RECOMMENDED, RECOMMENDED, "σ_max + T^(2/3) (1 + σ_max/C)^(1/3) k^(2/3)"),
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


def _named(cell: Cell, by: str) -> str:
    return DELAYS.get((cell.row, cell.column), by) if by == "max_backlog" else by
