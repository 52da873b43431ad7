"""Short games of the examples: what a compiled game is compared with is the same game played uncompiled.

``python tests/support/played.py FILE`` plays every one of them and writes what each left to an .npz file.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import numpy as np
from examples import DELAYS, LEARNERS, LOSSES, SCHEDULERS, first_of_each

import tarry
from tarry.domains import Ball
from tarry.learners import DWFTRL

HORIZON, SEED = 60, 5
ROOMS = {
    "learners": first_of_each(LEARNERS, lambda example: type(example.learner())),
    "schedulers": first_of_each(SCHEDULERS, lambda policy: type(policy.scheduler)),
    "losses": first_of_each(LOSSES, lambda make: type(make())),
    "delays": {name: name for name in DELAYS},
}
"""The example of each member that is compiled, by room; domains have a smaller compiled loop of their own."""


def rows(dimension: int) -> Any:
    drawn = np.random.default_rng(1).normal(size=(HORIZON, dimension))
    return drawn / np.linalg.norm(drawn, axis=1).max()


def waits() -> Any:
    return tarry.delays.array(np.random.default_rng(7).integers(0, 9, HORIZON))


def played(game: Any, player: Any) -> np.ndarray:
    """Return plays, weights and fates as one array."""
    record = tarry.simulate(game, player, seeds=[SEED], keep_rounds=True, bound=False)
    weights = [] if isinstance(game, tarry.WeightedGame) else record.rounds()["weight"].to_numpy()
    return np.concatenate((record.plays().ravel(), weights, record.fates[0]))


def play_learner(name: str) -> np.ndarray:
    learner = LEARNERS[name].learner()
    losses: Any = tarry.losses.Linear(rows(learner.dimension))
    if learner.feedback == "example":
        losses = tarry.losses.LeastSquares(rows(learner.dimension), np.cos(np.arange(HORIZON)))
    weights = np.random.default_rng(2).exponential(1.0, HORIZON)
    asked = {"feedback": learner.feedback, "queries": getattr(learner, "queries", 1)}
    return played(tarry.WeightedGame(learner.domain, losses, waits(), weights, **asked), learner)


def play_scheduler(name: str) -> np.ndarray:
    policy = SCHEDULERS[name]
    rules = {"capacity": policy.capacity, "information": policy.information}
    game = tarry.Game(Ball(2), tarry.losses.Linear(rows(2)), waits(), **rules)
    epochs = tarry.Doubling("backlog") if isinstance(policy.scheduler, tarry.schedulers.Guessing) else None
    return played(game, tarry.Player(DWFTRL(game.domain, rate=0.3), policy.scheduler, epochs))


def play_loss(name: str) -> np.ndarray:
    losses = LOSSES[name]()
    horizon = losses.horizon or HORIZON
    game = tarry.Game(Ball(losses.dimension), losses, tarry.delays.fixed(horizon=horizon, delay=4), capacity=3)
    return played(game, tarry.Player(DWFTRL(game.domain, rate=0.05)))


def play_delays(name: str) -> np.ndarray:
    game = tarry.Game(Ball(2), tarry.losses.Linear(rows(2)), DELAYS[name](HORIZON, SEED), capacity=3)
    return played(game, tarry.Player(DWFTRL(game.domain, rate=0.3)))


PLAY = {"learners": play_learner, "schedulers": play_scheduler, "losses": play_loss, "delays": play_delays}
GAMES = {f"{room}: {name}": partial(PLAY[room], name) for room, examples in ROOMS.items() for name in examples.values()}


if __name__ == "__main__":
    np.savez(sys.argv[1], **{name: play() for name, play in GAMES.items()})
