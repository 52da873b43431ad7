"""Comparators that move: the order of arrival by exact enumeration, the bound on drifting games, each with controls."""

from __future__ import annotations

from itertools import product
from math import sqrt

import numpy as np
import pytest
from paths import varopt_paths

import tarry
from tarry import theory
from tarry.domains import Ball
from tarry.learners import DOGD, OGD
from tarry.rates import Anytime

LINE = Ball(1)
T = 4
ALL = list(product(*(range(T - t) for t in range(T))))
GAMES = [((1, 1, -1, -1), (-1, -1, 1, 1)), ((1, -1, 1, 1), (-1, 1, -1, -1)), ((1, 1, 1, -1), (-1, -1, -1, -1))]


def _expected(learner, signs, path, delays, capacity):
    """Exact means: the regret, what arrives in the round's own place, and the two movements; the path's own two."""
    rows = np.array(signs, float)
    late = tarry.delays.array(delays)
    game = tarry.Game(LINE, tarry.losses.Linear(rows[:, None]), late, capacity=capacity, information="non-clairvoyant")
    found = np.zeros(4)  # regret, Σ⟨c_v, x_v − u_v⟩, Σ h_{v+1}|x_{v+1} − x_v|, ½Σ A_v²
    for one in varopt_paths(delays, capacity):
        x = tarry.simulate(game, learner, draws=tarry.Recorded(lost=one.lost), keep_rounds=True).plays()[:, 0]
        h = np.array([float(number) for number in one.held(delays)])
        w = np.array([float(number) for number in one.weights])
        came, weight = np.zeros((2, T))
        np.add.at(came, np.arange(T) + late.values, w * rows)
        np.add.at(weight, np.arange(T) + late.values, w)
        parts = [rows @ (x - path), came @ (x - path), h[1:T] @ np.abs(np.diff(x)), weight @ weight / 2]
        found += float(one.probability) * np.array(parts)
    return found, late.backlog()[1:] @ np.abs(np.diff(path)), np.abs(np.diff(path)).sum()


@pytest.mark.parametrize(("kind", "capacity"), [(DOGD, 1), (DOGD, 2), (OGD, 2)])
def test_delays_are_movement_costs(kind, capacity):
    """Never exceeded, but without the path's own movement, or with a little less of the play's, it is."""
    eta, missed, cheap = 0.4, 0, 0
    for delays, (signs, path) in product(ALL, GAMES):
        means, waits, length = _expected(kind(LINE, eta), signs, path, delays, capacity)
        regret, placed, moves, squares = means
        assert regret <= placed + moves + waits + 1e-12
        assert placed <= (4 + 4 * length) / (2 * eta) + eta * squares + 1e-12
        assert regret <= (4 + 4 * length) / (2 * eta) + eta * (T / 2 + sum(delays)) + waits + 1e-12
        missed += regret > placed + moves + 1e-9
        cheap += regret > placed + 0.9 * moves + waits + 1e-9
    assert missed > 0
    # One slot is empty whenever the play moves: nothing is held then.
    assert (cheap > 0) == (capacity > 1)


def test_one_fixed_action_is_a_path_of_length_0():
    game = {"diameter": 2.0, "gradient_bound": 3.0, "horizon": 50, "total_delay": 70}
    for rate in ("tuned", "anytime"):
        found = theory.dynamic_bound(**game, max_backlog=9, path_length=0.0, rate=rate)
        assert found == pytest.approx(theory.varopt_bound(**game, rate=rate))


def test_the_rate_of_a_path_is_the_least_of_its_bound():
    learner = DOGD.tuned(Ball(2), 3.0, 50, 70, path_length=1.5)
    steps = [learner.rate.value * factor for factor in (0.9, 1.0, 1.1)]
    bounds = [(4 + 4 * 1.5) / (2 * eta) + eta * 9 * (25 + 70) for eta in steps]
    assert bounds[1] == min(bounds)
    stated = {"diameter": 2.0, "gradient_bound": 3.0, "horizon": 50, "total_delay": 70, "path_length": 1.5}
    assert theory.dynamic_bound(**stated, max_backlog=0) == pytest.approx(bounds[1])
    assert theory.dynamic_bound(**stated, max_backlog=2) == pytest.approx(bounds[1] + 3 * 2 * 1.5)


LATE, TURNS = 20, 1.0


def _drifting(horizon, capacity):
    """Losses that turn slowly in a plane, and go to and fro across it against the delay; the path that follows."""
    angle = np.linspace(0, 2 * np.pi * TURNS, horizon)
    turning = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    across = np.where(np.arange(horizon) // (LATE + 1) % 2 == 0, 1.0, -1.0)
    rows = across[:, None] * [0.0, 0.0, 0.9] - sqrt(0.19) * turning
    waits = tarry.delays.fixed(horizon=horizon, delay=LATE)
    game = tarry.Game(Ball(3), tarry.losses.Linear(rows), waits, capacity=capacity, information="non-clairvoyant")
    return game, turning


def _share(game, path, learner, rate, seeds):
    """Mean dynamic regret and its standard error, as shares of the bound."""
    found = tarry.simulate(game, learner, seeds, bound=False, keep_rounds=True, checkpoints=1).regret_against(path)
    late = game.delays.summary()
    bound = theory.dynamic_bound(
        diameter=2.0,
        gradient_bound=1.0,
        horizon=game.horizon,
        total_delay=late.total_delay,
        max_backlog=late.max_backlog,
        path_length=found.path_length,
        rate=rate,
    )
    return found.regret.mean() / bound, found.regret.std() / sqrt(seeds) / bound


@pytest.mark.slow
@pytest.mark.jit(only=True)
@pytest.mark.parametrize("capacity", [1, 2, 16, None])
def test_dynamic_regret_on_drifting_games(capacity):
    horizon, seeds = 64_000, 12
    game, path = _drifting(horizon, capacity)
    length, total = 2 * np.pi * TURNS, game.delays.total_delay
    tuned = DOGD.tuned(game.domain, 1.0, horizon, total, path_length=length)
    free = DOGD(game.domain, Anytime(sqrt(4 + 4 * length), 1.0))
    for learner, rate in ((tuned, "tuned"), (OGD(game.domain, tuned.rate), "tuned"), (free, "anytime")):
        share, error = _share(game, path, learner, rate, seeds)
        assert share + 3 * error < 1
    for control in (DOGD(game.domain, 1e-12), DOGD(game.domain, 30 * tuned.rate.value)):
        share, error = _share(game, path, control, "tuned", seeds)
        assert share - 3 * error > 1
