"""DW-FTRL and DW-FTBL reproduce the worked cases of the delayed and weighted game."""

from __future__ import annotations

import numpy as np
import pytest
from casework import agree, domain_of, losses_of

import tarry


@pytest.mark.jit(slow=True)
@pytest.mark.cases("dwftrl")
def test_dwftrl(given, expected):
    domain, losses = domain_of(given["domain"]), losses_of(given["losses"])
    game = tarry.WeightedGame(domain, losses, tarry.delays.array(given["delays"]), given["weights"])
    learner = tarry.learners.DWFTRL(domain, rate=given["etas"], start=given["x1"])
    record = tarry.simulate(game, learner, keep_rounds=True)
    agree(record.plays(), expected["x"])
    rounds = range(1, record.horizon + 1)
    agree([losses.gradient(x, t) for x, t in zip(record.plays(), rounds, strict=True)], expected["gradients"])


@pytest.mark.jit(slow=True)
@pytest.mark.cases("dwftbl")
def test_dwftbl(given, expected):
    domain = domain_of(given["domain"])
    game = tarry.WeightedGame(
        domain,
        losses_of(given["losses"]),
        tarry.delays.array(given["delays"]),
        given["weights"],
        feedback="value",
    )
    learner = tarry.learners.DWFTBL(
        domain,
        rate=given["etas"],
        smoothing=given["deltas"],
        start=given["y1"],
        origin=np.zeros(domain.dimension),
        inner_radius=given["r"],
    )
    draws = tarry.Recorded(directions=given["directions"])
    record = tarry.simulate(game, learner, draws=draws, keep_rounds=True)
    agree(record.plays(), expected["x"])
    agree(record.rounds()["loss"], expected["values"])
    shrink = 1 - np.array(given["deltas"]) / given["r"]
    steps = np.array(given["deltas"])[:, None] * np.array(given["directions"])
    seen = shrink > 1e-6
    centers = (record.plays() - steps)[seen] / shrink[seen, None]
    np.testing.assert_allclose(centers, np.array(expected["y"])[seen], rtol=1e-9, atol=1e-9)
