"""tarry table1: plays, prints, writes, and says by its exit code whether all is as claimed."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from tarry.cli import table1
from tarry.cli.app import app
from tarry.experiments.table1 import QUICK

pytest.importorskip("vl_convert")

SMALL = f"""
include = ["{QUICK.parent / "base.toml"}"]
seeds = 2
[[blocks]]
games = ["cone"]
players = ["this work, convex, values"]
axes = {{ horizon = [16, 32, 64], capacity = [4] }}
points = [{{ dimension = 1, delay = 0 }}]
"""


@pytest.fixture
def small(tmp_path, monkeypatch):
    file = tmp_path / "small.toml"
    file.write_text(SMALL, encoding="utf-8")
    monkeypatch.setattr(table1, "QUICK", file)
    return ["table1", "--quick", "--results", str(tmp_path / "results")]


def test_the_table_is_printed_and_written(small, tmp_path):
    done = CliRunner().invoke(app, small)
    assert done.exit_code == 1, "most claims have no cells here"
    assert "BCO, strongly convex" in done.output
    assert "missing" in done.output
    assert {path.suffix for path in (tmp_path / "results").glob("table1.*")} == {".html", ".md", ".tex"}


def test_as_json(small):
    done = CliRunner().invoke(app, [*small, "--format", "json"])
    found = json.loads(done.stdout)
    cone = [one for one in found if one["game"] == "cone" and one["measured"] is not None]
    assert [(one["player"], one["by"], one["measured"]["points"]) for one in cone] == [
        ("this work, convex, values", "horizon", 3)
    ]


def test_an_unknown_engine_is_a_sentence(small):
    done = CliRunner().invoke(app, [*small, "--engine", "steam"])
    assert done.exit_code == 2
    assert "steam" in done.output
