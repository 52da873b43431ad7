"""Regret against a path: from the plays one by one, at checkpoints, drawn, and refused in sentences."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest

import tarry
from tarry import delays, domains, learners, losses

HORIZON, K = 60, 3
BALL = domains.Ball(K)
RNG = np.random.default_rng(5)
TARGETS = RNG.uniform(-0.5, 0.5, size=(HORIZON, K))
TURN = np.linspace(0, 3, HORIZON)
PATH = np.stack([np.cos(TURN), np.sin(TURN), 0 * TURN], axis=1) * 0.9
LOSSES = {
    "linear": losses.Linear(TARGETS),
    "quadratic": losses.Quadratic(TARGETS, strong_convexity=0.5),
    "absolute": losses.Absolute(TARGETS, RNG.normal(size=HORIZON)),
}


def _game(name="linear", **changes):
    return tarry.Game(BALL, LOSSES[name], delays.fixed(horizon=HORIZON, delay=4), capacity=2, **changes)


def _record(game, **options):
    return tarry.simulate(game, learners.DOGD(BALL, 0.3), 3, keep_rounds=True, checkpoints=9, **options)


@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_is_compared_with_that_of_the_path(name):
    record = _record(_game(name))
    found = record.regret_against(PATH)
    for i, seed in enumerate(record.seeds):
        apart = [LOSSES[name].value(x, t) - LOSSES[name].value(u, t) for t, (x, u) in _rounds(record.plays(seed))]
        assert found.regret[i] == pytest.approx(sum(apart), rel=1e-12)
        curve = found.curve.filter(seed=seed)
        assert curve["t"].to_list() == record.checkpoints.tolist()
        np.testing.assert_allclose(curve["regret"], np.cumsum(apart)[record.checkpoints - 1], rtol=1e-10, atol=1e-12)
    assert found.path_length == pytest.approx(sum(np.linalg.norm(b - a) for a, b in pairwise(PATH)))


def _rounds(plays):
    return enumerate(zip(plays, PATH, strict=True), start=1)


def test_a_path_that_stays_is_a_fixed_action():
    record = _record(_game("quadratic"))
    stays = record.regret_against(np.tile(record.comparators[0].point, (HORIZON, 1)))
    assert np.array_equal(stays.regret, record.regret)
    assert stays.curve.equals(record.curve.drop("bound"))
    assert stays.path_length == 0.0


def test_every_seed_is_compared_in_its_own_game():
    drawn = {seed: losses.Linear(losses.Drawn(K, finish="sphere", rng=seed)) for seed in range(3)}
    late = delays.fixed(horizon=HORIZON, delay=4)
    record = _record(None, games=lambda seed: tarry.Game(BALL, drawn[seed], late, capacity=2))
    found = record.regret_against(PATH)
    for seed, kind in drawn.items():
        apart = [kind.value(x, t) - kind.value(u, t) for t, (x, u) in _rounds(record.plays(seed))]
        assert found.regret[seed] == pytest.approx(sum(apart), rel=1e-9)


def test_the_chart_has_both_curves():
    chart = json.loads(_record(_game()).plot(PATH).to_json())
    groups = {row["group"] for row in chart["data"]["values"]}
    assert groups == {"against the path", "against the best fixed action"}


OUTSIDE, BROKEN = PATH.copy(), PATH.copy()
OUTSIDE[6] *= 2
OUTSIDE[20] *= 3  # farther, and later
BROKEN[3, 1] = np.nan


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        (PATH[:-1], r"path must have the shape \(60, 3\), an action for each round, got \(59, 3\)"),
        (PATH[:, :2], r"got \(60, 2\)"),
        (OUTSIDE, r"path must lie in the domain Ball\(.*in round 7 it is 0.8 outside: project"),
        (BROKEN, "path must be finite, in round 4 too, got"),
        ("here", "path must be made of real numbers"),
    ],
)
def test_paths_that_are_none(path, sentence):
    with pytest.raises(ValueError, match=sentence):
        _record(_game()).regret_against(path)


def test_without_rounds_it_says_what_to_do():
    record = tarry.simulate(_game(), learners.DOGD(BALL, 0.3))
    with pytest.raises(ValueError, match=r"rounds were not kept: run simulate\(…, keep_rounds=True\)"):
        record.regret_against(PATH)
