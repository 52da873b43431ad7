"""Table 1: every cell has its claims and its games, and slopes are taken along the right lines."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from studies.table1 import ATTAINED, CELLS, FINE, FULL, QUICK, UPPER, Claim, MeasuredClaim, claims, measure
from tarry.experiments import Folder, Tables, load_sweep, run_sweep
from tarry.reports.exponents import fit_exponent

# The paper's table as printed, both halves: its columns, and for each row the rates of these, "NA" where there is none.
PAPER = {
    "OCO": (
        ("quanrud2015", "qiu2025", "this work"),
        {
            "convex": ("√d_tot + √T", "NA", "√d_tot + √T"),
            "strongly convex": ("NA", "min{σ_max ln T, √d_tot} + ln T", "(σ_max + 1) ln T"),
        },
    ),
    "BCO": (
        ("wan2024", "ryabchenko2026", "this work"),
        {
            "convex": (
                "√(T d_max) + T^(3/4) √k",
                "√d_tot + T^(3/4) √k",
                "√(T σ_max) + T^(3/4) (1 + σ_max/C)^(1/4) √k",
            ),
            "strongly convex": (
                "d_max + T^(2/3) k^(2/3)",
                "σ_max + T^(2/3) k^(2/3)",
                "σ_max + T^(2/3) (1 + σ_max/C)^(1/3) k^(2/3)",
            ),
        },
    ),
}
RATES = {
    (f"{half}, {row}", column): rate
    for half, (columns, rows) in PAPER.items()
    for row, rates in rows.items()
    for column, rate in zip(columns, rates, strict=True)
    if rate != "NA"
}
# What the rates are powers of, in the regime that is measured; capacity only where the rate is one with a capacity.
EXPONENTS = {
    ("OCO, convex", "quanrud2015"): {"horizon": 1 / 2, "total_delay": 1 / 2, "dimension": 0},
    ("OCO, convex", "this work"): {"horizon": 1 / 2, "total_delay": 1 / 2, "capacity": 0, "dimension": 0},
    ("OCO, strongly convex", "qiu2025"): {"horizon": 0, "max_backlog": 1, "dimension": 0},
    ("OCO, strongly convex", "this work"): {"horizon": 0, "max_backlog": 1, "capacity": 0, "dimension": 0},
    ("BCO, convex", "wan2024"): {"horizon": 3 / 4, "max_delay": 1 / 2, "dimension": 1 / 2},
    ("BCO, convex", "ryabchenko2026"): {"horizon": 3 / 4, "total_delay": 1 / 2, "dimension": 1 / 2},
    ("BCO, convex", "this work"): {"horizon": 3 / 4, "max_backlog": 1 / 2, "capacity": -1 / 4, "dimension": 1 / 2},
    ("BCO, strongly convex", "wan2024"): {"horizon": 2 / 3, "max_delay": 1, "dimension": 2 / 3},
    ("BCO, strongly convex", "ryabchenko2026"): {"horizon": 2 / 3, "max_backlog": 1, "dimension": 2 / 3},
    ("BCO, strongly convex", "this work"): {
        "horizon": 2 / 3,
        "max_backlog": 1,
        "capacity": -1 / 3,
        "dimension": 2 / 3,
    },
}


def test_every_row_and_column_of_the_paper_is_here():
    mine = {(cell.row, cell.column): cell.rate for cell in CELLS if cell.column != "recommended"}
    assert mine == RATES
    rows = {row for row, _ in RATES}
    assert {(row, "recommended") for row in rows} == {(c.row, c.column) for c in CELLS} - set(RATES)
    claimed = {(claim.row, claim.column) for claim in claims()}
    assert claimed == {(cell.row, cell.column) for cell in CELLS}


@pytest.mark.parametrize("place", RATES)
def test_the_exponents_are_the_papers(place):
    found = {c.by: c.exponent for c in claims() if (c.row, c.column) == place and c.kind == ATTAINED}
    assert found == EXPONENTS[place]


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


CLAIM = Claim("row", "column", "horizon", 0.5, "p", "g", ATTAINED)
PLACES = [(10, 8), (100, 8), (1000, 8), (100, 16), (100, 32)]


def made_up(power, places=PLACES):
    """Runs of one player along T at one capacity, and along C at one T."""
    told = pl.DataFrame([{"cell": f"{t}-{c}", "horizon": t, "capacity": c, "dimension": 1} for t, c in places])
    rows = [
        {"cell": f"{t}-{c}", "seed": s, "horizon": t, "capacity": c, "dimension": 1, "max_backlog": 4}
        | {"total_delay": 4 * t, "max_delay": 4, "regret": (t**power) * (1 + 0.01 * s) * (2.0 if c == 8 else 1.0)}
        for t, c in places
        for s in range(3)
    ]
    cells = told.with_columns(game=pl.lit("g"), player=pl.lit("p"), axis_delay=pl.lit(4))
    return Tables(cells, pl.DataFrame(rows), pl.DataFrame())


def changed(tables, where, regret):
    """The tables with another regret in some runs."""
    return tables._replace(runs=tables.runs.with_columns(regret=pl.when(where).then(regret).otherwise("regret")))


def test_a_slope_is_that_of_the_longest_line():
    found = measure(made_up(0.6), [CLAIM])[0]
    assert found.found is not None
    assert (found.found.points, found.played) == (3, 3)
    assert found.found.slope == pytest.approx(0.6)


def test_of_lines_as_long_the_first_is_taken_every_time():
    places = [(t, c) for c in (16, 8, 32, 64) for t in (10, 100, 1000)]
    tables = made_up(0.6, places)
    steep = changed(tables, pl.col("capacity") != 16, pl.col("horizon").cast(float))
    slopes = {measure(steep, [CLAIM])[0].found.slope for _ in range(20)}
    assert max(slopes) == min(slopes) == pytest.approx(0.6)


def test_a_game_without_delay_is_on_no_line_along_delays():
    places = [(100, delay) for delay in (0, 1, 4, 16)]
    rows = [
        {"cell": f"{d}", "seed": s, "horizon": t, "capacity": 8, "dimension": 1, "max_backlog": d, "max_delay": d}
        | {"total_delay": d * t, "regret": (1 + d) ** 0.5 * (1 + 0.01 * s)}
        for t, d in places
        for s in range(3)
    ]
    told = {"horizon": 100, "capacity": 8, "dimension": 1, "game": "g", "player": "p"}
    cells = pl.DataFrame([{"cell": f"{d}", "axis_delay": d} | told for _, d in places])
    found = measure(Tables(cells, pl.DataFrame(rows), pl.DataFrame()), [CLAIM._replace(by="total_delay")])[0]
    assert (found.found.points, found.played) == (3, 3)


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_runs_without_a_finite_regret_are_never_ok(value):
    astray = (pl.col("cell") == "100-8") & (pl.col("seed") == 1)
    found = measure(changed(made_up(0.5), astray, value), [CLAIM])[0]
    assert (found.verdict, found.reason) == ("undecided", "1 of 9 runs have no finite regret")
    odd = MeasuredClaim(CLAIM, measure(made_up(0.5), [CLAIM])[0].found._replace(slope=value), 3)
    assert odd.verdict == "undecided"


def test_a_line_that_is_not_finished_is_missing():
    """Without the last of four cells the others lie on the very line, and are not judged."""
    tables = made_up(0.5, [(10, 8), (100, 8), (1000, 8), (10_000, 8)])
    part = tables._replace(runs=tables.runs.filter(pl.col("cell") != "10000-8"))
    found = measure(part, [CLAIM])[0]
    assert (found.verdict, found.reason) == ("missing", "1 of 4 cells are not finished")
    empty = measure(tables._replace(runs=tables.runs.clear()), [CLAIM])[0]
    assert empty.reason == "4 of 4 cells are not finished"
    other = measure(tables, [CLAIM._replace(game="elsewhere")])[0]
    assert other.verdict == "missing"
    assert "no 3 cells" in other.reason


@pytest.mark.parametrize(("positive", "verdict"), [(4, "ok"), (3, "ok"), (2, "undecided"), (1, "undecided")])
def test_a_slope_takes_three_positive_means(positive, verdict):
    tables = made_up(0.5, [(10, 8), (100, 8), (1000, 8), (10_000, 8)])
    found = measure(changed(tables, pl.col("horizon") > 10**positive, -1.0), [CLAIM])[0]
    assert found.verdict == verdict
    assert found.played == 4
    if positive < 3:
        assert found.reason == f"only {positive} of 4 means are positive"
    else:
        assert found.found.points == positive


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
    claim = CLAIM._replace(kind=kind)
    assert MeasuredClaim(claim, found, 3).verdict == verdict
    assert MeasuredClaim(claim, None).verdict == "missing"


@pytest.mark.parametrize(
    ("low", "high", "kind", "verdict"),
    [
        (0.41, 0.59, ATTAINED, "ok"),
        (0.39, 0.55, ATTAINED, "ok, wide"),
        (0.45, 0.61, ATTAINED, "ok, wide"),
        (0.10, 0.59, UPPER, "ok"),
        (0.10, 0.61, UPPER, "ok, wide"),
        (float("nan"), float("nan"), UPPER, "ok, wide"),
    ],
)
def test_an_interval_across_a_fence_is_told(low, high, kind, verdict):
    found = fit_exponent([1.0, 10.0, 100.0], [[1.0], [10**0.5], [10.0]])._replace(low=low, high=high)
    measured = MeasuredClaim(CLAIM._replace(kind=kind), found, 3)
    assert measured.verdict == verdict
    assert measured.verdict in FINE


SMALL = """
include = ["{base}"]
seeds = 4
[[blocks]]
games = ["cone"]
players = ["this work, convex, values", "ryabchenko2026"]
axes = {{ horizon = [1024, 4096, 16384], capacity = [64] }}
points = [{{ dimension = 2, delay = 0 }}]
"""


@pytest.mark.slow
@pytest.mark.jit(only=True)
def test_the_cone_attains_three_quarters(tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(SMALL.format(base=QUICK.parent / "table1_base.toml"), encoding="utf-8")
    folder = Folder(tmp_path / "results")
    assert not run_sweep(load_sweep(file), folder).failed
    wanted = [c for c in claims() if c.game == "cone" and c.by == "horizon" and "2024" not in c.player]
    found = [m for m in measure(folder.tables(), wanted) if m.found is not None]
    assert {m.claim.column for m in found} == {"this work", "ryabchenko2026"}
    assert all(m.verdict in FINE for m in found)
