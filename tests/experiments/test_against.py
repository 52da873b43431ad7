"""What a sweep's regret is measured against: ``comparator`` in its file."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sweeping import sweep_of

import tarry
from tarry.experiments import Folder, run_sweep
from tarry.experiments.folder import summarise
from tarry.experiments.play import build_game, play_cell, refusal
from tarry.game import hindsight
from tarry.reports import make_report
from tarry.reports.sweeps import Story
from tarry.reports.view import view

TEXT = """
COMPARATOR
seeds = 2
checkpoints = 4
[games.g]
horizon = 30
dimension = 2
capacity = 4
losses = { type = "Linear", rows = "drifting" }
delays = { type = "fixed", delay = 3 }
[players.ours]
learner = { type = "DWFTRL", rate = 0.1 }
[players.theirs]
learner = { type = "DOGD", rate = 0.1 }
"""
PATH = np.linspace([-0.5, 0.0], [0.5, 0.5], 30)


def sweep_against(folder, said):
    np.save(folder / "path.npy", PATH)
    return sweep_of(folder, TEXT.replace("COMPARATOR", f"comparator = {said}" if said else ""))


def ids(sweep):
    return [cell.id for cell in sweep.cells]


@pytest.mark.parametrize(
    ("said", "given"),
    [
        ('"best"', "best"),
        ('"none"', None),
        ("[0.6, 0]", [0.6, 0.0]),
        (str(PATH.tolist()), PATH),
        ('{ file = "path.npy" }', PATH),
    ],
)
def test_regret_is_that_of_simulate(tmp_path, said, given):
    for cell in sweep_against(tmp_path, said).cells:
        assert refusal(cell.content) == ""
        found = play_cell(cell.id, cell.content)
        losses = [float(one) for one in found["loss"]]
        for i, seed in enumerate((0, 1)):
            game, _ = build_game(json.loads(cell.content)["game"], seed)
            kind = tarry.learners.DWFTRL if cell.columns["player"] == "ours" else tarry.learners.DOGD
            alone = tarry.simulate(game, tarry.Player(kind(game.domain, rate=0.1)), [seed], comparator=given)
            assert losses[i] == alone.loss[0]
            assert np.array_equal(found["regret"][i], alone.regret[0], equal_nan=True)


def test_only_another_comparator_makes_other_cells(tmp_path):
    plain = ids(sweep_against(tmp_path, ""))
    assert ids(sweep_against(tmp_path, '"best"')) == plain
    others = [
        ids(sweep_against(tmp_path, one)) for one in ('"none"', "[0.5, 0.0]", "[0.5, 0.1]", '{ file = "path.npy" }')
    ]
    assert len({one for many in (plain, *others) for one in many}) == 10
    (tmp_path / "renamed").mkdir()
    np.save(tmp_path / "renamed" / "p.npy", PATH)
    assert ids(sweep_against(tmp_path, '{ file = "renamed/p.npy" }')) == others[-1]


def test_nothing_is_solved_for_where_there_is_none(tmp_path, monkeypatch):
    monkeypatch.setattr(hindsight, "comparator", None)
    folder = Folder(tmp_path / "out")
    assert run_sweep(sweep_against(tmp_path, '"none"'), folder).failed == {}
    tables = folder.tables()
    assert tables.runs["regret"].is_nan().all()
    assert tables.runs["comparator_gap"].is_nan().all()
    assert summarise(tables, ["player"])["loss"].is_finite().all()
    with pytest.raises(ValueError, match=r"have losses and no regret .* tarry results show has mean losses"):
        make_report(view(*tables), Story("none", "", 2, 2))


def test_a_report_says_what_regret_is_against(tmp_path):
    folder = Folder(tmp_path / "out")
    run_sweep(sweep_against(tmp_path, "[0.1, 0.0]"), folder)
    page = make_report(view(*folder.tables()), Story("given", "", 2, 2))
    assert any("against the action or path that the sweep gives" in note for note in page.notes)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ('"worst"', "comparator: must be 'best', 'none', an action"),
        ("[]", "comparator: must be 'best'"),
        ('["a"]', "comparator: must be 'best'"),
        ("3", "comparator: must be 'best'"),
        ('{ file = "gone.npy" }', "comparator.file: .*gone.npy cannot be read"),
    ],
)
def test_wrong_ones_are_told(tmp_path, said, sentence):
    with pytest.raises(ValueError, match=sentence):
        sweep_against(tmp_path, said)


@pytest.mark.parametrize(
    ("said", "sentence"), [("[0.1]", "an action of shape"), ("[3.0, 0.0]", "must lie in the domain")]
)
def test_what_does_not_fit_the_game_is_told_by_the_plan(tmp_path, said, sentence):
    assert sentence in refusal(sweep_against(tmp_path, said).cells[0].content)
