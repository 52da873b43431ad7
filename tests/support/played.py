"""Short games that meet every member, for comparing what is compiled with what is not.

``python -m played FILE`` plays every one of them and writes what each left to an .npz file.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import cycle
from typing import NamedTuple

import numpy as np

import tarry
from examples import DELAYS, LEARNERS, LOSSES, SCHEDULERS, first_of_each

DIMENSION, HORIZON, SEED = 3, 25, 5  # the dimension and the horizon of the examples of losses
# Losses made of Python functions leave the loop uncompiled, so no learner is compiled in their games.
PLAIN = (tarry.losses.Callables, tarry.losses.Custom)


class Cast(NamedTuple):
    """Names of the examples that meet in one game."""

    learner: str
    scheduler: str
    loss: str
    delays: str

    def play(self) -> np.ndarray:
        """Return plays, weights and fates as one array."""
        learner, policy = LEARNERS[self.learner].learner(DIMENSION), SCHEDULERS[self.scheduler]
        game = tarry.Game(
            learner.domain,
            LOSSES[self.loss](),
            DELAYS[self.delays](HORIZON, SEED),
            capacity=policy.capacity,
            information="clairvoyant",  # who needs to know less plays the same
            feedback=learner.feedback,
            queries=learner.queries,
        )
        player = tarry.Player(learner, policy.scheduler, policy.epochs)
        record = tarry.simulate(game, player, seeds=[SEED], keep_rounds=True, bound=False)
        return np.concatenate((record.plays().ravel(), record.rounds()["weight"].to_numpy(), record.fates[0]))


def casts() -> Iterator[Cast]:
    """Yield a game for each learner; schedulers, losses and delays take turns, as each game is compiled for seconds."""
    schedulers = cycle(first_of_each(SCHEDULERS, lambda policy: type(policy.scheduler)).values())
    losses = cycle(name for kind, name in LOSS_OF.items() if kind not in PLAIN)
    for (_, learner), law in zip(LEARNER_OF.items(), cycle(DELAYS), strict=False):
        told = LEARNERS[learner].learner().feedback == "example"
        yield Cast(learner, next(schedulers), LOSS_OF[tarry.losses.LeastSquares] if told else next(losses), law)
    first = next(iter(LEARNER_OF.values()))
    for kind in PLAIN:
        yield Cast(first, "VarOpt", LOSS_OF[kind], "array")


LEARNER_OF = first_of_each(LEARNERS, lambda example: type(example.learner()))
LOSS_OF = first_of_each(LOSSES, lambda make: type(make()))
GAMES = {", ".join(cast): cast for cast in casts()}


if __name__ == "__main__":
    np.savez(sys.argv[1], **{name: cast.play() for name, cast in GAMES.items()})
