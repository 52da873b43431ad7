"""The variance that shards cost: the formula, against weights that were played, equal and unequal loads."""

from __future__ import annotations

import numpy as np
import pytest

from studies import shards
from studies.shards import BY_BACKLOG, BY_LOAD, EQUAL, POSITIVE, Case, measure, predicted

CAPACITY, CROWDING = 64, 4.0
pytestmark = pytest.mark.jit(only=True)  # hundreds of thousands of rounds


def played(case, runs=20):
    slots = case.capacities(CAPACITY, CROWDING * CAPACITY)
    return slots, measure(case.loads, slots, CROWDING * CAPACITY, runs, lambda: None, case.waits)


@pytest.fixture(scope="module")
def one():
    return played(Case("one", (1.0,), EQUAL))[1]


@pytest.mark.parametrize(
    "case",
    [
        Case("equal loads", (0.25,) * 4, EQUAL),
        Case("unequal loads", (0.55, 0.15, 0.15, 0.15), EQUAL),
        Case("unequal loads", (0.55, 0.15, 0.15, 0.15), BY_LOAD),
    ],
)
def test_the_formula_holds_within_5_percent(case, one):
    slots, found = played(case)
    ratio = found.squares.mean() / one.squares.mean()
    assert ratio == pytest.approx(predicted(case.loads, slots, CROWDING * CAPACITY), rel=0.05)
    if case == Case("unequal loads", (0.55, 0.15, 0.15, 0.15), EQUAL):
        assert ratio > 1.4, "what unequal loads cost is seen"
        assert ratio != pytest.approx(predicted((0.25,) * 4, slots, CROWDING * CAPACITY), rel=0.05), "the control"


def test_slots_by_load_are_better_than_by_backlog_where_waits_differ(one):
    ratios = {}
    for kind in (BY_BACKLOG, BY_LOAD):
        slots, found = played(Case("waits", (0.5, 0.5), kind, (16.0, 1.0)))
        ratios[kind] = found.squares.mean() / one.squares.mean()
        assert ratios[kind] == pytest.approx(predicted((0.5, 0.5), slots, 256.0, waits=(16.0, 1.0)), rel=0.15)
    assert ratios[BY_LOAD] < 0.8 * ratios[BY_BACKLOG]


def test_a_shard_below_its_capacity_adds_nothing():
    assert predicted([0.9, 0.1], [50, 50], 200.0, 0.0) == pytest.approx(0.9 * (180 / 50 - 1) / (200 / 100 - 1))
    found = measure([0.97, 0.03], [10, 40], 40.0, 1, lambda: None)
    alone = measure([1.0], [1000], 40.0, 1, lambda: None)
    assert alone.squares.sum() == 0.0
    assert found.squares.sum() > 0.0


def test_errors_of_sums_have_the_variance_of_the_weights(monkeypatch):
    """For independent labels of any mean, since weights sum to the decisions."""
    monkeypatch.setattr(shards, "BACKLOGS", 6)
    found = measure([0.5, 0.5], [2, 2], 12.0, 300, lambda: None)
    sums = np.mean(found.errors**2) / (POSITIVE * (1 - POSITIVE) * found.squares.mean())
    assert abs(sums - 1.0) < 4 * np.sqrt(2 / 300)
