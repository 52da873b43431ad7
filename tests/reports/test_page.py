"""The page of a demonstration: its bars are intervals as everywhere else; and records overlaid."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from scipy import stats

import tarry
from tarry.reports.demo import PolicyResult, against_capacity, compare, demo_page

pytest.importorskip("vl_convert")


def cell(capacity, regrets):
    few = len(regrets) < 2
    half = float("nan") if few else stats.t.ppf(0.975, len(regrets) - 1) * float(stats.sem(regrets))
    figures = dict.fromkeys(("observed", "mean_weight", "second_moment", "saturated", "bound"), 1.0)
    curve = pl.DataFrame({"seed": range(len(regrets)), "t": [1] * len(regrets), "regret": regrets})
    return PolicyResult("A", capacity, True, {"regret": float(np.mean(regrets)), "half": half, **figures}, curve)


def test_bars_are_students():
    drawn = json.loads(against_capacity([cell(4, [1.0, 2.0, 3.0]), cell(8, [5.0])]).to_json())
    several, one = json.loads(drawn["layer"][0]["data"]["values"])
    half = stats.t.ppf(0.975, 2) / np.sqrt(3)
    assert (several["low"], several["high"]) == (pytest.approx(2 - half), pytest.approx(2 + half))
    assert (one["low"], one["high"]) == (5.0, 5.0)


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


def test_a_page_of_one_seed(tmp_path):
    path = demo_page([cell(4, [1.0]), cell(None, [1.0])], tmp_path / "demo.html", title="Demo", story="One & all")
    assert path.read_text(encoding="utf-8").count("<svg") == 2
