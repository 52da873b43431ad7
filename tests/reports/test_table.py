"""Tables as text."""

from __future__ import annotations

import re

import pytest
from rich.console import Console

from tarry.outcomes import number
from tarry.reports.page import Page
from tarry.reports.table import Table, latex, markdown, share

WORDS = ("setting", "player")
TABLE = Table("One & all", (*WORDS, "regret"), [("a|b", "C_1", "1,200 ± 12"), ("c", "[50%]", "–")], text=WORDS)


def plain(text):
    """Without the spaces that line columns up."""
    return re.sub(" +", " ", text)


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
    title, _, head, rule, first, *_ = plain(markdown([TABLE])).splitlines()
    assert (title, head, first) == ("## One & all", "| setting | player | regret |", "| a\\|b | C_1 | 1,200 ± 12 |")
    assert re.fullmatch(r"\|:-+\|:-+\|-+:\|", rule)


def test_latex_is_booktabs_and_escaped():
    text = plain(latex([TABLE]))
    assert "\\begin{tabular}{llr}\n\\toprule\nsetting & player & regret \\\\\n\\midrule" in text
    assert "{}a$|$b & C\\_1 & 1,200 $\\pm$ 12 \\\\\n{}c & [50\\%] & -- \\\\\n\\bottomrule" in text
    assert "\\caption{One \\& all}" in text
    assert text.count("{") == text.count("}")
    assert text.isascii()


def test_html_is_escaped_and_figures_stand_right():
    text = plain(TABLE._replace(rows=[("a<b>", "x", "1")]).html())
    assert "<td>a&lt;b&gt; </td>" in text
    assert text.count('style="text-align: right;"') == 2


def test_the_terminal_shows_brackets_as_they_are():
    console = Console(width=60)
    with console.capture() as shown:
        console.print(TABLE.rich())
    assert "[50%]" in shown.get()


def test_an_empty_table_has_its_head():
    empty = TABLE._replace(rows=[])
    for text in (empty.html(), empty.markdown(), empty.latex()):
        assert "regret" in text


def test_long_tables_are_cut_on_pages_only():
    long = Table("Long", ("a", "b"), [(str(i), "x") for i in range(130)])
    page = Page("A page", parts=[long]).html()
    assert page.count("<tr>") == 121
    assert "10 more rows" in page
    assert plain(markdown([long])).count("| x |") == 130


def test_what_fits_no_page_of_latex_runs_over_several():
    rows = [(str(i), "x") for i in range(41)]
    short, long = (plain(latex([Table("Long", ("a", "b"), rows[:n], text=("a", "b"))])) for n in (40, 41))
    assert "longtable}{" not in short
    assert long.count("\\begin{longtable}{ll}") == long.count("\\end{longtable}") == 1
    assert "\\begin{table}" not in long
    assert long.count("a & b \\\\") == 2, "the head is there again on every page"
    assert long.index("\\endfirsthead") < long.index("\\endhead") < long.index("\\endfoot") < long.index("{}0 & x")
    assert long.count("& x \\\\") == 41
    assert long.count("{") == long.count("}")
