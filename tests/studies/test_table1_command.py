"""python -m studies table1: plays, prints, writes, and says by its exit code whether all is as claimed."""

from __future__ import annotations

import json

import polars as pl
import pytest
import typer
from typer.testing import CliRunner

from studies import table1_page as table1
from studies.__main__ import app
from studies.table1 import QUICK, MeasuredClaim, claims
from tarry.cli.sweep import play_sweep
from tarry.experiments import Folder
from tarry.reports.exponents import Exponent

pytest.importorskip("vl_convert")

SMALL = f"""
include = ["{QUICK.parent / "table1_base.toml"}"]
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


def test_json_knows_no_nan(small, monkeypatch):
    claim = next(c for c in claims() if c.game == "cone" and c.by == "horizon")
    alone = Exponent(0.75, float("nan"), float("nan"), 0.0, 1.0, 3)
    monkeypatch.setattr(table1, "measure", lambda tables, claims: [MeasuredClaim(claim, alone, 3)])
    done = CliRunner().invoke(app, [*small, "--format", "json"])
    (found,) = json.loads(done.stdout, parse_constant=pytest.fail)
    assert found["measured"]["low"] is None
    assert found["verdict"] == "ok, wide"


def test_a_share_is_played_and_not_measured(small, tmp_path):
    """Most claims lack their cells while the other tasks run: that is no failure of this one."""
    for i in (1, 2):
        done = CliRunner().invoke(app, [*small, "--task", f"{i}/2"])
        assert done.exit_code == 0, done.output
        assert f"python -m studies table1 --quick --results {tmp_path / 'results'} measures" in done.stderr
        assert list((tmp_path / "results").glob("table1.*")) == []
    done = CliRunner().invoke(app, small)
    assert "0 cells finished, 3 were there" in done.stderr
    assert (tmp_path / "results" / "table1.html").is_file()


def test_a_share_with_a_failure_says_so(small, monkeypatch):
    monkeypatch.setattr(table1, "play_sweep", failing)
    assert CliRunner().invoke(app, [*small, "--task", "1/2"]).exit_code == 1


def failing(*arguments, **options):
    play_sweep(*arguments, **options)
    raise typer.Exit(1)


def test_the_page_is_written_where_cells_failed(small, tmp_path, monkeypatch):
    monkeypatch.setattr(table1, "play_sweep", failing)
    monkeypatch.setattr(table1, "claims", lambda: [c for c in claims() if c.game == "cone" and c.by == "horizon"])
    done = CliRunner().invoke(app, small)
    assert done.exit_code == 1
    assert (tmp_path / "results" / "table1.html").is_file()
    assert "missing" in done.stdout


def interrupted(*arguments, **options):
    raise typer.Exit(130)


def test_an_interrupt_ends_it(small, tmp_path, monkeypatch):
    monkeypatch.setattr(table1, "play_sweep", interrupted)
    assert CliRunner().invoke(app, small).exit_code == 130
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(("high", "code"), [(0.80, 0), (0.90, 0), (2.0, 1)])
def test_the_exit_code_is_of_slopes(small, monkeypatch, high, code):
    """Wide intervals are told and are no failure; slopes beyond a fence are."""
    claim = next(c for c in claims() if c.game == "cone" and c.by == "horizon")
    slope = 0.75 if high < 1 else 1.5
    found = Exponent(slope, 0.7, high, 0.0, 1.0, 3)
    monkeypatch.setattr(table1, "measure", lambda tables, claims: [MeasuredClaim(claim, found, 3)])
    done = CliRunner().invoke(app, small)
    assert done.exit_code == code, done.output
    assert {0.80: "1 ok.", 0.90: "1 ok, wide.", 2.0: "1 steeper."}[high] in done.stdout


def test_two_means_of_three_below_zero_are_a_line_and_no_end(small, tmp_path, monkeypatch):
    read = Folder.tables
    below = pl.when(pl.col("horizon") > 16).then(-1.0).otherwise(1.0).alias("regret")
    monkeypatch.setattr(Folder, "tables", lambda self: (t := read(self))._replace(runs=t.runs.with_columns(below)))
    done = CliRunner().invoke(app, small)
    assert done.exit_code == 1
    assert "only 1 of 3 means are positive" in (tmp_path / "results" / "table1.md").read_text(encoding="utf-8")


def test_an_unknown_engine_is_a_sentence(small):
    done = CliRunner().invoke(app, [*small, "--engine", "steam"])
    assert done.exit_code == 2
    assert "steam" in done.output
