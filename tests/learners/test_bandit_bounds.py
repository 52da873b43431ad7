"""Regret from values at or below what tunings promise, on losses where the promise is at most three times as much."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest

import tarry
from tarry.domains import Ball
from tarry.learners import DFTBL, DOGD, DWFTBL, GOLD, OGD, Differences, OnePoint, TwoPoint

HORIZON, K, SEEDS = 3000, 2, 4
BALL = Ball(K)
SLOPE = np.full(K, 1 / sqrt(K))  # the same linear loss in every round: G = M = R = r = 1
STEADY = tarry.losses.Linear(np.tile(SLOPE, (HORIZON, 1)))
BIAS = 3.0


def mean_regret(learner, delay, losses=STEADY, seeds=SEEDS):
    waits = tarry.delays.fixed(horizon=HORIZON, delay=delay)
    game = tarry.Game(BALL, losses, waits, feedback="value", queries=learner.queries)
    player = tarry.Player(learner, tarry.schedulers.Always())
    return float(tarry.simulate(game, player, seeds=seeds, bound=False, checkpoints=1).regret.mean())


def out_in_all(delay):
    return int(np.minimum(delay, np.arange(HORIZON)[::-1]).sum())


def one_point(late, make, first, second):
    learner = make(BALL, 1.0, 1.0, HORIZON, late)
    z = K / learner.smoothing
    return learner, sqrt(first(z) * HORIZON + second(z) * late) + BIAS * learner.smoothing * HORIZON


def flaxman(delay, late):
    return OnePoint.flaxman(BALL, 1.0, 1.0, HORIZON), 2 * HORIZON**0.75 * sqrt(3 * K * 2)


def bistritz(delay, late):
    return one_point(late, OnePoint.bistritz, lambda z: z * z, lambda z: 2 * z)


def ryabchenko(delay, late):
    return one_point(late, OnePoint.ryabchenko, lambda z: 2 * z * z, lambda z: 3)


def two_point(delay, late):
    square = K * K / (K - 1)
    return TwoPoint.tuned(BALL, 1.0, HORIZON, late), sqrt(square * HORIZON + 2 * sqrt(square) * late) + 1


def differences(delay, late):
    learner = Differences.tuned(BALL, 1.0, HORIZON, late)
    return learner, sqrt(HORIZON + 2 * late) + BIAS * learner.smoothing * HORIZON


def blocks(delay, late):
    learner = DFTBL.tuned(BALL, 1.0, 1.0, HORIZON, delay)
    return learner, sqrt(2 * HORIZON * (3 * learner.block + 2 * delay)) + BIAS * learner.smoothing * HORIZON


METHODS = [
    (flaxman, 0),
    *((make, d) for make in (bistritz, ryabchenko, two_point, differences, blocks) for d in (0, 40)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("make", "delay"), METHODS, ids=lambda part: getattr(part, "__name__", part))
def test_regret_is_below_the_bound_and_not_far_below(make, delay):
    learner, bound = make(delay, out_in_all(delay))
    regret = mean_regret(learner, delay)
    assert bound / 3 <= regret <= bound, bound / regret


def test_other_steps_break_the_bounds():
    """So the bounds can fail: a base that is far too slow, or far too fast for its delays."""
    _, bound = two_point(40, out_in_all(40))
    assert mean_regret(TwoPoint(DOGD(BALL, rate=1e-5), 1e-4), 40, seeds=1) > bound
    turning = np.where(np.arange(HORIZON) // 41 % 2 == 0, 1.0, -1.0)[:, None] * SLOPE
    assert mean_regret(TwoPoint(OGD(BALL, rate=2.0), 1e-4), 40, tarry.losses.Linear(turning), 1) > bound
    learner, bound = bistritz(0, 0)
    assert mean_regret(OnePoint(OGD(BALL, rate=1e-7), learner.smoothing), 0, seeds=1) > bound


def test_two_points_of_strongly_convex_losses():
    """Targets that turn every round: regret of order ln T, at most (vG²/(2λ))(1 + ln T) + (2r + R)G ln T."""
    targets = np.where(np.arange(HORIZON) % 2 == 0, 1.0, -1.0)[:, None] * SLOPE
    losses = tarry.losses.Quadratic(targets)
    regret = mean_regret(TwoPoint.strongly_convex(BALL, 1.0, HORIZON), 0, losses, 1)
    bound = 4 * 2.0**2 / 2 * (1 + log(HORIZON)) + 3 * 2.0 * log(HORIZON)
    assert bound / 30 <= regret <= bound


@pytest.mark.slow
def test_the_source_s_own_tunings_are_of_their_order():
    for learner, bound in (
        (TwoPoint.agarwal(BALL, 1.0, HORIZON), 2 * K * sqrt(HORIZON)),
        (TwoPoint.shamir(BALL, 1.0, HORIZON), 2 * sqrt(K * HORIZON)),
        (DWFTBL.unlimited(BALL, 1.0, 1.0, HORIZON, 0), 16 * sqrt(K) * HORIZON**0.75),
        (GOLD.tuned(BALL, 1.0, 1.0), 6 * sqrt(K) * HORIZON**0.75),
    ):
        assert bound / 12 <= mean_regret(learner, 0, seeds=2) <= bound


def test_blocks_of_strongly_convex_losses_learn():
    losses = tarry.losses.Quadratic(np.tile(0.6 * SLOPE, (HORIZON, 1)))
    learner = DFTBL.strongly_convex(BALL, 1.0, gradient_bound=1.6, value_bound=1.28, horizon=HORIZON)
    assert 1 < learner.block < HORIZON
    idle = DFTBL(BALL, rate=1e-9, smoothing=learner.smoothing, block=learner.block)
    assert mean_regret(learner, 3, losses, 1) < 0.8 * mean_regret(idle, 3, losses, 1)
