"""The revision of cells: the same content gives the same numbers, or another revision."""

from __future__ import annotations

import json

import golden_cells
import pytest
from golden_cells import CELLS, agree, kept, measured
from marking import slow_but

from tarry.experiments.sweep import REVISION

COMPILED = ["DWFTRL, VarOpt", "DWFTRL, Thinning, curved", "recommended, values", "exponential weights, Pareto"]
ADVICE = (
    "the same content gives other numbers: raise REVISION in cells.py and write these anew with "
    "python tests/support/golden_cells.py"
)


@pytest.mark.parametrize("name", CELLS)
def test_numbers_change_with_the_revision_only(name):
    found, before = measured(name), kept()["cells"][name]
    assert agree(found, before), f"{ADVICE} ({name}: {found}, before {before})"


@pytest.mark.jit(only=True)
@pytest.mark.parametrize("name", slow_but(COMPILED, {"DWFTRL, VarOpt", "recommended, values"}))
def test_compiled_numbers_change_with_the_revision_only(name):
    found, before = measured(name), kept()["cells"][name]
    assert agree(found, before), f"{ADVICE} ({name}: {found}, before {before})"


def test_what_is_kept_is_of_this_revision_and_of_these_cells():
    assert kept()["revision"] == REVISION, "write the numbers anew with python tests/support/golden_cells.py"
    assert list(kept()["cells"]) == list(CELLS)
    assert set(COMPILED) <= set(CELLS)


def test_other_numbers_are_not_written_under_the_same_revision(tmp_path, monkeypatch):
    file, name = tmp_path / "kept.json", COMPILED[0]
    numbers = {name: kept()["cells"][name]}
    monkeypatch.setattr(golden_cells, "FILE", file)
    monkeypatch.setattr(golden_cells, "CELLS", {name: None})
    monkeypatch.setattr(golden_cells, "measured", lambda _: {"regret": [1.0], "weight_second_moment": [1.0]})
    file.write_text(json.dumps({"revision": REVISION, "cells": numbers}))
    with pytest.raises(SystemExit, match=f"{name}: other numbers under revision {REVISION}: raise REVISION"):
        golden_cells.main()
    assert kept()["cells"] == numbers
    monkeypatch.setattr(golden_cells, "REVISION", REVISION + 1)
    golden_cells.main()
    assert kept() == {"revision": REVISION + 1, "cells": {name: golden_cells.measured(name)}}
