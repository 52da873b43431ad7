"""The same work in other packages: late labels for a linear model, and experts with delay.

Each hears every label, ``DELAY`` rounds late, and does one step of descent for it. poold plays what ours plays. The
linear models take the gradient where they stand when the label comes, ours where it stood when it predicted: the sums
of losses are alike. Ours is ``simulate``, whole, of one seed. A package that is not installed is named and left out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

import tarry
from benchmarks.measure import Figure, Row, interleave, nanoseconds, ratio
from benchmarks.stage import DIMENSION, SEED, some_rows

ROUNDS, DELAY, RATE = 4_000, 100, 0.01
EXPERTS, FEW = 10, 400  # rounds of experts: poold keeps the whole past of each round
STATED = float("inf")

Play = Callable[[], float]  # returns the sum of losses


def _rows() -> tuple[np.ndarray, np.ndarray]:
    rows = some_rows(ROUNDS)
    return rows, rows @ np.linspace(-1.0, 1.0, DIMENSION) + np.random.default_rng(SEED).normal(size=ROUNDS) / 10


def _ours() -> Play:
    rows, labels = _rows()
    domain = tarry.domains.Ball(DIMENSION, radius=100.0)
    delays = tarry.delays.fixed(horizon=ROUNDS, delay=DELAY)
    game = tarry.Game(domain, tarry.losses.LeastSquares(rows, labels), delays, capacity=None)
    player = tarry.Player(tarry.learners.OGD(domain, rate=RATE))
    return lambda: float(tarry.simulate(game, player, bound=False).loss[0])


def _late(predict: Callable[[Any], float], learn: Callable[[Any, float], Any], data: list[tuple[Any, float]]) -> Play:
    """Return the loop that a user of an online model writes: predict, keep the row, learn when its label comes."""

    def play() -> float:
        waiting: deque[tuple[Any, float]] = deque()
        total = 0.0
        for x, y in data:
            total += 0.5 * (predict(x) - y) ** 2
            waiting.append((x, y))
            if len(waiting) > DELAY:
                learn(*waiting.popleft())
        return total

    return play


def _river() -> Play:
    from river import linear_model, optim

    rows, labels = _rows()
    model = linear_model.LinearRegression(optimizer=optim.SGD(RATE / 2), intercept_lr=0.0)  # its loss has no half
    data = [({f"x{i}": float(v) for i, v in enumerate(row)}, float(y)) for row, y in zip(rows, labels, strict=True)]
    return _late(model.predict_one, model.learn_one, data)


def _vowpal_wabbit() -> Play:
    import vowpalwabbit

    rows, labels = _rows()
    given = (
        f"--sgd --power_t 0 --learning_rate {RATE / 2} --noconstant --quiet --min_prediction=-99 --max_prediction=99"
    )
    model = vowpalwabbit.Workspace(given)
    data = [
        (" ".join(f"x{i}:{v!r}" for i, v in enumerate(row.tolist())), float(y))
        for row, y in zip(rows, labels, strict=True)
    ]
    return _late(lambda x: model.predict(f"| {x}"), lambda x, y: model.learn(f"{y!r} | {x}"), data)


def _experts() -> np.ndarray:
    return np.random.default_rng(SEED).uniform(size=(FEW, EXPERTS)) * np.linspace(0.8, 1.0, EXPERTS)


def _our_experts() -> Play:
    rows = _experts()
    delays = tarry.delays.fixed(horizon=FEW, delay=DELAY)
    game = tarry.Game(tarry.domains.Simplex(EXPERTS), tarry.losses.Linear(rows), delays, capacity=None)
    player = tarry.Player(tarry.learners.DORMPlus(EXPERTS))
    return lambda: float(tarry.simulate(game, player, bound=False).loss[0])


def _poold() -> Play:
    import poold

    rows = _experts()
    learner = poold.create("dormplus", model_list=[str(i) for i in range(EXPERTS)], T=FEW)

    def play() -> float:
        total = 0.0
        for t in range(FEW):
            s = t - 1 - DELAY
            loss = {"fun": lambda w, s=s: float(rows[s] @ w), "grad": lambda w, s=s: rows[s]}
            total += float(rows[t] @ learner.update_and_play([(s, loss)] if s >= 0 else [], hint=None))
        return total

    return play


def _against(
    name: str, rounds: int, ours: Callable[[], Play], theirs: Callable[[], Play], slack: float, _quick: bool
) -> Figure:
    if find_spec(name) is None:
        return Figure(float("nan"), f"{name} is not installed: pip install {name}")
    mine, other = ours()(), theirs()()
    if not abs(mine - other) <= slack * abs(mine):
        raise RuntimeError(f"{name} played another game: a loss of {other!r}, ours {mine!r}")
    a, b = interleave([ours, theirs], turns=3)
    told = {"tarry": nanoseconds(a, rounds) / 1e3, "other": nanoseconds(b, rounds) / 1e3}
    detail = f"{told['tarry']:.2f} us a round in simulate, {name} {told['other']:.2f} us"
    return Figure(ratio(a, b), detail, told)


LINEAR, EXPERT = "late linear regression", "late experts"
ROWS = [
    Row(f"peer river, {LINEAR}", STATED, partial(_against, "river", ROUNDS, _ours, _river, 0.1)),
    Row(f"peer vowpalwabbit, {LINEAR}", STATED, partial(_against, "vowpalwabbit", ROUNDS, _ours, _vowpal_wabbit, 0.1)),
    Row(f"peer poold, {EXPERT}", STATED, partial(_against, "poold", FEW, _our_experts, _poold, 1e-9)),
]
