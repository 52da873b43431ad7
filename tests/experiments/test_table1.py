"""Table 1: every cell has its claims and its games, and slopes are taken along the right lines."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from tarry.experiments import Folder, load_sweep, run_sweep
from tarry.experiments.collect import Tables
from tarry.experiments.table1 import CELLS, FULL, QUICK, Measured, claims, measure
from tarry.experiments.table1.claims import ATTAINED, UPPER, Claim
from tarry.results.exponents import fit_exponent

PAPER = {
    ("OCO, convex", "this work"): {"horizon": 1 / 2, "total_delay": 1 / 2, "capacity": 0, "dimension": 0},
    ("OCO, strongly convex", "this work"): {"horizon": 0, "max_backlog": 1, "capacity": 0, "dimension": 0},
    ("BCO, convex", "this work"): {"horizon": 3 / 4, "max_backlog": 1 / 2, "capacity": -1 / 4, "dimension": 1 / 2},
    ("BCO, convex", "wan2024"): {"horizon": 3 / 4, "max_delay": 1 / 2, "dimension": 1 / 2},
    ("BCO, convex", "ryabchenko2026"): {"horizon": 3 / 4, "total_delay": 1 / 2, "dimension": 1 / 2},
    ("BCO, strongly convex", "this work"): {
        "horizon": 2 / 3,
        "max_backlog": 1,
        "capacity": -1 / 3,
        "dimension": 2 / 3,
    },
}


@pytest.mark.parametrize("place", PAPER)
def test_the_exponents_are_the_papers(place):
    found = {c.by: c.exponent for c in claims() if (c.row, c.column) == place and c.kind == ATTAINED}
    assert found == PAPER[place]


def test_every_cell_of_the_table_is_measured_in_every_quantity():
    for cell in CELLS:
        mine = [c for c in claims() if (c.row, c.column) == (cell.row, cell.column)]
        attained = {c.by for c in mine if c.kind == ATTAINED}
        assert {"horizon", "dimension"} < attained
        assert len(attained) == 3 + ("capacity" in attained)
        assert any(c.kind == UPPER for c in mine)
        assert {c.player for c in mine} == {cell.player}


@pytest.mark.parametrize("file", [QUICK, FULL])
def test_every_claim_has_a_line_of_cells(file):
    """The sweep holds, for each claim, three cells or more along which only one thing changes."""
    sweep = load_sweep(file)
    keys = {"horizon": "horizon", "dimension": "dimension", "capacity": "capacity"}
    for claim in claims():
        mine = [
            c.columns for c in sweep.cells if (c.columns["game"], c.columns["player"]) == (claim.game, claim.player)
        ]
        lines: dict[tuple[object, ...], set[object]] = {}
        for columns in mine:
            told = {"horizon": columns["horizon"], "dimension": columns["dimension"], "capacity": columns["capacity"]}
            delay = columns["axes"]["delay"]
            by = keys.get(claim.by, "delay")
            at = delay if by == "delay" else told.pop(by)
            key = (*told.items(), () if by == "delay" else delay)
            lines.setdefault(key, set()).add(at)
        assert max(map(len, lines.values()), default=0) >= 3, claim


def _made_up(power: float) -> Tables:
    """Runs of one player along T at two capacities, and along C at one T."""
    rows = [
        {"cell": f"{t}-{c}", "seed": s, "horizon": t, "capacity": c, "dimension": 1, "max_backlog": 4}
        | {"total_delay": 4 * t, "max_delay": 4, "regret": (t**power) * (1 + 0.01 * s) * (2.0 if c == 8 else 1.0)}
        for t, c in [(10, 8), (100, 8), (1000, 8), (100, 16), (100, 32)]
        for s in range(3)
    ]
    runs = pl.DataFrame(rows)
    cells = runs.select("cell").unique().with_columns(game=pl.lit("g"), player=pl.lit("p"), axis_delay=pl.lit(4))
    return Tables(cells, runs, pl.DataFrame())


def test_a_slope_is_that_of_the_longest_line():
    found = measure(_made_up(0.6), [Claim("row", "column", "horizon", 0.5, "p", "g", ATTAINED)])[0]
    assert found.found is not None
    assert found.found.points == 3
    assert found.found.slope == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("slope", "kind", "verdict"),
    [
        (0.62, UPPER, "steeper"),
        (0.58, UPPER, "ok"),
        (0.2, UPPER, "ok"),
        (0.38, ATTAINED, "flatter"),
        (0.45, ATTAINED, "ok"),
    ],
)
def test_verdicts(slope, kind, verdict):
    x = np.array([1.0, 10.0, 100.0])
    found = fit_exponent(x, np.stack([x**slope] * 2, axis=1))
    assert Measured(Claim("row", "column", "horizon", 0.5, "p", "g", kind), found).verdict == verdict
    assert Measured(Claim("row", "column", "horizon", 0.5, "p", "g", kind), None).verdict == "missing"


SMALL = """
include = ["{base}"]
seeds = 4
[[blocks]]
games = ["cone"]
players = ["this work, convex, values", "ryabchenko2026"]
axes = {{ horizon = [1024, 4096, 16384], capacity = [64] }}
points = [{{ dimension = 2, delay = 0 }}]
"""


@pytest.mark.compiled
def test_the_cone_attains_three_quarters(tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(SMALL.format(base=QUICK.parent / "base.toml"), encoding="utf-8")
    folder = Folder(tmp_path / "results")
    assert not run_sweep(load_sweep(file), folder).failed
    wanted = [c for c in claims() if c.game == "cone" and c.by == "horizon" and "2024" not in c.player]
    found = [m for m in measure(folder.tables(), wanted) if m.found is not None]
    assert {m.claim.column for m in found} == {"this work", "ryabchenko2026"}
    assert [m.verdict for m in found] == ["ok", "ok"]
