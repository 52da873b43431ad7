"""Every exported learner passes the public contract."""

from __future__ import annotations

import pytest
from marking import slow_but

import tarry
from examples import LEARNERS, first_of_each
from tarry.domains import Product, Simplex
from tarry.testing import LearnerContract

LEAST = {Simplex: 2, Product: 3}
"""Fewer make no choice, or no product of two."""
COSTLY = {"Differences", "Mahalanobis", "Product", "Ridge", "TsallisFTRL"}
"""A round costs O(k²), or two nested searches: a hundred dimensions, not a thousand."""
COSTLIEST = {"ONS": 30}
"""A round costs O(k²) for each turn of a projection."""
FIRST = first_of_each(LEARNERS, lambda example: type(example.learner())).values()


@pytest.mark.parametrize("name", slow_but(LEARNERS, FIRST))
class TestLearners(LearnerContract):
    horizon = 32

    @pytest.fixture(autouse=True)
    def _choose(self, name):
        self._example = LEARNERS[name]

    def learner(self):
        return self._example.learner()

    def sized(self, dimension):
        learner = self.learner()
        least = LEAST.get(type(learner.domain), 1)
        most = 100 if any(kind in repr(learner) for kind in COSTLY) else 1000
        most = COSTLIEST.get(type(learner).__name__, most)
        return self._example.learner(min(max(dimension, least), most))

    @pytest.mark.parametrize("largest", slow_but([100, 1000], {100}))
    def test_small_and_large(self, largest):
        self.sizes = 1, largest
        super().test_small_and_large()


def test_every_exported_learner_is_covered():
    exported = {n for n in tarry.learners.__all__ if hasattr(getattr(tarry.learners, n), "feedback")}
    forgotten = (exported - {"Idle"}) ^ {type(example.learner()).__name__ for example in LEARNERS.values()}
    assert not forgotten, f"{forgotten}: an Example for each exported learner in LEARNERS of tests/support/examples.py"
