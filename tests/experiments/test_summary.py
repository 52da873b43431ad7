"""Tables in short, against plain arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sweeping import sweep_of

from tarry.experiments import Folder, run_sweep
from tarry.experiments.folder import joined, select, summarise


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
    low, high = stats.ttest_1samp(mine, 0.0).confidence_interval(0.95)
    assert found["half"].item() == pytest.approx((high - low) / 2)
    assert summarise(tables, ["mean"]).equals(summarise(tables, ["axis_mean"])), "an axis goes by its own name"


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


@pytest.mark.parametrize(
    ("conditions", "keeps"),
    [
        ([], lambda row: True),
        (["capacity=4"], lambda row: row["capacity"] == 4),
        (
            ["capacity = 4", "mean>=6", "player=paper"],
            lambda r: r["capacity"] == 4 and r["axis_mean"] >= 6 and r["player"] == "paper",
        ),
        (["mean=6", "mean=3"], lambda row: row["axis_mean"] in (3, 6)),
        (["player!=paper"], lambda row: row["player"] != "paper"),
        (["preemption=true"], lambda row: row["preemption"]),
    ],
)
def test_conditions_select_cells_with_their_runs_and_curves(tables, conditions, keeps):
    found = select(tables, conditions)
    wanted = [row["cell"] for row in tables.cells.iter_rows(named=True) if keeps(row)]
    assert found.cells["cell"].to_list() == wanted
    assert set(found.runs["cell"]) == set(found.curves["cell"]) == set(wanted)


@pytest.mark.parametrize(
    ("conditions", "sentence"),
    [
        (["capacity"], "takes COLUMN=VALUE"),
        (["capcity=4"], "did you mean 'capacity'"),
        (["capacity=many"], "holds capacity against a number, got 'many'"),
        (["capacity=5"], "is met by no cell: capacity is 2, 4"),
        (["capacity=4", "capacity>100"], "is met by no cell"),
    ],
)
def test_conditions_that_are_refused(tables, conditions, sentence):
    with pytest.raises(ValueError, match=sentence):
        select(tables, conditions)
