"""The games this project's tables are made of: losses on the unit ball of R^10 and delays, all drawn by seed.

    linear with drift         g_t = (0.3v + z_t)/‖·‖             fixed       200
    adversarial blocks        a unit vector per 200 rounds       geometric   Geom(1/200) − 1
    strongly convex i.i.d.    targets Π(0.5v + 0.5z_t), λ = 1    heavy       ⌊20·Lomax(0.9)⌋, or ⌊62·Lomax(1.3)⌋
    strongly convex blocks    targets Π(z_b + 0.5v), λ = 1       bursts      400 and 3, 250 rounds each

v is uniform on the sphere and z ~ N(0, I/10); delays are cut to the horizon.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tarry import delays, domains, losses
from tarry.game.problem import Game

DIMENSION = 10

LOSSES: dict[str, Callable[[int], Any]] = {
    "linear with drift": lambda seed: losses.Linear(losses.drifting(DIMENSION, rng=seed)),
    "adversarial blocks": lambda seed: losses.Linear(losses.blocks(DIMENSION, rng=seed)),
    "strongly convex i.i.d.": lambda seed: losses.Quadratic(losses.drifting_targets(DIMENSION, rng=seed)),
    "strongly convex blocks": lambda seed: losses.Quadratic(losses.block_targets(DIMENSION, rng=seed)),
}

DELAYS: dict[str, Callable[[int, int], Any]] = {
    "fixed": lambda horizon, seed: delays.fixed(horizon=horizon, delay=200),
    "geometric": lambda horizon, seed: delays.geometric(horizon=horizon, probability=1 / 200, rng=seed),
    "heavy": lambda horizon, seed: delays.pareto(horizon=horizon, shape=0.9, scale=20, rng=seed),
    "heavy, finite mean": lambda horizon, seed: delays.pareto(horizon=horizon, shape=1.3, scale=62, rng=seed),
    "bursts": lambda horizon, seed: delays.bursts(horizon=horizon, length=250, slow=400, fast=3),
    "zero": lambda horizon, seed: delays.fixed(horizon=horizon, delay=0),
}


def instance(problem: str, delay: str, *, horizon: int, capacity: int | None) -> Callable[[int], Game]:
    """The game of a seed, for ``simulate(None, player, games=…)``; names are those of LOSSES and DELAYS.

    Delays come as a list, so that one compilation serves all of them.

    >>> instance("linear with drift", "bursts", horizon=1000, capacity=16)(0).delays.max_backlog
    253
    """
    for name, known, what in ((problem, LOSSES, "losses"), (delay, DELAYS, "delays")):
        if name not in known:
            raise ValueError(f"there are no {what} named {name!r}: choose one of {', '.join(map(repr, known))}")

    def game(seed: int) -> Game:
        waits = delays.array(DELAYS[delay](horizon, seed).values)
        return Game(domains.Ball(DIMENSION), LOSSES[problem](seed), waits, capacity=capacity)

    return game
