"""Runs: what is played, what is kept, what is played again."""

from __future__ import annotations

from tarry.experiments import Folder, load_sweep, run_sweep
from tarry.experiments.parts import list_parts


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


TINY = """
seeds = 3
seeds_per_cell = 2
checkpoints = 4
axes.capacity = [2, 4]
[games.drift]
horizon = 40
dimension = 2
losses = { type = "Linear", rows = "drifting" }
delays = { type = "geometric", mean = 5 }
[players.plain]
learner = { type = "DWFTRL", rate = 0.1 }
"""


def test_a_sweep_is_played_once(tmp_path):
    sweep, folder = load_sweep(write(tmp_path / "tiny.toml", TINY)), Folder(tmp_path / "results")
    first = run_sweep(sweep, folder)
    assert (first.found, first.finished, first.failed) == (0, 4, {})
    again = run_sweep(sweep, folder)
    assert (again.found, again.finished, again.failed) == (4, 0, {})
    assert list_parts(folder.parts)
    tables = folder.tables()
    assert tables.cells.height == 4
    assert tables.runs.height == 6
    assert tables.runs.group_by("cell").len()["len"].sort().to_list() == [1, 1, 2, 2]
