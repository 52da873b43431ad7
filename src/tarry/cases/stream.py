"""A case as a stream: examples in the order of their decisions, and how late each label is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarry.checks import as_int
from tarry.delays import array
from tarry.domains import Ball
from tarry.losses import LeastSquares

Vector = NDArray[np.float64]
PENALTY = 1.0
WEIGHT_ROOM = 4.0  # the ball is wide enough for mean weights up to this


@dataclass(frozen=True)
class Stream:
    """``features`` has a row per decision, ``labels`` one number; ``times`` is the clock at each decision, in minutes.

    Labels are shown as ``scale`` · label in ``unit``; for classifiers they are cut at ``event``. ``delays`` are listed.
    """

    name: str
    features: Vector
    labels: Vector
    delays: Any
    times: Vector
    unit: str
    scale: float
    event: float

    @property
    def horizon(self) -> int:
        return int(self.labels.size)

    @property
    def dimension(self) -> int:
        return int(self.features.shape[1])

    @property
    def mean(self) -> float:
        """The true mean label, as shown."""
        return self.scale * float(self.labels.mean())

    @property
    def facts(self) -> str:
        """T, d_tot, σ_max and d_max in one sentence."""
        d = self.delays
        return (
            f"{self.horizon:,} decisions, {d.total_delay / self.horizon:.1f} waiting for their label on average and "
            f"{d.max_backlog:,} at most; total delay {d.total_delay:,}, longest {d.max_delay:,} rounds"
        )

    def head(self, rounds: int) -> Stream:
        """The first rounds alone; labels that come later come in the last of them."""
        n = min(rounds, self.horizon)
        waits = np.minimum(self.delays.values[:n], np.arange(n - 1, -1, -1))
        return replace(
            self, features=self.features[:n], labels=self.labels[:n], delays=array(waits), times=self.times[:n]
        )

    @cached_property
    def losses(self) -> LeastSquares:
        """f_t(x) = ½(⟨φ_t, x⟩ − y_t)²."""
        return LeastSquares(self.features, self.labels)

    @cached_property
    def closed(self) -> tuple[LeastSquares, Any]:
        """Losses and delays with a closing round in which nothing is at stake: its play has heard every label.

        Labels that come after the last decision come in its round, too late for any play but this one.
        """
        features = np.vstack((self.features, np.zeros((1, self.dimension))))
        return LeastSquares(features, np.append(self.labels, 0.0)), array(np.append(self.delays.values, 0))

    def constant(self) -> Stream:
        """The same labels with a constant as their only feature: their mean is the best model."""
        return replace(self, features=np.ones((self.horizon, 1)))

    @cached_property
    def domain(self) -> Ball:
        """A ball that ridge regression never leaves: λ‖x‖² ≤ Σ w y² (see :class:`tarry.learners.Ridge`)."""
        largest = float(np.abs(self.labels).max()) * (WEIGHT_ROOM * self.horizon / PENALTY) ** 0.5
        return Ball(self.dimension, radius=max(largest, 1.0))

    @cached_property
    def best(self) -> Vector:
        """The best fixed linear model (of several, the shortest)."""
        return np.asarray(np.linalg.lstsq(self.features, self.labels, rcond=None)[0])

    @cached_property
    def best_error(self) -> float:
        """The mean squared error of the best fixed linear model, as shown."""
        return self.error_of(self.best)

    def error_of(self, model: Vector) -> float:
        """The mean squared error of a linear model over the whole stream, as shown (in unit²)."""
        return self.squares(self.features @ model)

    def squares(self, predictions: Vector) -> float:
        """The mean squared error of predictions, as shown (in unit²)."""
        return self.scale**2 * float(np.mean((predictions - self.labels) ** 2))


def first_rows(count: int | None, most: int) -> int:
    """How many rows to take: all of them, or the first ones."""
    return most if count is None else min(as_int(count, "first (a slice's decisions)", 2), most)
