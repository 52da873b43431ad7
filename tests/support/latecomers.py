"""A stream whose labels come the later the smaller they are, and what an adapter must make of it.

One decision in four has label 1, known after QUICK decisions; the others have label 0, known after SLOW. Seen through a
few slots, quick labels are many too many; only the weights make up for it.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

DECISIONS, CAPACITY, QUICK, SLOW, RATE = 5000, 16, 5, 250, 0.25
CLOSE, FAR = 0.05, 0.1


def labels(seed: int = 0) -> list[int]:
    """The labels in the order of decisions."""
    return (np.random.default_rng(seed).random(DECISIONS) < RATE).astype(int).tolist()


def wait(label: int) -> int:
    """How many decisions a label is late."""
    return QUICK if label else SLOW


def events(seed: int = 0) -> Iterator[tuple[int, int | None]]:
    """(i, None) for decision i and (i, label) when its label comes, in the order of time."""
    due: list[tuple[int, int, int]] = []
    for i, y in enumerate(labels(seed)):
        while due and due[0][0] <= i:
            _, s, label = heapq.heappop(due)
            yield s, label
        yield i, None
        heapq.heappush(due, (i + wait(y), i, y))
    while due:
        _, s, label = heapq.heappop(due)
        yield s, label


# A constant factor changes no weighted mean, but lets gradient steps with mistaken weights get anywhere at all.
MISTAKES: dict[str, Callable[[float], float]] = {"dropped": lambda _w: 2.0, "inverted": lambda w: 20.0 / w}


def assert_weights_matter(learn: Callable[[Callable[[float], float]], float]) -> None:
    """``learn(change)`` gives the rate a model finds when its weights are changed so: right, and wrong if mistaken."""
    truth = float(np.mean(labels()))
    assert abs(learn(lambda w: w) - truth) < CLOSE
    for name, mistake in MISTAKES.items():
        assert learn(mistake) > truth + FAR, name


class Average:
    """Σ w y / Σ w over the rows told."""

    def __init__(self) -> None:
        self.weight = self.total = 0.0

    def tell(self, y: Any, w: float) -> None:
        self.weight, self.total = self.weight + w, self.total + w * float(y)

    @property
    def mean(self) -> float:
        return self.total / self.weight
