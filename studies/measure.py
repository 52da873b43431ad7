"""What a case measures of a policy: with weighted ridge regression, and with other learners.

The penalty of the regression and the step of first-order learners are the best of a grid for each policy, the same grid
for all: no policy is held back by what suits another. They are known only in hindsight.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from studies.streams import PAIRS, PENALTIES, WEIGHT_ROOM, Stream, Vector
from tarry.cases import Spread
from tarry.domains import Ball
from tarry.game import Game, Record, replay, simulate
from tarry.learners import DWFTRL, Ridge
from tarry.losses import Logistic
from tarry.planning.policies import Conditions, Policy, find_policy
from tarry.schedulers.naive import Given
from tarry.tracking import Player

FOUR = tuple(map(find_policy, ("unlimited", "VarOpt", "drop newest", "drop oldest")))
RATES = tuple(0.128 / 4**i for i in range(6))
SLICE = 20_000  # decisions, for other learners
HARDLY = 1e-6  # a penalty that does not move a mean label, and keeps the first plays finite


@contextmanager
def quiet() -> Iterator[None]:
    """Leave out warnings of refused rounds, which are what the tables are about."""
    logger = logging.getLogger("tarry")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


class Scores(NamedTuple):
    """One policy in one case; errors in the stream's unit².

    ``progressive``: mean squared error of the plays minus that of the best fixed linear model. ``last``: the same of
    the last model, over the whole stream. Each is for the penalty of ``PENALTIES`` that suits it best. ``believed``:
    the mean label, by the labels seen and their weights; ``shuffled``: the same where pairs of wait and label are
    shuffled over the decisions, so that load and date tell nothing. ``seen``: the share of labels used; ``refused``: of
    rounds that found no room. ``memory``: bytes of the pending state at its largest, a row of features, an id and a
    weight for each.
    """

    policy: str
    is_unbiased: bool
    capacity: int | None
    progressive: Spread
    last: Spread
    believed: Spread
    shuffled: Spread
    seen: float
    refused: float
    memory: int


def scheduler_for(policy: Policy, stream: Stream, capacity: int) -> Any:
    """Return a policy's scheduler for the delays of a stream."""
    return policy.make(Conditions.of(stream.delays, capacity))


def measure(stream: Stream, policy: Policy, capacity: int, seeds: int) -> Scores:
    """Play the stream with ridge regression under a policy, once per seed (once, where runs do not differ)."""
    runs = seeds if policy.is_random else 1
    slots = capacity if policy.is_limited else None
    scheduler = scheduler_for(policy, stream, capacity)
    records = [_play(stream, scheduler, slots, runs, penalty) for penalty in PENALTIES]
    record, *_ = records  # what is heard is the same in all
    if record.weights.mean.max() > WEIGHT_ROOM:
        raise ValueError(f"weights of mean {record.weights.mean.max():.2g} may have pushed the model to its bound")
    progressive = [Spread.of(2.0 * stream.scale**2 * one.regret / stream.horizon) for one in records]
    last = [Spread.of([stream.error_of(model) - stream.best_error for model in one.last_plays]) for one in records]
    peak = int(record.occupancy.peak.max()) + 1
    return Scores(
        policy=policy.name,
        is_unbiased=bool(scheduler.is_unbiased),
        capacity=slots,
        progressive=min(progressive),
        last=min(last),
        believed=believe(stream, policy, capacity, seeds),
        shuffled=believe_shuffled(stream, policy, capacity, PAIRS, seeds),
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
    scheduler = scheduler_for(policy, stream, capacity)
    record = _play(stream.constant(), scheduler, slots, seeds if policy.is_random else 1, HARDLY)
    return Spread.of(stream.scale * record.last_plays[:, 0])


def estimate(stream: Stream, policy: Policy, capacity: int, seed: int) -> float:
    """Return Σ w y / Σ w of one run, as shown: the mean label that the labels heard give, 0 where none was."""
    weights = _weights(stream, policy, capacity, seed)
    return stream.scale * float(weights @ stream.labels / (weights.sum() + HARDLY))


class Sample(NamedTuple):
    """One decision in ``n``, drawn by a coin: its mean label as shown, and the slots that it takes.

    ``progressive`` is the error of a regression on it, as in :class:`Scores`.
    """

    n: int
    believed: Spread
    shuffled: Spread
    mean_slots: float
    peak_slots: float
    progressive: Spread | None


def measure_sample(stream: Stream, capacity: int, seeds: int, has_model: bool = False) -> Sample:
    """Measure a random sample that takes at most so many slots on average, over draws."""
    n = ceil(stream.delays.total_delay / stream.horizon / capacity)
    drawn = [np.random.default_rng(seed).random(stream.horizon) < 1.0 / n for seed in range(seeds)]
    slots = [waiting(stream, sampled) for sampled in drawn]
    labels = [stream.shuffled(PAIRS, seed).labels for seed in range(seeds)]
    regrets = []
    for sampled in drawn if has_model else ():
        scheduler = Given(np.append(n * sampled, 0.0))  # the closing round has nothing at stake
        regrets.append([_play(stream, scheduler, None, 1, penalty).regret[0] for penalty in PENALTIES])
    errors = [Spread.of(2.0 * stream.scale**2 * column / stream.horizon) for column in np.array(regrets).T]
    return Sample(
        n=n,
        believed=Spread.of([stream.scale * stream.labels[sampled].mean() for sampled in drawn]),
        shuffled=Spread.of([stream.scale * y[sampled].mean() for y, sampled in zip(labels, drawn, strict=True)]),
        mean_slots=float(np.mean([held.mean() for held in slots])),
        peak_slots=float(np.mean([held.max() for held in slots])),
        progressive=min(errors, default=None),
    )


def waiting(stream: Stream, sampled: Any) -> Any:
    """Return how many of the sampled decisions wait for their label after each round."""
    begun = np.flatnonzero(sampled)
    ended = np.minimum(begun + stream.delays.values[begun], stream.horizon)
    changes = np.bincount(begun, minlength=stream.horizon + 1) - np.bincount(ended, minlength=stream.horizon + 1)
    return np.cumsum(changes)[:-1]


def believe_shuffled(stream: Stream, policy: Policy, capacity: int, control: str, seeds: int) -> Spread:
    """Return what a policy believes in controls of a stream, each shuffled by its own seed."""
    return Spread.of([estimate(stream.shuffled(control, seed), policy, capacity, seed) for seed in range(seeds)])


def _play(stream: Stream, scheduler: Any, slots: int | None, runs: int, penalty: float) -> Record:
    losses, delays = stream.closed
    game = Game(stream.domain, losses, delays, feedback="example", capacity=slots)
    return simulate(game, Player(Ridge(stream.domain, penalty), scheduler), runs, bound=False, checkpoints=1)


class LearnerResult(NamedTuple):
    """A learner under a policy: ``what`` was measured, and a ``note`` such as the step found best."""

    learner: str
    what: str
    policy: str
    value: Spread
    note: str


def other_learners(
    whole: Stream, capacity: int, seeds: int, rounds: int = SLICE, tell: Callable[[str], None] = lambda _: None
) -> Iterator[LearnerResult]:
    """Yield DW-FTRL on squares and on the logistic loss; ``tell`` hears of each before it begins."""
    stream = whole.head(rounds)
    for name in ("DW-FTRL", "logistic"):
        for policy in FOUR:
            tell(f"{name}, {policy.name}")
            yield _first_order(name, stream, policy, capacity, seeds)


def _first_order(learner: str, stream: Stream, policy: Policy, capacity: int, seeds: int) -> LearnerResult:
    """Progressive regret of DW-FTRL with the step that suits this policy best."""
    what, losses, unit = f"progressive, {stream.unit}²", stream.losses, 2.0 * stream.scale**2
    if learner == "logistic":
        what, unit = "progressive, nats/1000", 1000.0
        losses = Logistic(stream.features, stream.labels >= stream.event)  # type: ignore[assignment]
    domain = Ball(stream.dimension, radius=4.0 * max(1.0, float(np.linalg.norm(stream.best))))
    slots = capacity if policy.is_limited else None
    game = Game(domain, losses, stream.delays, capacity=slots)
    scheduler = scheduler_for(policy, stream, capacity)
    found: list[tuple[Spread, float]] = []
    for rate in RATES:
        player = Player(DWFTRL(domain, rate), scheduler)
        record = simulate(game, player, seeds if policy.is_random else 1, bound=False, checkpoints=1)
        found.append((Spread.of(unit * record.regret / stream.horizon), rate))
    value, rate = min(found)
    return LearnerResult(learner, what, policy.name, value, f"step {rate:.2g}")


def _weights(stream: Stream, policy: Policy, capacity: int, seed: int = 0) -> Vector:
    return heard(stream, scheduler_for(policy, stream, capacity), capacity if policy.is_limited else None, seed)
