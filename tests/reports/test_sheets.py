"""Tables as text."""

from __future__ import annotations

import pytest

from tarry.reports.sheets import Sheet, html, latex, markdown, number, share

SHEET = Sheet("one", "One & all", ("setting", "player", "regret"), [("a|b", "C_1", "1,200 ± 12"), ("c", "50%", "–")])


@pytest.mark.parametrize(
    ("mean", "half", "text"),
    [
        (1234.567, 12.3, "1,235 ± 12"),
        (0.123456, 0.0021, "0.1235 ± 0.0021"),
        (5.0, 123.0, "5 ± 123"),
        (2.0, 0.0, "2"),
        (123456.0, None, "123,456"),
        (float("nan"), 1.0, "–"),
        (1.0, float("nan"), "1"),
        (1.0, 1e-30, "1"),
        (-3.21, 0.5, "-3.21 ± 0.50"),
    ],
)
def test_numbers_end_where_their_errors_do(mean, half, text):
    assert number(mean, half) == text


def test_shares():
    assert [share(x) for x in (0.0, 0.0001, 0.5, 1.0, None)] == ["0.0 %", "< 0.1 %", "50.0 %", "100.0 %", "–"]


def test_markdown_escapes_bars():
    lines = markdown([SHEET]).splitlines()
    assert lines[2:5] == ["| setting | player | regret |", "| --- | --- | ---: |", "| a\\|b | C_1 | 1,200 ± 12 |"]


def test_latex_is_booktabs_and_escaped():
    text = latex([SHEET])
    assert "\\begin{tabular}{llr}\n\\toprule\nsetting & player & regret \\\\\n\\midrule" in text
    assert "{}a$|$b & C\\_1 & 1,200 $\\pm$ 12 \\\\\n{}c & 50\\% & -- \\\\\n\\bottomrule" in text
    assert "\\caption{One \\& all}" in text
    assert text.count("{") == text.count("}")
    assert text.isascii()


def test_long_sheets_are_cut_on_pages_only():
    long = Sheet("long", "Long", ("a", "b"), [(str(i), "x") for i in range(10)])
    page = html(long, most=3)
    assert page.count("<tr>") == 4
    assert "7 more rows" in page
    assert markdown([long]).count("| x |") == 10


def test_what_fits_no_page_of_latex_runs_over_several():
    rows = [(str(i), "x") for i in range(41)]
    short, long = (latex([Sheet("long", "Long", ("a", "b"), rows[:n])]) for n in (40, 41))
    assert "longtable}{" not in short
    assert long.count("\\begin{longtable}{ll}") == long.count("\\end{longtable}") == 1
    assert "\\begin{table}" not in long
    assert long.count("a & b \\\\") == 2, "the head is there again on every page"
    assert long.index("\\endfirsthead") < long.index("\\endhead") < long.index("\\endfoot") < long.index("{}0 & x")
    assert long.count("& x \\\\") == 41
    assert long.count("{") == long.count("}")
