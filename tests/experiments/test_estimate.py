"""What a sweep is said to cost: rounds, counted as they will be played."""

from __future__ import annotations

import numpy as np
import pytest
from sweeping import sweep_of

from tarry.experiments import Folder, play_cell, standing

TEXT = """
seeds = 3
[games.g]
dimension = 2
losses = {{ type = "Linear", rows = "drifting" }}
{game}
[players.p]
learner = {{ type = "DWFTRL", rate = 0.1 }}
"""


@pytest.mark.parametrize(
    "game",
    [
        "delays = {type = 'array', values = [1, 2, 3, 0, 0]}",
        "delays = {type = 'array', values = [1, 2, 3, 0, 0]}\nhorizon = 9",
        "delays = {type = 'array', values = {file = 'waits.npy'}}",
        "delays = {type = 'trace', decided_at = [1, 2, 3, 4], feedback_at = [2, 4, 9, 9]}",
        "delays = {type = 'fixed', delay = 1, horizon = 6}\nhorizon = 9",
        "delays = {type = 'fixed', delay = 1}\nhorizon = 9",
    ],
)
def test_rounds_are_those_that_are_played(tmp_path, game):
    np.save(tmp_path / "waits.npy", np.arange(7))
    sweep = sweep_of(tmp_path, TEXT.format(game=game))
    (cell,) = sweep.cells
    found = standing(sweep, Folder(tmp_path / "results"))
    assert found.rounds == sum(play_cell(cell.id, cell.content)["horizon"]) > 0
    assert found.seconds > 0


def test_what_cannot_be_played_counts_nothing(tmp_path):
    np.save(tmp_path / "waits.npy", np.arange(7))
    sweep = sweep_of(tmp_path, TEXT.format(game="delays = {type = 'array', values = {file = 'waits.npy'}}"))
    np.save(tmp_path / "waits.npy", np.arange(8))
    assert standing(sweep, Folder(tmp_path / "results")).rounds == 0
    unsaid = sweep_of(tmp_path, TEXT.format(game="delays = {type = 'fixed', delay = 1}"))
    assert standing(unsaid, Folder(tmp_path / "results")).rounds == 0


def test_rows_that_are_drawn_and_comparators_that_are_solved_for_count(tmp_path):
    def guess(losses):
        game = f"losses = {losses}\ndelays = {{type = 'fixed', delay = 1}}\nhorizon = 4000"
        text = TEXT.format(game=game).replace('losses = { type = "Linear", rows = "drifting" }\n', "")
        return standing(sweep_of(tmp_path, text), Folder(tmp_path / "results")).seconds

    np.save(tmp_path / "rows.npy", np.ones((4000, 2)))
    listed = guess("{type = 'Linear', rows = {file = 'rows.npy'}}")
    drawn = guess("{type = 'Linear', rows = 'drifting'}")
    solved = guess("{type = 'Absolute', features = {file = 'rows.npy'}, labels = {file = 'rows.npy', columns = [0]}}")
    assert listed < drawn < solved
