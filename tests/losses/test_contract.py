"""Every exported loss keeps the contract, on a shifted ball so that nothing hides at the origin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tarry.losses as room
from tarry.domains import Ball
from tarry.losses import (
    Absolute,
    Callables,
    Custom,
    Distance,
    Hinge,
    Huber,
    LeastSquares,
    Linear,
    Logistic,
    Losses,
    Quadratic,
    Quantile,
)
from tarry.testing import LossContract

RNG = np.random.default_rng(7)
ROWS = RNG.normal(size=(25, 3))
LABELS = RNG.normal(size=25)
SIGNS = np.where(RNG.random(25) < 0.5, -1.0, 1.0)
OFFSETS = RNG.normal(size=25)


def cubic_value(row, x):
    total = 0.0
    for i in range(x.size):
        total += abs(x[i] - row[i]) ** 3 / 3.0
    return total


def cubic_gradient(row, x, out):
    for i in range(x.size):
        out[i] = (x[i] - row[i]) * abs(x[i] - row[i])


def called_value(x, t):
    return float(np.sqrt(1.0 + t * (x @ x)))


def called_gradient(x, t):
    return t * x / np.sqrt(1.0 + t * (x @ x))


MEMBERS: dict[str, Callable[[], Any]] = {
    "Linear": lambda: Linear(ROWS),
    "Linear-offsets-ridge": lambda: Linear(ROWS, offsets=OFFSETS, ridge=0.3),
    "Linear-drifting": lambda: Linear(room.drifting(3, rng=1)),
    "Linear-blocks": lambda: Linear(room.blocks(3, rng=1), ridge=0.2),
    "Quadratic": lambda: Quadratic(ROWS, strong_convexity=0.7),
    "Quadratic-offsets-ridge": lambda: Quadratic(ROWS, 0.7, offsets=OFFSETS, ridge=0.3),
    "Quadratic-drifting": lambda: Quadratic(room.drifting_targets(3, rng=1)),
    "Quadratic-blocks": lambda: Quadratic(room.block_targets(3, rng=1)),
    "Distance": lambda: Distance(ROWS, scale=1.3),
    "Distance-smoothed": lambda: Distance(ROWS, smoothing=0.5, ridge=0.1),
    "Distance-drawn": lambda: Distance(room.block_targets(3, rng=1), ridge=0.2),
    "LeastSquares": lambda: LeastSquares(ROWS, LABELS),
    "LeastSquares-ridge": lambda: LeastSquares(ROWS, LABELS, ridge=0.5),
    "Logistic": lambda: Logistic(ROWS, SIGNS),
    "Logistic-ridge": lambda: Logistic(ROWS, (SIGNS + 1) / 2, ridge=0.5),
    "Quantile": lambda: Quantile(ROWS, LABELS, level=0.9),
    "Quantile-smoothed": lambda: Quantile(ROWS, LABELS, level=0.9, smoothing=0.5, ridge=0.1),
    "Absolute": lambda: Absolute(ROWS, LABELS),
    "Absolute-smoothed": lambda: Absolute(ROWS, LABELS, smoothing=0.5, ridge=0.1),
    "Hinge": lambda: Hinge(ROWS, SIGNS),
    "Hinge-smoothed": lambda: Hinge(ROWS, SIGNS, smoothing=0.5, ridge=0.1),
    "Huber": lambda: Huber(ROWS, LABELS, width=0.8),
    "Huber-ridge": lambda: Huber(ROWS, LABELS, width=0.8, ridge=0.5),
    "Custom": lambda: Custom(ROWS, cubic_value, cubic_gradient, dimension=3, gradient_bound=500.0, value_bound=500.0),
    "Callables": lambda: Callables(
        called_value, called_gradient, dimension=3, horizon=30, gradient_bound=200.0, value_bound=200.0
    ),
}


class TestLosses(LossContract):
    @pytest.fixture(params=MEMBERS, autouse=True)
    def _take(self, request: pytest.FixtureRequest) -> None:
        self._made = MEMBERS[request.param]()

    def loss(self) -> Any:
        return self._made

    def domain(self) -> Any:
        return Ball(3, radius=1.5, center=[0.4, -1.0, 0.3])

    def test_smoothed_lies_below(self) -> None:
        if getattr(self._made, "smoothing", 0.0):
            self._made = self._made.smoothed(0.0)  # the contract compares with the exact loss
        super().test_smoothed_lies_below()


def exported() -> set[str]:
    members = {name: getattr(room, name) for name in room.__all__}
    return {
        name for name, cls in members.items() if isinstance(cls, type) and issubclass(cls, Losses) and cls is not Losses
    }


def test_every_exported_loss_is_covered() -> None:
    assert exported() == {name.split("-")[0] for name in MEMBERS}
