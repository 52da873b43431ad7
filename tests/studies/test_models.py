"""The study of models: its logs by hand, its tables, and looks in the middle of a log."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from marking import slow_but
from typer.testing import CliRunner

from studies import models as study
from studies.__main__ import app
from studies.logs import LOGS
from studies.looks import QUARTERS, look
from studies.numbers import read_numbers
from studies.streams import read_r
from tarry.cases import CaseLog, Score


@pytest.mark.parametrize("name", slow_but(LOGS, ("relapse", "queue")))
def test_a_log_makes_sense(name):
    log = LOGS[name]()
    assert np.all(np.diff(log.decided) >= 0)
    assert not np.any(log.labelled < log.decided)
    assert log.is_binary
    assert log.settled.mean() > 0.7
    assert np.all(np.isfinite(log.truth[log.settled]))
    assert np.isfinite(log.features).all()
    assert 0.03 < log.truth[log.settled].mean() < 0.5
    assert log.mean_backlog("arrival") < log.mean_backlog("window")


def test_relapses_by_hand():
    table = read_r("nwtco")
    kept = [row for row in table.sort("seqno").iter_rows(named=True) if row["rel"] == 1 or row["edrel"] >= 730]
    log = LOGS["relapse"]()
    assert log.size == len(kept)
    assert log.labels.tolist() == [float(row["rel"] == 1 and row["edrel"] <= 730) for row in kept]
    waits = np.array([min(row["edrel"], 730) for row in kept]) * 86400.0
    assert np.allclose(log.labelled - log.decided, waits)


def steady(count, rate=0.2, window=40.0, seed=0):
    """Positive labels come at once, others with the end of the window."""
    draw = np.random.default_rng(seed)
    y = (draw.random(count) < rate).astype(float)
    decided = np.arange(count, dtype=float)
    told = decided + np.where(y > 0, draw.integers(1, 8, count), window)
    return CaseLog(decided, told, y, np.zeros((count, 1)), window=window)


def check_looks(logs, release, capacity=0.15):
    """At each look the truth is covered in at least 93 % of runs, and no interval is too narrow."""
    found = [one for seed, log in enumerate(logs) for one in look(log, release, capacity, seed)]
    for part in QUARTERS:
        those = [one for one in found if one.part == part]
        assert len(those) == len(logs)
        assert np.mean([one.covers for one in those]) >= 0.93
    assert all(one.found.is_settled == (release == "window") for one in found)
    if release == "arrival":
        assert all(one.is_wide_enough for one in found)
    return found


@pytest.mark.parametrize("release", ["arrival", "window"])
def test_looked_at_in_the_middle_the_truth_is_covered(release):
    found = check_looks([steady(200, seed=seed) for seed in range(40)], release)
    off = np.mean([one.found.mean - one.truth for one in found if one.found.labels])
    assert (off > 0.05) == (release == "arrival"), "quick outcomes differ, else there is nothing to cover"


@pytest.mark.slow
@pytest.mark.parametrize("release", ["arrival", "window"])
@pytest.mark.parametrize("name", ["jobs", "clinical"])
def test_looked_at_in_the_middle_of_a_real_log_the_truth_is_covered(name, release):
    check_looks([LOGS[name]()] * 200, release)


def test_the_command_writes_its_tables(tmp_path, monkeypatch):
    for name, few in {"WINDOWS": (3,), "GENERATED": 2, "STEADY": 200, "LONG": 20, "SLOTS": (2, 5)}.items():
        monkeypatch.setattr(study, name, few)
    study.slots_table.cache_clear()
    monkeypatch.setitem(study.LOGS, "jobs", lambda: steady(160))
    arguments = ["models", "--log", "jobs", "--model", "logistic", "--seeds", "2", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    written = (tmp_path / "models.md").read_text(encoding="utf-8")
    assert "| jobs  | window" in written
    assert "of 2 comparisons VarOpt is" in written
    numbers = pl.read_json(tmp_path / "models.json")
    assert numbers.height == 2
    assert (tmp_path / "index.html").is_file()
    refused = CliRunner().invoke(app, [*arguments, "--write"])
    assert refused.exit_code == 2


def test_looks_are_kept_with_their_command(tmp_path, monkeypatch):
    monkeypatch.setattr("studies.numbers.NUMBERS", tmp_path / "figures.json")
    monkeypatch.setitem(study.LOGS, "jobs", lambda: steady(160))
    done = CliRunner().invoke(app, ["looks", "--log", "jobs", "--runs", "2", "--write"])
    assert done.exit_code == 0, done.output
    kept = read_numbers()["looks"]
    assert kept["command"] == "python -m studies looks --log jobs --runs 2 --capacity 0.15 --write"
    assert [line[:15] for line in kept["values"]["table"]] == ["| log | release", "| jobs | arriva", "| jobs | window"]


def test_pairs_are_by_seed():
    """A worked case: drop newest loses 0.5 and 1.0, VarOpt 0.6 and 1.1: 20 % and 10 % behind."""
    log = steady(20)
    lost = {"VarOpt": (0.6, 1.1), "drop newest": (0.5, 1.0)}
    made = [Score("river", policy, "window", 3, 9.0, (0.2, 0.2), runs, 0.0) for policy, runs in lost.items()]
    (pair,) = study.pairs_of("x", 0.05, study.Comparison(log, 2, ("river",), tuple(made)))
    assert pair.behind.mean == pytest.approx(0.15)
    assert pair.behind.error == pytest.approx(0.05)
    assert pair.is_clear
    assert study.shown(pair) == "+15.0 (5.0)*"
    ahead, unclear = (pair._replace(behind=study.Spread.of(by)) for by in ((-0.2, -0.1), (-0.1, 0.3)))
    slight = pair._replace(behind=study.Spread.of((0.01, 0.012)), model="sgd")
    assert study.Counts.of([pair, ahead, unclear, slight]) == (4, 1, 2, 1, pytest.approx(0.15))
    rows = study.counts_table([pair, ahead, unclear, slight]).rows
    assert rows == [("river", "window", "3", "1", "1", "1", "+15.0%"), ("sgd", "window", "1", "0", "1", "0", "+1.1%")]
