"""The comparator against the worked cases."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tarry.domains import Ball
from tarry.game.hindsight import comparator
from tarry.losses import Linear, Quadratic

CASES = [
    case
    for case in json.loads((Path(__file__).parents[1] / "cases" / "game.json").read_text())["cases"]
    if case["input"]["domain"]["kind"] == "ball" and "best_loss" in case["expected"]
]


def losses_of(listed):
    offsets = [one["b"] for one in listed]
    if listed[0]["kind"] == "linear":
        return Linear([one["g"] for one in listed], offsets=offsets)
    return Quadratic([one["a"] for one in listed], listed[0]["lam"], offsets=offsets)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_best_losses_of_the_worked_cases(case):
    given, expected = case["input"], case["expected"]
    ball = Ball(len(given["domain"]["center"]), given["domain"]["radius"], center=given["domain"]["center"])
    losses, horizon = losses_of(given["losses"]), len(given["losses"])
    best = comparator(ball, losses, horizon, np.array([horizon]))
    assert best.losses[-1] == pytest.approx(expected["best_loss"], abs=1e-9)
    played = [losses.value(x, t) for t, x in enumerate(expected["x"], start=1)]
    np.testing.assert_allclose(played, expected["loss"], atol=1e-12)
    assert sum(played) - best.losses[-1] == pytest.approx(expected["regret"], abs=1e-9)


def test_there_are_worked_cases():
    assert len(CASES) >= 4
