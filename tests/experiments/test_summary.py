"""Tables in short, against plain arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from sweeping import sweep_of

from tarry.experiments import Folder, run_sweep
from tarry.experiments.folder import joined, summarise


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    path = tmp_path_factory.mktemp("summary")
    sweep, folder = sweep_of(path), Folder(path / "results")
    run_sweep(sweep, folder)
    return folder.tables()


def test_by_what_varies(tables):
    rows = joined(tables, "runs")
    found = summarise(tables).filter(player="paper", capacity=4, axis_mean=6)
    mine = rows.filter(player="paper", capacity=4, axis_mean=6)["regret"].to_numpy()
    assert found["runs"].item() == mine.size == 3
    assert found["regret"].item() == pytest.approx(mine.mean())
    assert found["standard_error"].item() == pytest.approx(mine.std(ddof=1) / np.sqrt(3))


def test_seeds_are_what_is_independent(tables):
    """Grouped by player, the four combinations of one seed share its draws."""
    rows = joined(tables, "runs").filter(player="paper")
    found = summarise(tables, ["player"]).filter(player="paper")
    by_seed = [rows.filter(seed=seed)["regret"].mean() for seed in range(3)]
    assert found["runs"].item() == rows.height == 12
    assert found["regret"].item() == pytest.approx(rows["regret"].mean())
    assert found["standard_error"].item() == pytest.approx(np.std(by_seed, ddof=1) / np.sqrt(3))


def test_by_cell_and_by_the_same_twice(tables):
    found = summarise(tables, ["cell", "player", "cell"])
    assert found.columns[:3] == ["cell", "player", "runs"]
    assert found["cell"].to_list() == tables.cells["cell"].to_list()
    assert found["runs"].to_list() == tables.cells["seeds"].to_list()
    for row in found.iter_rows(named=True):
        assert row["regret"] == pytest.approx(tables.runs.filter(cell=row["cell"])["regret"].mean())
