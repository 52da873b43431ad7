"""Given weights are those of the rounds, and no others are taken."""

from __future__ import annotations

import numpy as np
import pytest

import tarry
from tarry.schedulers.naive import Given

WRONG = [
    ([[1.0, 2.0]], r"one entry for each round, got shape \(1, 2\)"),
    (1.0, r"one entry for each round, got shape \(\)"),
    ([1.0, np.nan], "finite and not negative, got nan in round 2"),
    ([1.0, np.inf], "finite and not negative, got inf in round 2"),
    ([-0.5, 1.0], r"finite and not negative, got -0\.5 in round 1"),
    ("a", "weights must be real numbers, one for each round, got 'a'"),
    (None, "weights"),
]


@pytest.mark.parametrize(("weights", "sentence"), WRONG)
def test_refusals(weights, sentence):
    with pytest.raises(ValueError, match=sentence):
        Given(weights)


def test_the_game_refuses_as_well():
    none = tarry.delays.fixed(horizon=2, delay=0)
    rows = tarry.losses.Linear(np.ones((2, 1)))
    for weights, sentence in (
        ([1.0], "each of 2 rounds, got shape"),
        ([1.0, -1.0], "not negative, got -1.0 in round 2"),
    ):
        with pytest.raises(ValueError, match=sentence):
            tarry.WeightedGame(tarry.domains.Ball(1), rows, none, weights)


def test_weights_are_copied():
    mine = np.array([1.0, 2.0])
    scheduler = Given(mine)
    mine[0] = 9.0
    assert scheduler.weights.tolist() == [1.0, 2.0]
