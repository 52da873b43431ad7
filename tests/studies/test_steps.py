"""Ways to tell weights: worked cases of what a model is told, and a log where nothing but rows' number matters."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from studies import steps
from studies.__main__ import app
from studies.models import exchangeable
from studies.numbers import read_numbers
from tarry.cases.measure import Heard

FOUR = np.arange(4)


def heard(**fields):
    """Four rows of weight 1, told in one call each, but for what is given."""
    ones = np.ones(4)
    rest = {"labels": ones, "weights": ones, "each": ones, "calls": np.ones(4, dtype=int)}
    return Heard(**{"rows": FOUR, "after": FOUR, **rest, **{name: np.array(value) for name, value in fields.items()}})


def test_each_way_has_its_own_best_step(monkeypatch):
    """Nothing but the number of rows matters: at the best step of each drop newest is ahead, having more rows."""
    monkeypatch.setitem(steps.LOGS, "jobs", lambda: exchangeable(12))
    trial = steps.play("jobs", "window", 0.15, 3)
    assert trial.pair(steps.TOLD[-1]).behind.mean > -0.02
    assert len(trial.losses[steps.RIVAL]) == 3


@pytest.mark.parametrize(
    ("weights", "split", "each", "calls"),
    [
        ("unbiased", None, [1.0, 2.0, 3.5, 0.5], [1, 1, 1, 1]),
        ("unbiased", 1.0, [1.0, 1.0, 3.5 / 3, 0.5], [1, 2, 3, 1]),
        ("relative", None, [1.0, 4 / 3, 21 / 13, 2 / 7], [1, 1, 1, 1]),
        ("tempered", 1.0, [0.6, 1.2, 1.05, 0.3], [1, 1, 2, 1]),
    ],
)
def test_a_row_is_told_as_its_weights_say(weights, split, each, calls):
    rows = heard(weights=[1.0, 2.0, 3.5, 0.5], each=[0.6, 1.2, 0.7, 0.3], calls=[1, 1, 3, 1])
    told = steps.told_as(rows, weights, split)
    assert told.each.tolist() == pytest.approx(each)
    assert told.calls.tolist() == calls
    bare = steps.without_weights(rows)
    assert (bare.weights.tolist(), bare.each.tolist(), bare.calls.tolist()) == ([1.0] * 4, [1.0] * 4, [1] * 4)


def trial(release, share, **losses):
    return steps.Trial("jobs", release, share, {name: np.array(runs) for name, runs in losses.items()})


def test_a_change_without_weights_is_counted_at_the_end_of_windows():
    """Worked: without weights the first model is 2 % off and the second 0.5 %; other trials do not count."""
    names = (steps.PLAIN, steps.TOLD[1], steps.AGAIN_PLAIN, steps.AGAIN)
    runs = dict(zip(names, ([0.98, 0.98], [1.0, 1.0], [1.005, 1.005], [1.0, 1.0]), strict=True))
    trials = [trial(release, share, **runs) for release in ("arrival", "window") for share in steps.SHARES]
    told = steps.without_weights_values(trials)
    assert told == {"trials": 2, "slight": 1, "most": pytest.approx(0.02)}


def test_the_command_writes_its_tables_and_keeps_their_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr("studies.numbers.NUMBERS", tmp_path / "figures.json")
    for name in list(steps.LOGS):
        monkeypatch.delitem(steps.LOGS, name)
    monkeypatch.setitem(steps.LOGS, "clinical", lambda: exchangeable(3))
    done = CliRunner().invoke(app, ["steps", "--seeds", "2", "--out", str(tmp_path), "--write"])
    assert done.exit_code == 0, done.output
    assert "| clinical |" in (tmp_path / "steps.md").read_text(encoding="utf-8")
    kept = read_numbers()["steps"]
    assert kept["command"] == "python -m studies steps --seeds 2 --write"
    assert kept["values"]["comparisons"] == 4
    assert len(kept["values"]["ways"]) == 1 + len(steps.WAYS)
    refused = CliRunner().invoke(app, ["steps", "--log", "clinical", "--write"])
    assert refused.exit_code == 2
