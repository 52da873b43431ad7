"""Regret by slots: the cells are those of the comparison, and the bound is Theorem 1's."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from studies.__main__ import app
from studies.compare import instance, make_player, regret_cell
from studies.numbers import read_numbers
from studies.slots import spread_values
from tarry import simulate
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


def test_only_a_limit_spreads_regret():
    """One game, whose seeds draw the player alone; the figures are those of its regrets, played one by one."""
    spread = spread_values(6, 40)
    game = instance("linear with drift", "fixed", horizon=40, capacity=1)(0)
    regrets = [float(simulate(game, make_player("VarOpt, Anytime", game), seeds=[seed]).regret[0]) for seed in range(6)]
    assert spread["mean"] == pytest.approx(np.mean(regrets), rel=1e-4)
    assert spread["deviation"] == pytest.approx(np.std(regrets, ddof=1), rel=1e-4)
    assert spread["most"] == pytest.approx(max(regrets), rel=1e-4)
    free = instance("linear with drift", "fixed", horizon=40, capacity=None)(0)
    assert np.ptp(simulate(free, make_player("VarOpt, Anytime", free), seeds=6).regret) == 0
