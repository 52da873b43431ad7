"""DW-FTRL and DW-FTBL reproduce the worked cases of the delayed and weighted game."""

from __future__ import annotations

import numpy as np
import pytest
from casework import agree, domain_of, losses_of, worked_cases

import tarry


@pytest.mark.parametrize(("case", "expected"), worked_cases("dwftrl"))
def test_dwftrl(case, expected):
    domain, losses = domain_of(case["domain"]), losses_of(case["losses"])
    game = tarry.WeightedGame(domain, losses, tarry.delays.array(case["delays"]), case["weights"])
    learner = tarry.learners.DWFTRL(domain, rate=case["etas"], start=case["x1"])
    record = tarry.simulate(game, learner, keep_rounds=True)
    agree(record.plays(), expected["x"])
    rounds = range(1, record.horizon + 1)
    agree([losses.gradient(x, t) for x, t in zip(record.plays(), rounds, strict=True)], expected["gradients"])


@pytest.mark.parametrize(("case", "expected"), worked_cases("dwftbl"))
def test_dwftbl(case, expected):
    domain = domain_of(case["domain"])
    game = tarry.WeightedGame(
        domain, losses_of(case["losses"]), tarry.delays.array(case["delays"]), case["weights"], feedback="value"
    )
    learner = tarry.learners.DWFTBL(
        domain,
        rate=case["etas"],
        smoothing=case["deltas"],
        start=case["y1"],
        origin=np.zeros(domain.dimension),
        inner_radius=case["r"],
    )
    draws = tarry.Recorded(directions=case["directions"])
    record = tarry.simulate(game, learner, draws=draws, keep_rounds=True)
    agree(record.plays(), expected["x"])
    agree(record.rounds()["loss"], expected["values"])
    shrink = 1 - np.array(case["deltas"]) / case["r"]
    steps = np.array(case["deltas"])[:, None] * np.array(case["directions"])
    seen = shrink > 1e-6
    centers = (record.plays() - steps)[seen] / shrink[seen, None]
    np.testing.assert_allclose(centers, np.array(expected["y"])[seen], rtol=1e-9, atol=1e-9)
