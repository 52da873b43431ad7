"""Whole games reproduce the worked cases: plays, weights, tracking sets, regret, what was told."""

from __future__ import annotations

import numpy as np
import pytest
from casework import (
    INFORMATION,
    agree,
    domain_of,
    losses_of,
    proxies_of,
    scheduler_of,
    sets_before_admission,
    worked_cases,
)

import tarry


def _learner(case, domain):
    if case["feedback"] == "first":
        return tarry.learners.DWFTRL(domain, rate=case["etas"], start=case["start"])
    return tarry.learners.DWFTBL(
        domain, rate=case["etas"], smoothing=case["deltas"], start=case["start"], inner_radius=case["r"]
    )


@pytest.mark.parametrize(("case", "expected"), worked_cases("game"))
def test_game(case, expected):
    domain = domain_of(case["domain"])
    game = tarry.Game(
        domain,
        losses_of(case["losses"]),
        tarry.delays.array(case["delays"]),
        feedback="gradient" if case["feedback"] == "first" else "value",
        capacity=case["C"],
        information=INFORMATION[case["framework"]],
    )
    player = tarry.Player(_learner(case, domain), scheduler_of(case))
    draws = tarry.Recorded(proxy_delays=proxies_of(case["dprime"]), directions=case["directions"])
    record = tarry.simulate(game, player, draws=draws, keep_rounds=True)
    agree(record.plays(), expected["x"])
    agree(record.rounds()["loss"], expected["loss"])
    agree(record.rounds()["weight"], expected["weights"])
    agree(record.regret[0], expected["regret"])
    agree(record.comparators[0].losses[-1], expected["best_loss"])
    assert sets_before_admission(record) == expected["S"]
    assert _told(record) == expected["told"]


def _told(record):
    told = [[] for _ in range(record.horizon)]
    for t, event, s, weight in record.events().iter_rows():
        if event == "delay":
            told[t - 1].append(["delay", s, int(weight)])
        elif event in ("feedback", "expired"):
            told[t - 1].append([event, s])
    return told


def test_regret_is_loss_minus_best():
    rng = np.random.default_rng(5)
    game = tarry.Game(
        tarry.domains.Ball(2), tarry.losses.Linear(rng.normal(size=(50, 2))), tarry.delays.fixed(horizon=50, delay=3)
    )
    record = tarry.simulate(game, tarry.Player(tarry.learners.DWFTRL(game.domain, rate=0.1)), seeds=2)
    best = np.linalg.norm(game.losses.rows.values.sum(axis=0))
    np.testing.assert_allclose(record.regret, record.loss + best, rtol=1e-12)
