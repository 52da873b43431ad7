"""A live round, ask and tell, against River's predict and learn."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import tarry
from benchmarks.measure import Figure, Row, interleave, nanoseconds, ratio
from benchmarks.stage import DIMENSION, SEED, learner, some_rows

ROUNDS = 5_000
CAPACITY = 16


def _river() -> Callable[[], None]:
    from river import linear_model, optim

    model = linear_model.LinearRegression(optimizer=optim.FTRLProximal())
    stream = [({f"x{i}": float(v) for i, v in enumerate(row)}, float(row.sum())) for row in some_rows(ROUNDS)]

    def play() -> None:
        for x, y in stream:
            model.predict_one(x)
            model.learn_one(x, y)

    return play


def _ours(chosen: Any) -> Callable[[], None]:
    session = tarry.Session(tarry.Player(chosen), capacity=CAPACITY, rng=SEED)
    gradients = list(some_rows(ROUNDS))
    by_gradient = chosen.feedback == "gradient"

    def play() -> None:
        for g in gradients:
            asked = session.ask()
            if by_gradient:
                session.tell(asked.id, gradient=g)
            else:
                session.tell(asked.id, value=float(g @ asked.play))

    return play


def _against_river(chosen: Any, _quick: bool) -> Figure:
    ours, river = interleave([partial(_ours, chosen), _river])
    detail = f"{nanoseconds(ours, ROUNDS) / 1e3:.2f} us a round, River {nanoseconds(river, ROUNDS) / 1e3:.2f} us"
    return Figure(ratio(ours, river), detail)


def _bandit() -> tarry.learners.DWFTBL:
    return tarry.learners.DWFTBL(tarry.domains.Ball(DIMENSION), rate=0.001, smoothing=0.2)


def _certified(capacity: int) -> Callable[[], None]:
    """A session whose slots are all taken, and stay so: what an arrival costs its certificate."""
    session = tarry.Session(tarry.Player(learner()), capacity=capacity, rng=SEED, gradient_bound=1.0)
    gradients, waiting = list(some_rows(ROUNDS)), [session.ask().id for _ in range(capacity)]

    def play() -> None:
        for g in gradients:
            session.tell(waiting.pop(), gradient=g)
            waiting.append(session.ask().id)

    return play


def _certificates(_quick: bool) -> Figure:
    many, few = interleave([partial(_certified, 4096), partial(_certified, CAPACITY)])
    times = [nanoseconds(one, ROUNDS) / 1e3 for one in (few, many)]
    return Figure(ratio(many, few), f"{times[0]:.2f} us a round at {CAPACITY} slots, {times[1]:.2f} us at 4096")


ROWS = [
    Row("live certificate in capacity", 1.2, _certificates),
    Row("live dw-ftrl", 1.2, partial(_against_river, learner())),
    Row("live dw-ftbl", 2.0, partial(_against_river, _bandit())),
]
