"""Regret by slots: the cells are those of the comparison, and the bound is Theorem 1's."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from studies.__main__ import app
from studies.compare import regret_cell
from studies.numbers import read_numbers
from tarry.outcomes import number


def test_the_command_keeps_its_table_and_the_bound(tmp_path, monkeypatch):
    monkeypatch.setattr("studies.numbers.NUMBERS", tmp_path / "figures.json")
    done = CliRunner().invoke(app, ["slots", "--seeds", "2", "--horizon", "30", "--write"])
    assert done.exit_code == 0, done.output
    kept = read_numbers()["slots"]
    assert kept["command"] == "python -m studies slots --seeds 2 --horizon 30 --write"
    heads, blocks, drift = kept["values"]["table"]
    cell = regret_cell("linear with drift", "fixed", 1, "VarOpt, Anytime", 2, 30)
    assert heads == "| game | C = 1 | C = 4 | C = 16 | no limit |"
    assert drift.startswith(f"| drift under noise | {number(cell['regret'], cell['half'])} |")
    # GD = 2; nothing comes before the end, so that the total delay is 29 + 28 + … + 0.
    assert kept["values"]["bound"] == pytest.approx(1.5 * 2 * (30 + 2 * 435) ** 0.5)
    assert len(blocks.split(" | ")) == 5
