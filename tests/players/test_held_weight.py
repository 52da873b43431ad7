"""What is recommended where nothing is acknowledged: its regret at every capacity, beside its bound and two twins."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

import tarry
from tarry import players, theory

HORIZON, K, SEEDS = 20_000, 10, 96
DOMAIN = tarry.domains.Ball(K)
FIXED = tarry.delays.fixed(horizon=HORIZON, delay=200)
LATE = {
    "blocks": FIXED,
    "drift": FIXED,
    "heavy tails": tarry.delays.pareto(horizon=HORIZON, shape=1.1, scale=20, rng=2),
    "bursts": tarry.delays.bursts(horizon=HORIZON, length=300, slow=400, fast=1),
    # Nothing is late before the last quarter, in which every round waits for longer than the one before, up to 1000.
    "late ramp": tarry.delays.array(np.clip(np.arange(HORIZON) - 3 * HORIZON // 4, 0, 1000)),
}
DELAYS = {name: tarry.delays.array(late.values) for name, late in LATE.items()}  # of one type: compiled once


def regret(name, capacity, information):
    """The regret of every seed, which draws the losses (blocks, but for the drift) and the player."""
    rows = tarry.losses.drifting if name == "drift" else tarry.losses.blocks

    def game(seed):
        losses = tarry.losses.Linear(rows(K, rng=seed))
        return tarry.Game(DOMAIN, losses, DELAYS[name], capacity=capacity, information=information)

    assert players.recommended(game(0)).is_proved
    return tarry.simulate(None, players.recommended, SEEDS, games=game, bound=False, checkpoints=1).regret


def error_of(values):
    """The standard error of the mean."""
    return float(values.std(ddof=1) / sqrt(values.size))


@pytest.mark.slow
@pytest.mark.jit(only=True)
@pytest.mark.parametrize("name", DELAYS)
def test_regret_without_acknowledgements(name):
    """Below the bound; no worse than with acknowledgements; on blocks one slot is nearly as good as no limit."""
    total = DELAYS[name].total_delay
    bound = theory.varopt_bound(diameter=2.0, gradient_bound=1.0, horizon=HORIZON, total_delay=total)
    found = {}
    for capacity in (1, 2, 4, 16, None):
        silent, told = (regret(name, capacity, f"{model}-clairvoyant") for model in ("non", "semi"))
        assert np.max(silent) < bound
        apart = silent - told  # of the same draws
        assert apart.mean() + 2 * error_of(apart) < 0.02 * told.mean()
        found[capacity] = silent
    if name == "blocks":
        apart = found[1] - found[None]
        assert abs(apart.mean()) + 2 * error_of(apart) < 0.1 * found[None].mean()
