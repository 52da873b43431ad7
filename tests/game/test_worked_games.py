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
)

import tarry


def _learner(given, domain):
    if given["feedback"] == "first":
        return tarry.learners.DWFTRL(domain, rate=given["etas"], start=given["start"])
    return tarry.learners.DWFTBL(
        domain, rate=given["etas"], smoothing=given["deltas"], start=given["start"], inner_radius=given["r"]
    )


@pytest.mark.jit(slow=True)
@pytest.mark.cases("game")
def test_game(given, expected):
    domain = domain_of(given["domain"])
    game = tarry.Game(
        domain,
        losses_of(given["losses"]),
        tarry.delays.array(given["delays"]),
        feedback="gradient" if given["feedback"] == "first" else "value",
        capacity=given["C"],
        information=INFORMATION[given["framework"]],
    )
    player = tarry.Player(_learner(given, domain), scheduler_of(given))
    draws = tarry.Recorded(proxy_delays=proxies_of(given["dprime"]), directions=given["directions"])
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
        tarry.domains.Ball(2),
        tarry.losses.Linear(rng.normal(size=(50, 2))),
        tarry.delays.fixed(horizon=50, delay=3),
    )
    record = tarry.simulate(game, tarry.Player(tarry.learners.DWFTRL(game.domain, rate=0.1)), seeds=2)
    best = np.linalg.norm(game.losses.rows.values.sum(axis=0))
    np.testing.assert_allclose(record.regret, record.loss + best, rtol=1e-12)
