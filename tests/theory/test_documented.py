"""Every public formula is used by the library, a study or the paper's page; every formula the page names is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tarry
from tarry import theory
from tests.oracles import theory as everything

SOURCE = Path(tarry.__file__).parent
ROOT = SOURCE.parents[1]
PAGE = ROOT / "docs" / "theory.md"

POINTER = re.compile(r"`((?:tests/)?[a-z]+/\w+\.py|tests/\w+/\w+\.py)`((?:: (?:`\w+`(?:, )?)+)?)")  # a file: its names

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="installed without its documentation")


def test_no_formula_is_for_nobody():
    others = [path for path in SOURCE.rglob("*.py") if path != SOURCE / "theory" / "__init__.py"]
    others += [*(ROOT / "studies").glob("*.py"), ROOT / "docs" / "paper.md"]
    texts = [path.read_text(encoding="utf-8") for path in others]
    forgotten = []
    for name in theory.__all__:
        uses = re.compile(rf"(?<!def )\b{name}\b")
        if not any(uses.search(text) and f"def {name}(" not in text for text in texts):
            forgotten.append(name)
    assert forgotten == []


def test_the_page_names_formulas_that_exist():
    """All over the page, code pointers aside: they are the next test's."""
    prose = "\n".join(line for line in PAGE.read_text(encoding="utf-8").splitlines() if not POINTER.search(line))
    named = set(re.findall(r"`([a-z]+(?:_[a-z0-9]+)+)[`(]", prose))
    homes = (everything, tarry.rates, tarry.players, tarry.outcomes.Certificate)
    assert len(named) > 40
    assert sorted(name for name in named if not any(hasattr(home, name) for home in homes)) == []


def test_the_code_of_the_theorem_is_where_the_page_says():
    found = 0
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        for place in POINTER.finditer(line):
            path = ROOT / place[1] if place[1].startswith("tests/") else SOURCE / place[1]
            text = path.read_text(encoding="utf-8")
            for name in re.findall(r"`(\w+)`", place[2]):
                assert re.search(rf"\b{name}\b", text), (place[1], name)
                found += 1
    assert found > 12


def test_the_page_has_the_theorems_and_rows_that_others_cite():
    page = PAGE.read_text(encoding="utf-8")
    theorems, rows = set(re.findall(r"\*\*Theorem (\d)", page)), set(re.findall(r"^\| (\w+) \|", page, re.MULTILINE))
    others = [path for path in (ROOT / "docs").glob("*.md") if path != PAGE]
    paths = [*SOURCE.rglob("*.py"), *(ROOT / "tests").rglob("*.py"), *others]
    cited = {number for path in paths for number in re.findall(r"\b[Tt]heorem (\d)", path.read_text(encoding="utf-8"))}
    assert {"1", "4", "5", "7"} <= cited <= theorems
    texts = [path.read_text(encoding="utf-8") for path in (SOURCE / "players").glob("*.py")]
    numbers = {number for text in texts for number in re.findall(r"\brow[ =](\d+)", text)}
    choices = [line for text in texts for line in re.findall(r"\brow = (.*)", text)]
    numbers |= {number for line in choices for number in re.findall(r"\b\d\d\b", line)}
    assert {"6", "16", "18", "19", "21", "26", "27"} <= numbers <= rows
    assert re.search(r"\*\*\(b\)\*\* \*Neither T nor delays known", page), "players say Theorem 1b of convex losses"
    assert re.search(r"\*\*\(c\)\*\* \*λ known", page), "players say Theorem 1c of strongly convex losses"
