"""What is recommended where nothing is acknowledged: its regret at every capacity, beside its bound and two twins."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

import tarry
from tarry import players, theory

HORIZON, K, SEEDS = 20_000, 10, 96
DOMAIN = tarry.domains.Ball(K)
LOSSES = {"blocks": tarry.losses.blocks, "drift": tarry.losses.drifting}


DRAWN = {
    "fixed": tarry.delays.fixed(horizon=HORIZON, delay=200),
    "heavy tails": tarry.delays.pareto(horizon=HORIZON, shape=1.1, scale=20, rng=2),
    "bursts": tarry.delays.bursts(horizon=HORIZON, length=300, slow=400, fast=1),
    # Nothing is late before the last quarter, in which every round waits for longer than the one before, up to 1000.
    "late ramp": tarry.delays.array(np.clip(np.arange(HORIZON) - 3 * HORIZON // 4, 0, 1000)),
}
DELAYS = {name: tarry.delays.array(delays.values) for name, delays in DRAWN.items()}  # one type: compiled once


def regret(kind, late, capacity, information, seeds=SEEDS):
    """The regret of every seed, which draws the losses and the player."""

    def game(seed):
        losses = tarry.losses.Linear(LOSSES[kind](K, rng=seed))
        return tarry.Game(DOMAIN, losses, DELAYS[late], capacity=capacity, information=information)

    assert players.recommended(game(0)).is_proved
    return tarry.simulate(None, players.recommended, seeds, games=game, bound=False, checkpoints=1).regret


def _error(values):
    return float(values.std(ddof=1) / sqrt(values.size))


@pytest.mark.slow
@pytest.mark.jit(only=True)
@pytest.mark.parametrize("late", DELAYS)
@pytest.mark.parametrize("kind", LOSSES)
def test_regret_without_acknowledgements(kind, late):
    """Below the bound, by far; as good as with acknowledgements; on blocks one slot is nearly as good as no limit."""
    total = DELAYS[late].total_delay
    bound = theory.varopt_bound(diameter=2.0, gradient_bound=1.0, horizon=HORIZON, total_delay=total)
    found = {}
    for capacity in (1, 2, 4, 16, None):
        silent, told = (regret(kind, late, capacity, f"{name}-clairvoyant") for name in ("non", "semi"))
        assert silent.mean() + 3 * _error(silent) < bound
        apart = silent - told
        assert abs(apart.mean()) - 2 * _error(apart) < 0.02 * told.mean()
        found[capacity] = silent
    if kind == "blocks":
        apart = found[1] - found[None]
        assert abs(apart.mean()) - 2 * _error(apart) < 0.1 * found[None].mean()
