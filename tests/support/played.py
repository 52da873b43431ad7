"""Short games that meet every member, for comparing what is compiled with what is not.

``python -m played FILE`` plays every one of them and writes what each left to an .npz file.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np

import tarry
from examples import DELAYS, LEARNERS, LOSSES, SCHEDULERS, first_of_each
from tarry.learners.base import (
    Directions,
    Learner,
    absorb,
    advance,
    allocate,
    closing_rate,
    enter,
    feedback_size,
    notice,
    predict,
    rate_in_force,
    restart,
    smoothing_in_force,
)

DIMENSION, HORIZON, SEED, SEEDS = 3, 25, 5, 8  # the dimension and the horizon of the examples of losses
RADIUS = 10.0  # of a ball around the domains of any two learners
# Losses made of Python functions leave the loop uncompiled, so no learner is compiled in their games.
PLAIN = (tarry.losses.Callables, tarry.losses.Custom)


class PairState(NamedTuple):
    """The states of two learners, and a row for the last play of each."""

    first: Any
    second: Any
    plays: np.ndarray


class Pair(Learner):
    """Play the mean of two learners, both of which are told everything: one compiled game meets both."""

    first: Any
    second: Any

    def allocate(self, slots: int) -> PairState:
        return PairState(allocate(self.first, slots), allocate(self.second, slots), np.zeros((2, DIMENSION)))

    @property
    def feedback(self) -> str:
        return str(self.first.feedback)

    @property
    def domain(self) -> Any:
        return tarry.domains.Ball(DIMENSION, radius=RADIUS)

    @property
    def needs_acknowledgements(self) -> bool:
        return bool(self.first.needs_acknowledgements or self.second.needs_acknowledgements)

    watches_tracked = False  # of the first examples of all learners, none does

    def restart(self, state: PairState, t: int, magnitude: float) -> None:
        restart(self.first, state.first, t, magnitude)
        restart(self.second, state.second, t, magnitude)

    def predict(self, state: PairState, directions: Directions, t: int, play: np.ndarray) -> None:
        predict(self.first, state.first, directions, t, state.plays[0])
        predict(self.second, state.second, directions, t, state.plays[1])
        for i in range(play.size):
            play[i] = (state.plays[0, i] + state.plays[1, i]) / 2

    def notice(self, state: PairState, t: int, tracked: int) -> None:
        notice(self.first, state.first, t, tracked)
        notice(self.second, state.second, t, tracked)

    def enter(self, state: PairState, slot: int, t: int) -> None:
        enter(self.first, state.first, slot, t)
        enter(self.second, state.second, slot, t)

    def absorb(
        self, state: PairState, directions: Directions, slot: int, s: int, weight: float, feedback: np.ndarray
    ) -> None:
        absorb(self.first, state.first, directions, slot, s, weight, feedback)
        absorb(self.second, state.second, directions, slot, s, weight, feedback)

    def advance(self, state: PairState, t: int, pending: int) -> None:
        advance(self.first, state.first, t, pending)
        advance(self.second, state.second, t, pending)

    def feedback_size(self, feedback: np.ndarray) -> float:
        return float(feedback_size(self.first, feedback) + feedback_size(self.second, feedback))

    def smoothing_in_force(self, state: PairState, t: int) -> float:
        return float(smoothing_in_force(self.first, state.first, t) + smoothing_in_force(self.second, state.second, t))

    def rate_in_force(self, state: PairState, t: int) -> float:
        return float(rate_in_force(self.first, state.first, t) + rate_in_force(self.second, state.second, t))

    def closing_rate(self, state: PairState, t: int) -> float:
        return float(closing_rate(self.first, state.first, t) + closing_rate(self.second, state.second, t))


class Cast(NamedTuple):
    """Names of the examples that meet in one game."""

    learners: tuple[str, ...]
    scheduler: str
    loss: str
    delays: str

    def play(self) -> np.ndarray:
        """Return plays, weights and fates as one array."""
        learners = [LEARNERS[name].learner(DIMENSION) for name in self.learners]
        assert not any(one.watches_tracked for one in learners), "a Pair says that none does"
        assert len(learners) == 1 or all(one.domain.outer_radius <= RADIUS for one in learners)
        learner, policy = Pair(*learners) if len(learners) == 2 else learners[0], SCHEDULERS[self.scheduler]
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
        record = tarry.simulate(game, player, seeds=SEEDS, keep_rounds=True, bound=False)
        weights = np.concatenate([record.rounds(seed)["weight"].to_numpy() for seed in record.seeds])
        assert weights.any(), "no seed heard any feedback, so nothing that learns was run"
        left = np.concatenate((*(record.plays(seed).ravel() for seed in record.seeds), weights, record.fates.ravel()))
        assert np.isfinite(left).all(), "the play of one learner that is not finite would hide the other's"
        return left


def pairs() -> Iterator[tuple[str, ...]]:
    """Yield learners of one gradient or value by two; who needs an example or several values is alone."""
    told: dict[tuple[str, int], list[str]] = {}
    for name in LEARNER_OF.values():
        learner = LEARNERS[name].learner()
        told.setdefault((learner.feedback, learner.queries), []).append(name)
    for (feedback, queries), names in told.items():
        step = 2 if feedback != "example" and queries == 1 else 1
        yield from (tuple(names[i : i + step]) for i in range(0, len(names), step))


def casts() -> Iterator[Cast]:
    """Yield a game for each pair of learners; the others take turns, as each game is compiled for seconds."""
    schedulers = cycle(first_of_each(SCHEDULERS, lambda policy: type(policy.scheduler)).values())
    losses = cycle(name for kind, name in LOSS_OF.items() if kind not in PLAIN)
    for learners, law in zip(pairs(), cycle(DELAYS), strict=False):
        told = LEARNERS[learners[0]].learner().feedback == "example"
        yield Cast(learners, next(schedulers), LOSS_OF[tarry.losses.LeastSquares] if told else next(losses), law)
    first = next(iter(LEARNER_OF.values()))
    for kind in PLAIN:
        yield Cast((first,), "VarOpt", LOSS_OF[kind], "array")


LEARNER_OF = first_of_each(LEARNERS, lambda example: type(example.learner()))
LOSS_OF = first_of_each(LOSSES, lambda make: type(make()))
GAMES = {", ".join((*cast.learners, *cast[1:])): cast for cast in casts()}


if __name__ == "__main__":
    np.savez(sys.argv[1], **{name: cast.play() for name, cast in GAMES.items()})
