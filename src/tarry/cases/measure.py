"""What a policy makes of a log: which rows come out, and how a model that learns from them predicts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarry.cases.log import DECIDED, LABEL, LABELLED, ROW, CaseLog, Vector
from tarry.cases.models import Model
from tarry.live import LabelJoin
from tarry.live.logs import DELIVER
from tarry.planning.policies import Conditions, Policy

REFITS = 8  # of a model that is fitted anew, over a log
LEAST = 1e-6  # a probability is held this far from 0 and 1, so that a logarithm is finite
BINS = 10  # of predictions, for calibration


class Heard(NamedTuple):
    """The rows that came out, in order: their decisions' numbers, labels and weights.

    ``after`` counts the decisions made before a row came out. A model that takes steps is told ``each``, in so many
    ``calls``, as an adapter tells it; one that is fitted anew is told the weights.
    """

    rows: NDArray[np.int64]
    after: NDArray[np.int64]
    labels: Vector
    weights: Vector
    each: Vector
    calls: NDArray[np.int64]

    def told(self, part: slice, *, refits: bool) -> tuple[NDArray[np.int64], Vector, Vector]:
        """Return decisions, labels and weights of a part of the rows as a model is told them."""
        rows, labels = self.rows[part], self.labels[part]
        if refits:
            return rows, labels, self.weights[part]
        calls = self.calls[part]
        return np.repeat(rows, calls), np.repeat(labels, calls), np.repeat(self.each[part], calls)

    @property
    def believed(self) -> float:
        """The mean label as the rows have it, by weight; NaN without rows."""
        total = self.weights.sum()
        return float(self.weights @ self.labels / total) if total else float("nan")


def follow(log: CaseLog, policy: Policy, capacity: int, release: str, seed: int) -> Heard:
    """Return the rows that a join under this policy hands out of a log."""
    delays = log.delays(release)
    scheduler = policy.make(Conditions.of(delays, capacity))
    windows: dict[str, Any] = {}
    if log.window is not None:
        windows = {"window": log.window, "missing": log.missing, "release": release}
    join = LabelJoin(capacity if policy.is_limited else None, scheduler=scheduler, rng=seed, **windows)
    moments = log.released(release)
    streamed = join.stream(log.columns, decided_at=DECIDED, labelled_at=LABELLED, label=LABEL, at_end=DELIVER)
    found, numbers = [], []
    for row in streamed:
        # What would come out later may have got a label that the log does not know of.
        if moments[row.features[ROW]] <= log.end:
            steps = join.steps(row)
            found.append(row.features[ROW])
            numbers.append((row.label, row.weight, steps[0], len(steps)))
    labels, weights, each, calls = np.array(numbers, dtype=np.float64).reshape(-1, 4).T
    rows = np.array(found, dtype=np.int64)
    # A row comes out after all decisions up to its moment.
    after = np.searchsorted(log.decided, moments[rows], side="right")
    return Heard(rows, after.astype(np.int64), labels, weights, each, calls.astype(np.int64))


def progress(log: CaseLog, heard: Heard, model: Model) -> Vector:
    """Return the model's prediction for each decision, made with the rows that had come out before it."""
    out, at = np.zeros(log.size), 0
    after = heard.after
    if model.refits:
        step = -(-log.size // REFITS)
        after = -(-after // step) * step
    changes, starts = np.unique(after, return_index=True)
    for begin, end, moment in zip(starts, np.append(starts, after.size)[1:], changes, strict=True):
        if moment >= log.size:
            break
        out[at:moment] = model.predict(log.features[at:moment]) if moment > at else 0.0
        rows, labels, weights = heard.told(slice(begin, end), refits=model.refits)
        model.learn(log.features[rows], labels, weights)
        at = int(moment)
    out[at:] = model.predict(log.features[at:])
    return out


def losses(log: CaseLog, predictions: Vector) -> Vector:
    """Return the loss of each settled decision's prediction: logarithmic for labels 0 and 1, squares for others."""
    truth, said = log.truth[log.settled], predictions[log.settled]
    if not log.is_binary:
        return np.asarray((said - truth) ** 2)
    said = np.clip(said, LEAST, 1.0 - LEAST)
    return np.asarray(-np.log(np.where(truth > 0.5, said, 1.0 - said)))


def calibration(log: CaseLog, predictions: Vector) -> float:
    """Return how far predictions are from the labels they meet: the mean |error of the mean| over ten equal bins.

    >>> log = CaseLog(*(np.arange(4.0),) * 2, np.array([0.0, 1.0, 0.0, 1.0]), np.zeros((4, 1)))
    >>> calibration(log, np.full(4, 0.75))
    0.25
    """
    truth, said = log.truth[log.settled], predictions[log.settled]
    # Bins by rank; equal predictions share theirs, or a constant would be split by accident.
    values, back, counts = np.unique(said, return_inverse=True, return_counts=True)
    bins = ((np.cumsum(counts) - 0.5 * counts) * BINS / said.size).astype(np.int64)[back] if values.size > 1 else back
    return float(np.abs(np.bincount(bins, said - truth)).sum() / said.size)
