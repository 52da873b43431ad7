"""The page of a demonstration: its bars are intervals as everywhere else; and records overlaid."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

import tarry
from tarry.planning.demo import STEPS, WORLDS, Result
from tarry.reports.demo import compare, demo_tables, rate_chart

pytest.importorskip("vl_convert")


OTHERS = [("unlimited", None), ("time out", 8)]


def result(policy, capacity, world, errors):
    months = np.array(errors)
    return Result(
        policy, capacity, world, policy == "VarOpt", 0.3, months, months, 0.5, 1.0, dict.fromkeys(STEPS, months), 70
    )


def test_bars_and_figures_are_students():
    errors = [-0.01, 0.0, 0.04]
    half = stats.t.ppf(0.975, 2) * np.std(errors, ddof=1) / np.sqrt(3)
    results = [result("VarOpt", 8, world, errors) for world in WORLDS]
    (point,) = json.loads(rate_chart(results).to_dict()["layer"][0]["data"]["values"])
    assert (point["low"], point["high"]) == (pytest.approx(31 - 100 * half), pytest.approx(31 + 100 * half))
    others = [result(name, capacity, world, [0.0] * 3) for name, capacity in OTHERS for world in WORLDS]
    policies, *_ = demo_tables([*results, *others])
    assert policies.rows[0][:3] == ("VarOpt", "31.0%", f"1.0 ± {100 * half:.1f}")


def test_records_overlaid_say_whether_they_met_the_same_games():
    ball = tarry.domains.Ball(2)
    fast, slow = (tarry.learners.DWFTRL(ball, rate=rate) for rate in (0.1, 0.01))

    def drawn(seed):
        rows = np.random.default_rng(seed).normal(size=(60, 2))
        return tarry.Game(ball, tarry.losses.Linear(rows), tarry.delays.fixed(horizon=60, delay=3), capacity=2)

    one, other = (tarry.simulate(drawn(0), learner, seeds=2) for learner in (fast, slow))
    many, more = (tarry.simulate(None, learner, seeds=2, games=drawn) for learner in (fast, slow))
    for records, told in (((one, other), "one game"), ((many, more), "the same games"), ((one, many), "games differ")):
        assert f"Regret, {told}" in compare(dict(zip("ab", records, strict=True))).to_json()
