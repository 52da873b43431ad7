"""Thinning against its definition: keep a round while its uniform is at most p."""

from __future__ import annotations

import numpy as np
import pytest

import tarry
from tarry.schedulers import Thinning
from tests.oracles.theory import backlogs


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("capacity", [2, 6, 20])
@pytest.mark.parametrize(("scheduler", "safety"), [(Thinning(2.0), 2.0), (Thinning(), 8.0)])
def test_definition(seed, capacity, scheduler, safety):
    rng = np.random.default_rng(seed)
    horizon = 120
    delays = np.minimum(rng.integers(0, 40, horizon), horizon - 1 - np.arange(horizon))
    uniforms = rng.uniform(1e-9, 1, horizon)
    game = tarry.Game(
        tarry.domains.Ball(1),
        tarry.losses.Linear(np.ones((horizon, 1))),
        tarry.delays.array(delays),
        capacity=capacity,
    )
    player = tarry.Player(tarry.learners.DWFTRL(game.domain, rate=0.1), scheduler)
    record = tarry.simulate(game, player, draws=tarry.Recorded(uniforms=uniforms), keep_rounds=True)
    weights, tracked = np.zeros(horizon), set()
    levels = np.minimum(1.0, capacity / (safety * (1 + np.maximum.accumulate(backlogs(delays)))))
    for t in range(horizon):
        tracked = {s for s in tracked if uniforms[s] <= levels[t]}
        if uniforms[t] <= levels[t] and len(tracked) < capacity:
            tracked.add(t)
        for s in range(t + 1):
            if s + delays[s] == t and s in tracked:
                weights[s] = 1 / levels[t]
                tracked.discard(s)
    np.testing.assert_allclose(record.rounds()["weight"].to_numpy(), weights, rtol=1e-12)
    assert np.count_nonzero(weights) or capacity < safety  # where p is tiny, nobody may be drawn


def test_calibrated_members():
    s = tarry.schedulers
    assert s.Bernoulli.calibrated(15, 16).probability == 1.0
    assert s.Bernoulli.calibrated(200, 16).probability > 2 * s.Bernoulli(max_backlog=200).survival(1, 0, 16)
    assert 1 < s.Pareto.calibrated(16).safety < 16
    assert s.Morris.for_backlog(10, 16).epsilon == 0.0
    assert 0.45 < s.Morris.for_backlog(200, 16).epsilon < s.Morris.for_backlog(500, 16).epsilon < 0.62


def test_calibration_keeps_its_promise():
    """On a steady backlog the set is full no more often than asked for."""
    horizon, delay, capacity = 2000, 60, 8
    game = tarry.Game(
        tarry.domains.Ball(1),
        tarry.losses.Linear(np.ones((horizon, 1))),
        tarry.delays.fixed(horizon=horizon, delay=delay),
        capacity=capacity,
    )
    learner = tarry.learners.DWFTRL(game.domain, rate=0.1)
    for scheduler in (
        tarry.schedulers.Bernoulli.calibrated(delay, capacity, saturation=0.02),
        tarry.schedulers.Pareto.calibrated(capacity, saturation=0.02),
        tarry.schedulers.Morris.for_backlog(delay, capacity, saturation=0.02),
    ):
        full = tarry.simulate(game, tarry.Player(learner, scheduler), seeds=4, bound=False).occupancy.full
        assert full.mean() <= 0.025
