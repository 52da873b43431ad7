"""Plans held against what came after them: worked cases, and the command on small logs."""

from __future__ import annotations

from functools import partial

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from studies import plans
from studies.__main__ import app
from studies.numbers import read_numbers
from tarry.planning import plan


def steady(count=120, wait=10):
    """A decision a minute, known after so many minutes; every fifth one never."""
    decided = np.arange(count)
    ends = pl.when(pl.col("decided") % 5 > 0).then(pl.col("decided") + wait)
    return pl.DataFrame({"decided": decided}).with_columns(feedback=ends)


def test_a_join_with_room_sees_all_that_comes():
    """Worked: of 20 decisions the 7 that are known before the last one, with weight 1."""
    assert plans.streamed(steady(20), 100, 2).tolist() == [0.35, 0.35]


@pytest.mark.parametrize(
    ("waits", "said"),
    [
        ([5] * 400, "nothing"),
        ([100] * 400, "too short"),
        ([5] * 100 + [30] * 100 + [5] * 100 + [30] * 100, "uneven, "),
        ([2] * 100 + [10] * 100 + [20] * 100 + [40] * 100, "a trend, "),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_what_a_plan_warns_of(waits, said):
    log = pl.DataFrame({"decided": range(400)}).with_columns(feedback=pl.col("decided") + pl.Series(waits))
    made = plan(plans.delays_of(log), capacities=[3], schedulers=["VarOpt"], seeds=2, precision=10.0)
    assert plans.warned(made).startswith(said)


def test_the_command_keeps_its_tables(tmp_path, monkeypatch):
    monkeypatch.setattr("studies.numbers.NUMBERS", tmp_path / "figures.json")
    monkeypatch.setattr(plans, "HALVED", {"steady": steady})
    monkeypatch.setattr(plans, "flights", lambda: pl.concat(steady().with_columns(month=pl.lit(m)) for m in (1, 2, 4)))
    monkeypatch.setattr(plans, "SLOTS", (4, 100))
    monkeypatch.setattr(plans, "PLANNED", ("VarOpt",))
    monkeypatch.setattr(plans, "ROUNDS", 300)
    monkeypatch.setattr(plans, "OTHERS", range(2))
    monkeypatch.setattr(plans, "plan", partial(plan, seeds=2, precision=10.0))
    done = CliRunner().invoke(app, ["plans", "--seeds", "2", "--write"])
    assert done.exit_code == 0, done.output
    kept = read_numbers()["plans"]
    assert kept["command"] == "python -m studies plans --seeds 2 --write"
    values = kept["values"]
    assert values["halves"][1].startswith("| steady | ")
    assert values["months"][0] == "| scheduler | January, other seeds | February | April |"
    assert [line.split(" | ")[0] for line in values["worth"][1:]] == [f"| {name}" for name in plans.WORTH]
    assert values["April"]["more"] == 0.0
    assert values["January"]["flights"] == 120


def test_logs_are_read():
    """Those of the packages are real; some of their decisions are never answered."""
    for read in (plans.patients, plans.repeats):
        log = read()
        assert log.columns == ["decided", "feedback"]
        assert 0 < log["feedback"].null_count() < log.height
        assert log.filter(pl.col("feedback") < pl.col("decided")).height == 0
