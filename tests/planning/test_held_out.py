"""Plans against joins: the same log through ``LabelJoin.stream``, and halves of real logs that a plan did not see."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import tarry
from studies.plans import HALVED, delays_of, streamed, warned
from tarry.planning import plan, plan_log

NEAR = 0.15


def busy(count=600):
    rng = np.random.default_rng(3)
    waits = rng.lognormal(3.0, 1.0, count)
    waits[rng.random(count) < 0.3] = np.inf  # a third is never answered
    decided = np.cumsum(rng.exponential(1.0, count))
    ends = np.where(np.isfinite(waits), decided + waits, np.nan)
    hours = pl.DataFrame({"decided": decided, "feedback": ends}).fill_nan(None)
    return hours.select((pl.all() * 3.6e9).cast(pl.Datetime("us")))


@pytest.mark.jit(only=True)
@pytest.mark.parametrize(
    ("rules", "slots"),
    [
        ({}, (20, 120, 700)),
        ({"window": "30h"}, (8, 24, 60)),
        ({"window": "150h"}, (20, 75, 300)),  # a quarter of the log
        ({"window": "150h", "release": "arrival"}, (20, 75, 300)),
    ],
    ids=str,
)
def test_a_plan_sees_what_a_join_sees(tmp_path, rules, slots):
    """Where much waits at the end, where much is never answered, and with windows; and as many squared weights."""
    frame, path = busy(), tmp_path / "log.csv"
    frame.write_csv(path)
    rest = {"missing": 0} if rules else {"missing": "end"}
    made = plan_log(path, capacities=slots, schedulers=["VarOpt", "drop newest"], seeds=64, **rules, **rest)
    if rules:
        rules = rules | {"missing": 0}
    for f in made.figures:
        if f.is_unbiased:
            found, near = streamed(frame, f.capacity, 32, **rules), 0.06
        else:  # nothing is left to chance
            found, near = streamed(frame, f.capacity, 1, scheduler=tarry.schedulers.DropNewest(), **rules), 1e-9
        assert (f.seen, f.second_moment * made.backlog.answered) == pytest.approx(tuple(found), rel=near), f
    assert made.figures[-1].seen == pytest.approx(made.backlog.answered)
    assert made.backlog.answered < 0.97


@pytest.mark.slow
@pytest.mark.jit(only=True)
@pytest.mark.parametrize(
    ("name", "is_even"), [("flights, landing", True), ("AIDS patients, no window", False), ("help desk", True)]
)
def test_the_second_half_is_as_planned_or_the_plan_says_why_not(name, is_even):
    log = HALVED[name]()
    half = log.height // 2
    made = plan(delays_of(log.head(half)), schedulers=["VarOpt"], target=0.3)
    says = warned(made) != "nothing"
    found, _ = streamed(log.slice(half), made.capacity, 2)
    is_near = abs(made.choice.seen / found - 1.0) <= NEAR
    assert (is_near, says) == (is_even, not is_even)
