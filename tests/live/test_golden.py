"""What was written in a format is read in it: a snapshot of every kind of decision goes on as it did."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import tarry

GOLDEN = Path(__file__).parent / "golden"


def maker():
    spec = importlib.util.spec_from_file_location("golden_make", GOLDEN / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_snapshot_of_this_format_goes_on_as_it_did(tmp_path):
    make, data = maker(), (GOLDEN / "format-1.tarry").read_bytes()
    expected = json.loads((GOLDEN / "format-1.json").read_text())
    assert make.goes_on(tarry.LabelJoin.from_bytes(data)) == expected
    with tarry.LabelJoin.import_from(GOLDEN / "format-1.tarry", f"sqlite:///{tmp_path / 'a.db'}") as join:
        assert make.goes_on(join) == expected
    assert make.goes_on(make.made()) == expected
