"""Other learners on the same streams, under four policies: first-order ones, and models of other libraries.

First-order learners take a step; here it is the best of a grid for each policy, known only in hindsight. River's and
scikit-learn's models hear the labels a replay says are heard, with the weights it gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarry.cases.measure import Spread, heard
from tarry.cases.policies import DROP_NEWEST, DROP_OLDEST, UNLIMITED, VAROPT, Policy
from tarry.cases.stream import Stream, Vector
from tarry.domains import Ball
from tarry.game import Game, simulate
from tarry.learners import DWFTRL
from tarry.losses import Logistic
from tarry.tracking import Player

FOUR = (UNLIMITED, VAROPT, DROP_NEWEST, DROP_OLDEST)
RATES = tuple(0.128 / 4**i for i in range(6))
SLICE = 20_000
TREES = 100


class Result(NamedTuple):
    """A learner under a policy: ``what`` was measured, and a ``note`` such as the step found best."""

    learner: str
    what: str
    policy: str
    value: Spread
    note: str


def other_learners(
    whole: Stream, capacity: int, seeds: int, rounds: int = SLICE, tell: Callable[[str], None] = lambda _: None
) -> Iterator[Result]:
    """DW-FTRL on squares and on the logistic loss, River's linear regression, scikit-learn's boosted trees.

    On the first ``rounds`` decisions; River, which is plain Python, on 20 000 of them at most. ``tell`` hears of each
    before it begins.
    """
    stream = whole.head(rounds)
    way, end = f"progressive, {stream.unit}²", f"last model, {stream.unit}²"
    learners: dict[str, Callable[[Policy], Result]] = {
        "DW-FTRL": lambda policy: _first_order("DW-FTRL", stream, policy, capacity, seeds),
        "logistic": lambda policy: _first_order("logistic", stream, policy, capacity, seeds),
        "River linear": lambda policy: _river(stream, policy, capacity, "River linear", way),
        "sklearn trees": lambda policy: _trees(stream, policy, capacity, "sklearn trees", end),
    }
    for name, learn in learners.items():
        for policy in FOUR:
            tell(f"{name}, {policy.name}")
            yield learn(policy)


def _first_order(learner: str, stream: Stream, policy: Policy, capacity: int, seeds: int) -> Result:
    """Progressive regret of DW-FTRL with the step that suits this policy best."""
    what, losses, unit = f"progressive, {stream.unit}²", stream.losses, 2.0 * stream.scale**2
    if learner == "logistic":
        what, unit = "progressive, nats/1000", 1000.0
        losses = Logistic(stream.features, stream.labels >= stream.event)  # type: ignore[assignment]
    domain = Ball(stream.dimension, radius=4.0 * max(1.0, float(np.linalg.norm(stream.best))))
    slots = capacity if policy.is_limited else None
    game = Game(domain, losses, stream.delays, capacity=slots)
    scheduler = policy.make(stream.delays, capacity)
    found: list[tuple[Spread, float]] = []
    for rate in RATES:
        player = Player(DWFTRL(domain, rate), scheduler)
        record = simulate(game, player, seeds if policy.is_random else 1, bound=False, checkpoints=1)
        found.append((Spread.of(unit * record.regret / stream.horizon), rate))
    value, rate = min(found)
    return Result(learner, what, policy.name, value, f"step {rate:.2g}")


def _river(stream: Stream, policy: Policy, capacity: int, name: str, what: str) -> Result:
    """River's linear regression, asked in every round and taught when a label arrives; one run on the first rounds."""
    try:
        from river import linear_model, optim
    except ImportError as error:
        raise ImportError("this learner needs river: pip install 'tarry[cases]'") from error
    few = stream.head(SLICE)
    weights = _weights(few, policy, capacity)
    model = linear_model.LinearRegression(optimizer=optim.SGD(0.005), intercept_lr=0.0, clip_gradient=100.0)
    rows = [{i: float(row[i]) for i in np.flatnonzero(row)} for row in few.features]
    predictions = np.zeros(few.horizon)
    for t, arrivals in enumerate(_arrivals(few.delays.values)):
        predictions[t] = model.predict_one(rows[t])
        for s in arrivals:
            if weights[s] > 0:
                model.learn_one(rows[s], float(few.labels[s]), w=float(weights[s]))
    value = few.squares(predictions) - few.best_error
    return Result(name, what, policy.name, Spread.of([value]), f"{few.horizon:,} rounds, one run")


def _trees(stream: Stream, policy: Policy, capacity: int, name: str, what: str) -> Result:
    """Boosted trees fitted once to everything heard, weights as ``sample_weight``; one run."""
    try:
        from sklearn.ensemble import HistGradientBoostingRegressor
        from threadpoolctl import threadpool_limits
    except ImportError as error:
        raise ImportError("this learner needs scikit-learn: pip install 'tarry[cases]'") from error
    weights = _weights(stream, policy, capacity)
    seen = weights > 0
    model = HistGradientBoostingRegressor(max_iter=TREES, early_stopping=False, random_state=0)
    with threadpool_limits(1):  # its threads wait by spinning, which is dear where others are at work
        model.fit(stream.features[seen], stream.labels[seen], sample_weight=weights[seen])
        value = stream.squares(model.predict(stream.features)) - stream.best_error
    return Result(name, what, policy.name, Spread.of([value]), f"fitted to {int(seen.sum()):,} labels, one run")


def _weights(stream: Stream, policy: Policy, capacity: int) -> Vector:
    return heard(stream, policy.make(stream.delays, capacity), capacity if policy.is_limited else None, seed=0)


def _arrivals(delays: NDArray[np.int64]) -> Iterator[list[int]]:
    """For each round (from 0) the rounds whose labels come at its end, in increasing order."""
    due: list[list[int]] = [[] for _ in delays]
    for s, wait in enumerate(delays):
        due[s + int(wait)].append(s)
    yield from due
