"""Every public formula is used by the library or a study; every formula the page names is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tarry
from tarry import theory
from tests.oracles import theory as everything
from tests.test_first_version import FORMER

SOURCE = Path(tarry.__file__).parent
ROOT = SOURCE.parents[1]
PAGE = ROOT / "docs" / "theory.md"

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="installed without its documentation")


def test_no_formula_is_for_nobody():
    others = [path for path in SOURCE.rglob("*.py") if path != SOURCE / "theory" / "__init__.py"]
    texts = [path.read_text(encoding="utf-8") for path in (*others, *(ROOT / "studies").glob("*.py"))]
    forgotten = []
    for name in theory.__all__:
        uses = re.compile(rf"(?<!def )\b{name}\b")
        if not any(uses.search(text) and f"def {name}(" not in text for text in texts):
            forgotten.append(name)
    assert forgotten == []


def test_the_page_names_formulas_that_exist():
    section = PAGE.read_text(encoding="utf-8").split("**Further functions of", 1)[1].split("\n## ", 1)[0]
    named = re.findall(r"`([a-z]+(?:_[a-z0-9]+)+)`", section)
    assert len(named) > 20
    assert [name for name in named if not hasattr(everything, name)] == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.stem)
def test_no_page_names_a_formula_by_its_former_name(page):
    former = {name for name, now in FORMER["tarry.theory"].items() if not now.endswith(f".{name}")}
    assert former & set(re.findall(r"`(?:tarry\.)?(?:theory\.)?([a-z_]+)", page.read_text(encoding="utf-8"))) == set()
