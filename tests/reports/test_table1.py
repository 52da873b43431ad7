"""Table 1's page: every claim is on it, with its slope and its verdict, and nothing is lost where cells are missing."""

from __future__ import annotations

import numpy as np
import pytest

from tarry.experiments.table1 import Measured, claims
from tarry.reports.table1 import save_table1, sheets
from tarry.results.exponents import fit_exponent

pytest.importorskip("vl_convert")

X = np.array([1.0, 10.0, 100.0])


def found(slope):
    return fit_exponent(X, np.stack([X**slope, 1.1 * X**slope], axis=1))


@pytest.fixture
def measured():
    made = [Measured(claim, found(claim.exponent)) for claim in claims()]
    return [made[0]._replace(found=None), made[1]._replace(found=found(0.9)), *made[2:]]


def test_every_claim_has_a_line(measured):
    rows = [row for sheet in sheets(measured) for row in sheet.rows]
    assert len(rows) == len(claims())
    assert rows[0][4:] == ("–", "–", "missing")
    assert rows[1][3:5] == ("1/2", "0.90")
    assert rows[1][-1] == "steeper"
    assert {row[-1] for row in rows[2:]} == {"ok", "ok (upper bound)"}
    assert rows[2][4] == "0.00"


def test_the_page_is_whole(measured, tmp_path):
    page, markdown, latex = save_table1(measured, tmp_path, "tarry table1 --quick")
    text = page.read_text(encoding="utf-8")
    assert text.count("<svg") == 1
    assert text.count("<tr>") == len(claims()) + 4
    assert "upper bounds only" in text
    assert "steeper" in markdown.read_text(encoding="utf-8")
    assert latex.read_text(encoding="utf-8").count("\\begin{tabular}") == 4
