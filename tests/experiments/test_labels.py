"""Different games are never pooled, however alike they read."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from sweep_tables import tables as made_up
from sweeping import sweep_of

from tarry.experiments import Folder, Tables, load_sweep, run_sweep
from tarry.experiments.folder import plan_frame, summarise, varied
from tarry.experiments.members import describe
from tarry.reports.sweeps import ledger_table, result_table
from tarry.reports.view import said, view

GAME = """
seeds = 2
[games.g]
dimension = 2
losses = { type = "Linear", rows = "drifting" }
"""
PLAYER = "[players.p]\nlearner = { type = 'DWFTRL', rate = 0.1 }\n"
LISTS = "[axes]\ndelays = [{type = 'array', values = [1, 2, 3, 4, 5]}, {type = 'array', values = [0, 0, 0, 0, 0]}]\n"
LABEL = "array(values=[5 entries])"


def played(path, text):
    folder = Folder(path / "results")
    run_sweep(sweep_of(path, text), folder)
    return folder.tables()


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return played(tmp_path_factory.mktemp("labels"), GAME + PLAYER + LISTS)


def old(tables):
    """The same as it was stored when labels were only short."""
    return tables._replace(cells=tables.cells.with_columns(delays=pl.lit(LABEL)))


@pytest.mark.parametrize("stored", [lambda tables: tables, old])
def test_lists_that_are_too_long_to_tell(tables, stored):
    mine = stored(tables)
    shown = summarise(mine)
    assert shown["delays"].to_list() == [LABEL, f"{LABEL} #2"]
    assert shown["runs"].to_list() == [2, 2]
    seen = view(*mine)
    assert seen.settings == [f"g, {LABEL}", f"g, {LABEL} #2"]
    assert [(row[0], row[2]) for row in result_table(seen).rows] == [(f"g, {LABEL}", "2"), (f"g, {LABEL} #2", "2")]
    assert len(ledger_table(seen).rows) == 2
    assert seen.named(seen.runs, ["capacity"])["panel"].n_unique() == 2
    for setting, cell in zip(seen.settings, mine.cells["cell"], strict=True):
        assert seen.runs.filter(setting=setting)["cell"].unique().to_list() == [cell]


def test_what_varies_is_told(tables):
    assert varied(tables.cells) == ["game", "player", "delays"]


def test_files_of_one_name(tmp_path):
    for name, value in (("a", 1), ("b", 2)):
        (tmp_path / name).mkdir()
        np.save(tmp_path / name / "waits.npy", np.full(6, value))
    waits = ", ".join(f"{{type = 'array', values = {{file = '{name}/waits.npy'}}}}" for name in "ab")
    plan = plan_frame(sweep_of(tmp_path, f"{GAME}{PLAYER}[axes]\ndelays = [{waits}]\n"))
    assert plan["delays"].to_list() == ["array(values=waits.npy)", "array(values=waits.npy) #2"]
    np.save(tmp_path / "b" / "waits.npy", np.full(6, 1))
    same = plan_frame(load_sweep(tmp_path / "tiny.toml"))
    assert same["delays"].n_unique() == same["combination"].n_unique() == 1


def test_axes_that_read_alike(tmp_path):
    text = GAME + "delays = {type = 'array', values = 'axis.waits'}\n" + PLAYER
    plan = plan_frame(sweep_of(tmp_path, f"{text}[axes]\nwaits = [[1, 2, 3, 4, 5], [0, 0, 0, 0, 0], [1, 1]]\n"))
    assert plan["axis_waits"].to_list() == ["[5 entries]", "[5 entries] #2", describe([1, 1])]


def test_players_that_read_alike():
    """A learner whose line, and the axis behind it, say too little."""
    cells, runs, curves = made_up({"A": 1.0}, capacities=(4,), means=(10, 20))
    contents = [json.dumps({"game": {}, "player": {"learner": {"rates": [mean] * 9}}}) for mean in (10, 20)]
    alike = cells.drop("axis_mean").with_columns(
        pl.Series("content", contents), delays=pl.lit("d"), learner=pl.lit("l")
    )
    seen = view(alike, runs, curves)
    assert seen.lines == ["A", "A #2"]
    assert seen.named(seen.runs, ["capacity"])["name"].n_unique() == 2
    assert summarise(Tables(alike, runs, curves))["learner"].to_list() == ["l", "l #2"]


@pytest.mark.parametrize(("one", "other"), [(1000000.0, 1000001.0), (0.1, 0.1 + 1e-12), (3.0, 3.0000001)])
def test_numbers_have_the_digits_they_need(one, other):
    assert said("axis_x", one) != said("axis_x", other)
