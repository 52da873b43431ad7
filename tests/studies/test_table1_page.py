"""Table 1's page and command: everybody's slope is on it; the exit code says whether every line is as it should be."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path

import pytest
from typer.testing import CliRunner

from studies import table1_page
from studies.__main__ import app
from studies.table1 import EVIDENCE, LOWER, NO_EVIDENCE, MeasuredLine, Slope, lines
from studies.table1_games import COLUMNS, CONTROLS, PLAYER
from studies.table1_page import NOT_SHOWN, save_table1, shown, tables, told

pytest.importorskip("vl_convert")


def slope(at, half=0.02):
    return Slope(at, at - half, at + half, 8)


def planted(line):
    """The line as it should come out: the player at its claim, the controls far from it."""
    return MeasuredLine(line, {PLAYER: slope(line.claim)} | dict.fromkeys(CONTROLS, slope(line.claim + 0.5)))


@pytest.fixture(scope="module")
def measured():
    # Shorter games: what is on the page does not depend on their length, and their facts take time.
    short = [
        line._replace(settings=tuple(at._replace(horizon=at.horizon // 8) for at in line.settings)) for line in lines()
    ]
    made = [planted(line) for line in short]
    made[0] = made[0]._replace(slopes=made[0].slopes | {"never moves": slope(made[0].line.claim)})
    made[1] = made[1]._replace(slopes=made[1].slopes | {PLAYER: slope(0.9)})
    made[2] = made[2]._replace(slopes=made[2].slopes | {"rate × 30": Slope(*[float("nan")] * 3, 8, "none")})
    return pickle.loads(pickle.dumps(made))  # as lines come from the processes that play them


def test_every_line_stands_with_its_controls(measured):
    counted, *rest = tables(measured)
    by_row = [table for table in rest if "verdict" in table.columns]
    rows = [row for table in by_row for row in table.rows]
    assert len(rows) == len(measured)
    assert rows[0][2:4] == ("2,048 to 32,768", "5"), "range and points"
    assert rows[0][4] == "no evidence: never moves"
    assert rows[1][6] == "0.90 ± 0.02"
    assert rows[1][4] == "steeper"
    assert rows[2][9] == "–"
    assert {row[4] for row in by_row[-1].rows} == {"holds for everybody"}
    assert len(counted.rows) == len(COLUMNS)
    assert sum(int(row[2]) for row in counted.rows) == sum(one.line.kind != LOWER for one in measured)
    assert sum(int(row[3]) for row in counted.rows) == sum(one.verdict == EVIDENCE for one in measured)
    assert {row[-1] for row in counted.rows} == {"0"}


def test_lines_are_kept_for_the_pages_by_row_column_and_name(measured):
    kept = shown(measured)
    assert kept["found"] == told(measured)
    line = kept["OCO, convex"]["after quanrud2015, our constants"]["d_tot"]
    assert (line["slope"], line["verdict"]) == (0.9, "steeper")
    columns = [column for row in set(kept) - {"found", "evidence", "controls"} for column in kept[row].values()]
    assert sum(map(len, columns)) == len(measured)


def test_bounds_are_rounded_outwards(measured):
    own, control = slope(0.5)._replace(level=(0.4, 0.5704)), slope(0.9237)._replace(level=(1.38, 1.5))
    slopes = {PLAYER: own} | dict.fromkeys(CONTROLS, control)
    kept = shown([one._replace(slopes=slopes) for one in measured])
    assert kept["OCO, convex"]["nothing known"]["C"]["level"] == 58
    assert kept["controls"]["OCO, convex"] == {"fast": [0.92, 0.93], "above": 10, "of": 10, "least at one T": 1.3}


def test_the_page_is_whole(measured, tmp_path):
    page, markdown, latex, figures = save_table1(measured, tmp_path / "new", "python -m studies table1 --quick")
    text = page.read_text(encoding="utf-8")
    assert text.count("<svg") == 1
    assert "Not shown" in text
    assert "no success" in text
    for path in (page, markdown):
        assert told(measured) in path.read_text(encoding="utf-8")
    assert latex.read_text(encoding="utf-8").count("\\begin{tabular}") == 7
    plain = json.loads(figures.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert len(plain) == len(measured)
    assert set(plain[0]["slopes"]) == {PLAYER, *CONTROLS}
    assert plain[2]["slopes"]["rate × 30"]["slope"] is None


VALUES = "BCO, convex", "BCO, strongly convex"
CLAIMS = {
    # Every term of the paper's Table 1: its row; the column and quantity of a line that shows it, or its place among
    # what is not shown.
    ("OCO, convex", "√d_tot"): ("the paper, calibrated", "d_tot"),
    ("OCO, convex", "√T"): ("the paper, calibrated", "T"),
    ("OCO, convex", "C = Ω(ln T)"): ("the paper, calibrated", "C"),
    ("OCO, convex", "√d_tot, quanrud2015"): ("after quanrud2015, our constants", "d_tot"),
    ("OCO, convex", "√T, quanrud2015"): ("after quanrud2015, our constants", "T"),
    ("OCO, strongly convex", "σ_max ln T, qiu2025"): ("after qiu2025, our form", "harmonic"),
    ("OCO, strongly convex", "√d_tot, qiu2025"): "√d_tot of min",
    ("OCO, strongly convex", "ln T, qiu2025"): ("after qiu2025, our form", "T"),
    ("OCO, strongly convex", "(σ_max + 1) ln T"): ("the paper, calibrated", "harmonic"),
    ("OCO, strongly convex", "C = Ω(ln T)"): ("the paper, calibrated", "C"),
    (VALUES[0], "√(T d_max)"): "√(T d_max)",
    (VALUES[0], "√d_tot"): "√d_tot, √(T σ_max)",
    (VALUES[0], "√(T σ_max)"): "√(T σ_max), d_max",
    (VALUES[0], "T^(3/4), wan2024"): ("after wan2024, our reconstruction", "T"),
    (VALUES[0], "T^(3/4), ryabchenko2026"): "T^(3/4) of ryabchenko2026",
    (VALUES[0], "T^(3/4)"): ("the paper, calibrated", "T"),
    (VALUES[0], "(1 + σ_max/C)^(1/4)"): ("the paper, as printed", "crowding"),
    (VALUES[0], "√k"): "√k and k^(2/3)",
    (VALUES[1], "d_max"): "d_max, σ_max from values",
    (VALUES[1], "σ_max"): "d_max, σ_max from values",
    (VALUES[1], "T^(2/3)"): "T^(2/3) from values, strongly convex",
    (VALUES[1], "(1 + σ_max/C)^(1/3)"): "(1 + σ_max/C)^(1/3) from values",
    (VALUES[1], "k^(2/3)"): "√k and k^(2/3)",
}


@pytest.mark.parametrize(("row", "term"), CLAIMS)
def test_each_claim_of_the_paper_is_shown_or_listed_as_not_shown(row, term):
    place = CLAIMS[row, term]
    if isinstance(place, str):
        assert any(place in claim for claim, _ in NOT_SHOWN)
        return
    found = [line for line in lines() if line.column[:2] == (row, place[0]) and line.along == place[1]]
    assert found
    document = json.loads((Path(__file__).parents[2] / "docs" / "figures.json").read_text(encoding="utf-8"))
    values = document["table1 quick"]["values"][row][place[0]]
    assert values[place[1]]["verdict"] == EVIDENCE


def test_the_document_has_the_papers_own_tables():
    """Formulas as the paper's source prints them, row by row."""
    document = (Path(__file__).parents[2] / "docs" / "table1.md").read_text(encoding="utf-8")
    for row in (
        "| convex | √d_tot + √T | – | √d_tot + √T |",
        "| strongly convex | – | min{σ_max ln T, √d_tot} + ln T | (σ_max + 1) ln T |",
        "| convex | √(T d_max) + T^(3/4)√k | √d_tot + T^(3/4)√k | √(T σ_max) + T^(3/4)(1 + σ_max/C)^(1/4)√k |",
        "| strongly convex | d_max + T^(2/3)k^(2/3) | σ_max + T^(2/3)k^(2/3) "
        "| σ_max + T^(2/3)(1 + σ_max/C)^(1/3)k^(2/3) |",
    ):
        assert row in document


def test_the_document_lists_what_is_not_shown():
    document = (Path(__file__).parents[2] / "docs" / "table1.md").read_text(encoding="utf-8")
    for claim, why in NOT_SHOWN:
        assert f"| {claim} | {why} |" in document


def test_the_files_are_whole_or_not_there(measured, tmp_path, monkeypatch):
    monkeypatch.setattr("tarry.reports.page.draw", lambda *_, **__: b"<svg></svg>")  # takes longest
    save_table1(measured, tmp_path, "first")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError("the disk is full")))
    with pytest.raises(OSError, match="full"):
        save_table1(measured[1:], tmp_path, "second")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def play(monkeypatch, made, tmp_path, *options):
    monkeypatch.setattr(table1_page, "measure", lambda *_: made)
    return CliRunner().invoke(app, ["table1", "--quick", "--results", str(tmp_path / "out"), *options])


def test_the_exit_code_asks_for_evidence_on_every_line(measured, monkeypatch, tmp_path):
    good = [one for one in measured if one.verdict == EVIDENCE or one.line.kind == LOWER]
    done = play(monkeypatch, good, tmp_path)
    assert done.exit_code == 0, done.output
    assert {path.suffix for path in (tmp_path / "out").iterdir()} == {".html", ".md", ".tex", ".json"}
    passed = next(one for one in measured if one.verdict == NO_EVIDENCE)
    for bad in (passed, measured[1]):
        assert play(monkeypatch, [*good, bad], tmp_path).exit_code == 1


def test_as_json(measured, monkeypatch, tmp_path):
    done = play(monkeypatch, measured, tmp_path, "--format", "json")
    assert [one["verdict"] for one in json.loads(done.stdout)] == [one.verdict for one in measured]


def test_the_command_plays(monkeypatch, tmp_path):
    """One short line, played for true."""
    line = lines()[0]
    short = line._replace(
        settings=tuple(at._replace(horizon=n, spell=4) for at, n in zip(line.settings, (32, 48, 64), strict=False))
    )
    monkeypatch.setattr(table1_page, "lines", lambda _scale: [short])
    monkeypatch.setattr(table1_page, "QUICK_SEEDS", 8)
    done = CliRunner().invoke(app, ["table1", "--quick", "--results", str(tmp_path)])
    assert done.exit_code in (0, 1), done.output
    assert "Of 1 lines:" in done.stdout
