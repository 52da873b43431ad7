"""Online ridge regression is the ridge regression of what was heard, by numpy's solve."""

from __future__ import annotations

import numpy as np
import pytest

import tarry
from tarry.domains import Ball
from tarry.errors import NotGranted
from tarry.learners import Ridge
from tarry.learners.base import KeyedDirections, absorb, allocate
from tarry.losses import LeastSquares, Linear

WIDE = 1e6
NOWHERE = KeyedDirections(np.uint64(0))


def solved(features, labels, weights, penalty):
    a = penalty * np.eye(features.shape[1]) + (features * weights[:, None]).T @ features
    return np.linalg.solve(a, features.T @ (weights * labels))


def test_every_play_is_the_solution_of_what_has_arrived():
    rng, n, k = np.random.default_rng(5), 120, 6
    features, labels = rng.normal(size=(n, k)), rng.normal(size=n)
    features[:, 3:] = np.eye(3)[rng.integers(3, size=n)]  # one-hot, collinear with the rest
    features[:, 0] = 1.0
    weights, waits = rng.exponential(3.0, n) * (rng.random(n) < 0.6), rng.integers(0, 20, n)
    domain = Ball(k, radius=WIDE)
    game = tarry.WeightedGame(
        domain, LeastSquares(features, labels), tarry.delays.array(waits), weights, feedback="example"
    )
    record = tarry.simulate(game, Ridge(domain, 0.7), keep_rounds=True)
    for t in range(n):
        arrived = (np.arange(n) + waits < t) * weights
        np.testing.assert_allclose(record.plays()[t], solved(features, labels, arrived, 0.7), rtol=1e-9, atol=1e-11)
    np.testing.assert_array_equal(record.last_plays[0], record.plays()[-1])


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_rounding_is_what_the_docstring_says(scale):
    rng, n, k = np.random.default_rng(8), 400, 4
    features = scale * rng.normal(size=(n, k)) * np.array([1.0, 1.0, 0.1, 0.01])
    labels, weights = rng.normal(size=n), rng.exponential(20.0, n)
    learner = Ridge(Ball(k, radius=WIDE))
    state = allocate(learner, 1)
    for row, weight in zip(np.column_stack((features, labels)), weights, strict=True):
        absorb(learner, state, NOWHERE, 0, 1, weight, row)
    a = np.eye(k) + (features * weights[:, None]).T @ features
    error = np.linalg.norm(state.leader - solved(features, labels, weights, 1.0)) / np.linalg.norm(state.leader)
    assert error <= 1e-16 * max(100.0, np.linalg.norm(a, 2))
    assert np.array_equal(state.inverse, state.inverse.T)
    assert np.all(np.linalg.eigvalsh(state.inverse) > 0)


@pytest.mark.slow
@pytest.mark.jit(only=True)
def test_a_hundred_thousand_updates_do_not_drift():
    rng, n, k = np.random.default_rng(2), 100_000, 12
    features = np.column_stack((np.ones(n), rng.normal(size=(n, k - 1))))
    labels = features @ rng.normal(size=k) + rng.normal(size=n)
    domain = Ball(k, radius=WIDE)
    game = tarry.WeightedGame(
        domain, LeastSquares(features, labels), tarry.delays.fixed(horizon=n, delay=0), np.ones(n), feedback="example"
    )
    last = tarry.simulate(game, Ridge(domain), checkpoints=1).last_plays[0]
    np.testing.assert_allclose(last, solved(features[:-1], labels[:-1], np.ones(n - 1), 1.0), rtol=1e-9)


def test_the_play_is_projected_and_the_bound_on_the_leader_holds():
    rng, n = np.random.default_rng(3), 40
    features, labels = rng.normal(size=(n, 2)), 5.0 + rng.normal(size=n)
    tight = Ball(2, radius=0.1)
    game = tarry.WeightedGame(
        tight, LeastSquares(features, labels), tarry.delays.fixed(horizon=n, delay=1), np.ones(n), feedback="example"
    )
    plays = tarry.simulate(game, Ridge(tight), keep_rounds=True).plays()
    assert np.linalg.norm(plays, axis=1).max() == pytest.approx(0.1)
    free = solved(features, labels, np.ones(n), 1.0)
    assert np.linalg.norm(free) ** 2 <= np.sum(labels**2)


def test_what_does_not_fit_is_refused():
    domain, waits = Ball(2), tarry.delays.fixed(horizon=3, delay=0)
    with pytest.raises(ValueError, match="penalty must be positive and finite, got 0"):
        Ridge(domain, 0)
    with pytest.raises(ValueError, match="which Linear losses do not have: use LeastSquares"):
        tarry.Game(domain, Linear(np.ones((3, 2))), waits, feedback="example")
    with pytest.raises(ValueError, match="which Linear losses do not have"):
        tarry.WeightedGame(domain, Linear(np.ones((3, 2))), waits, np.ones(3), feedback="example")
    game = tarry.Game(domain, LeastSquares(np.ones((3, 2)), np.ones(3)), waits)
    with pytest.raises(NotGranted, match="Ridge learns from example feedback, this game gives gradient: use DWFTRL"):
        tarry.simulate(game, tarry.Player(Ridge(domain)))
    game = tarry.Game(domain, LeastSquares(np.ones((3, 2)), np.ones(3)), waits, feedback="example")
    with pytest.raises(NotGranted, match="this game gives example: use Ridge"):
        tarry.simulate(game, tarry.Player(tarry.learners.DWFTRL(domain, 0.1)))
    with pytest.raises(ValueError, match=r"Ridge learns from whole examples: use tarry\.LabelJoin"):
        tarry.Session(tarry.Player(Ridge(domain)), capacity=2)


def test_a_withheld_example_keeps_its_label():
    """One batch after another: what returned within it waits, label and all, until it ends."""
    rng = np.random.default_rng(9)
    features, labels, penalty = rng.normal(size=(24, 3)), 5 + rng.normal(size=24), 2.0
    ball, losses = Ball(3, radius=100.0), LeastSquares(features, labels)
    game = tarry.Game(ball, losses, tarry.delays.array([0] * 24), feedback="example", capacity=3)
    batching = tarry.schedulers.Batching(8)
    record = tarry.simulate(game, tarry.Player(Ridge(ball, penalty), batching), seeds=[5], keep_rounds=True)
    weights, batch = record.rounds()["weight"].to_numpy(), batching.batch(3)
    assert batch == 4
    for t, play in enumerate(record.plays()):
        ended = t - t % batch
        expected = solved(features[:ended], labels[:ended], weights[:ended], penalty)
        np.testing.assert_allclose(play, expected, atol=1e-9)
