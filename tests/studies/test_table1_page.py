"""Table 1's page: every claim is on it, with its slope and its verdict, and nothing is lost where cells are missing."""

from __future__ import annotations

import os

import numpy as np
import pytest

from studies.table1 import MeasuredClaim, claims
from studies.table1_page import save_table1, tables
from tarry.reports.exponents import fit_exponent

pytest.importorskip("vl_convert")

X = np.array([1.0, 10.0, 100.0])


def found(slope):
    return fit_exponent(X, np.stack([X**slope, 1.1 * X**slope], axis=1))


@pytest.fixture
def measured():
    made = [MeasuredClaim(claim, found(claim.exponent), 3) for claim in claims()]
    made[0] = MeasuredClaim(made[0].claim, None, reason="2 of 4 cells are not finished")
    made[1] = made[1]._replace(found=found(0.9))
    made[3] = made[3]._replace(found=made[3].found._replace(high=0.7), played=4)
    return made


def test_every_claim_has_a_line(measured):
    rows = [row for table in tables(measured) for row in table.rows]
    assert len(rows) == len(claims())
    assert rows[0][4:] == ("–", "–", "–", "missing: 2 of 4 cells are not finished")
    assert rows[1][3:5] == ("1/2", "0.90")
    assert rows[1][-1] == "steeper"
    assert rows[2][4] == "0.00"
    assert rows[3][-2:] == ("3 of 4", "ok, wide (upper bound)")
    assert {row[-2] for row in rows[4:]} == {"3"}
    assert {row[-1] for row in rows[4:]} == {"ok", "ok (upper bound)"}


def test_the_page_is_whole(measured, tmp_path):
    page, markdown, latex = save_table1(measured, tmp_path, "python -m studies table1 --quick")
    text = page.read_text(encoding="utf-8")
    assert text.count("<svg") == 1
    assert text.count("<tr>") == len(claims()) + 4
    assert "upper bounds only" in text
    for path in (page, markdown):
        text = path.read_text(encoding="utf-8")
        assert "steeper" in text
        assert "more seeds would tell" in text
        assert f"Of {len(claims())} exponents: {len(claims()) - 3} ok; 1 ok, wide; 1 steeper; 1 missing." in text
    assert latex.read_text(encoding="utf-8").count("\\begin{tabular}") == 4


def test_the_files_are_whole_or_not_there(measured, tmp_path, monkeypatch):
    monkeypatch.setattr("tarry.reports.page.draw", lambda *_, **__: b"<svg></svg>")  # takes longest
    save_table1(measured, tmp_path, "first")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError("the disk is full")))
    with pytest.raises(OSError, match="full"):
        save_table1(measured[1:], tmp_path, "second")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_nothing_measured_is_a_page_without_a_figure(measured, tmp_path):
    page, *_ = save_table1(
        [one._replace(found=None, played=0) for one in measured], tmp_path, "python -m studies table1"
    )
    assert "<svg" not in page.read_text(encoding="utf-8")


def test_one_seed_has_no_interval(measured, tmp_path):
    alone = fit_exponent(X, X[:, None] ** 0.5)
    save_table1([measured[4]._replace(found=alone)], tmp_path, "python -m studies table1")
    (row,) = [row for table in tables([measured[4]._replace(found=alone)]) for row in table.rows]
    assert row[4:6] == ("0.50", "–")
    assert row[-1].startswith("ok, wide")
