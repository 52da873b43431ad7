"""Every public formula is used by the library or named in its documentation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tarry
from tarry import theory

SOURCE = Path(tarry.__file__).parent
DOCS = SOURCE.parents[1] / "docs" / "theory.md"


@pytest.mark.skipif(not DOCS.exists(), reason="installed without its documentation")
def test_no_formula_is_for_nobody():
    named = set(re.findall(r"`(\w+)", DOCS.read_text(encoding="utf-8")))
    others = [path for path in SOURCE.rglob("*.py") if path != SOURCE / "theory" / "__init__.py"]
    texts = [path.read_text(encoding="utf-8") for path in others]
    forgotten = []
    for name in set(theory.__all__) - named:
        uses = re.compile(rf"(?<!def )\b{name}\b")
        if not any(uses.search(text) and f"def {name}(" not in text for text in texts):
            forgotten.append(name)
    assert forgotten == []
