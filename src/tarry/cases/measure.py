"""What a case measures of a policy: with weighted ridge regression, which has no step to tune."""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tarry.cases.policies import Policy
from tarry.cases.stream import PENALTY, WEIGHT_ROOM, Stream, Vector
from tarry.game import Game, Record, replay, simulate
from tarry.learners import Ridge
from tarry.tracking import Player

HARDLY = 1e-6


class Spread(NamedTuple):
    """A figure over runs: its mean, and the standard deviation of one run (0 where runs do not differ)."""

    mean: float
    deviation: float
    runs: int

    @classmethod
    def of(cls, values: ArrayLike) -> Spread:
        """The spread of one value per run."""
        listed = np.asarray(values, dtype=np.float64)
        return cls(float(listed.mean()), float(listed.std(ddof=1)) if listed.size > 1 else 0.0, int(listed.size))

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return self.deviation / sqrt(self.runs)


class Figures(NamedTuple):
    """One policy in one case; errors in the stream's unit².

    ``progressive``: mean squared error of the plays minus that of the best fixed linear model. ``last``: the same of
    the last model, over the whole stream. ``believed``: the mean label, by the labels seen and their weights. ``seen``:
    the share of labels used; ``refused``: of rounds that found no room. ``memory``: bytes of the pending state at its
    largest, a row of features, an id and a weight for each.
    """

    policy: str
    is_unbiased: bool
    capacity: int | None
    progressive: Spread
    last: Spread
    believed: Spread
    seen: float
    refused: float
    memory: int


def measure(stream: Stream, policy: Policy, capacity: int, seeds: int) -> Figures:
    """Play the stream with ridge regression under a policy, once per seed (once, where runs do not differ)."""
    runs = seeds if policy.is_random else 1
    slots = capacity if policy.is_limited else None
    scheduler = policy.make(stream.delays, capacity)
    record = _play(stream, scheduler, slots, runs, PENALTY)
    if record.weights.mean.max() > WEIGHT_ROOM:
        raise ValueError(f"weights of mean {record.weights.mean.max():.2g} may have pushed the model to its bound")
    squares = 2.0 * stream.scale**2
    peak = int(record.occupancy.peak.max()) + 1
    return Figures(
        policy=policy.name,
        is_unbiased=bool(scheduler.is_unbiased),
        capacity=slots,
        progressive=Spread.of(squares * record.regret / stream.horizon),
        last=Spread.of([stream.error_of(model) - stream.best_error for model in record.last_plays]),
        believed=believe(stream, policy, capacity, seeds),
        seen=float(record.observed.mean()),
        refused=float(record.fates[:, 2].mean() / stream.horizon),
        memory=8 * (stream.dimension + 2) * (peak if slots is None else min(peak, slots)),
    )


def heard(stream: Stream, scheduler: Any, capacity: int | None, seed: int) -> Vector:
    """The weight of each round's label, 0 where it was not heard."""
    return replay(scheduler, stream.delays, capacity=capacity, seeds=[seed], keep_rounds=True).heard()


def believe(stream: Stream, policy: Policy, capacity: int, seeds: int) -> Spread:
    """Σ w y / Σ w, as shown: what somebody who sees only the labels heard takes the mean label to be.

    It is the last model of a regression on a constant, hardly penalised.
    """
    slots = capacity if policy.is_limited else None
    scheduler = policy.make(stream.delays, capacity)
    record = _play(stream.constant(), scheduler, slots, seeds if policy.is_random else 1, HARDLY)
    return Spread.of(stream.scale * record.last_plays[:, 0])


def _play(stream: Stream, scheduler: Any, slots: int | None, runs: int, penalty: float) -> Record:
    losses, delays = stream.closed
    game = Game(stream.domain, losses, delays, feedback="example", capacity=slots)
    return simulate(game, Player(Ridge(stream.domain, penalty), scheduler), runs, bound=False, checkpoints=1)
