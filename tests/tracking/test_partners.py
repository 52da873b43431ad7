"""Players whose parts contradict each other are refused, in sentences."""

from __future__ import annotations

import numpy as np
import pytest

import tarry
from tarry.learners import BOLD, DOGD, DWFTBL, DWFTRL, EntropicFTRL
from tarry.learners.base import Learner, notice
from tarry.rates import BanditRate, EnergyRadius, EnergyRate
from tarry.schedulers import Batching, DoublingBernoulli

BALL = tarry.domains.Ball(2)
RADIUS = EnergyRadius(1.0, 0.3, 8, 100)
ENERGY = DWFTBL(BALL, rate=EnergyRate(2.0, 1.0, RADIUS), smoothing=RADIUS)
EPOCHS = tarry.Doubling("backlog")


def _mixed(**changes):
    return DWFTBL(BALL, rate=EnergyRate(2.0, 1.0, RADIUS), smoothing=EnergyRadius(1.0, 0.3, 8, 100, **changes))


class _Watcher(Learner):
    """A learner of somebody else's that counts the tracked rounds by itself."""

    unused: float

    feedback = "gradient"


@pytest.fixture
def watcher(monkeypatch):
    monkeypatch.setitem(notice.members, _Watcher, lambda learner, state, t, tracked: None)
    return _Watcher.make(0.0)


def test_batches_and_rates_that_count_the_set():
    with pytest.raises(ValueError, match=r"Batching withholds feedback .* counts the tracked rounds"):
        tarry.Player(ENERGY, Batching(6), EPOCHS)


@pytest.mark.parametrize("learner", [DOGD(BALL, rate=0.1), EntropicFTRL(3, rate=0.1), BOLD(DOGD(BALL, rate=0.1))])
def test_batches_and_rates_that_do_not(learner):
    assert tarry.Player(learner, Batching(6)).learner is learner


def test_batches_and_learners_that_count_the_set(watcher):
    with pytest.raises(ValueError, match="counts the tracked rounds"):
        tarry.Player(watcher, Batching(6))
    assert tarry.Player(watcher, DoublingBernoulli(), EPOCHS).learner is watcher


@pytest.mark.parametrize(
    ("learner", "scheduler", "sentence"),
    [
        (_mixed(factor=2.0), DoublingBernoulli(), "tuned to each other"),
        (_mixed(safety=4.0), DoublingBernoulli(), "tuned to each other"),
        (DWFTBL(BALL, rate=0.1, smoothing=RADIUS), DoublingBernoulli(), "tuned to each other"),
        (DWFTRL(BALL, rate=EnergyRate(2.0, 1.0, RADIUS)), DoublingBernoulli(), "tuned to each other"),
        (ENERGY, DoublingBernoulli(2.0), r"use DoublingBernoulli\(8\)"),
        (ENERGY, DoublingBernoulli(fit=True), r"use DoublingBernoulli\(8\)"),
        (ENERGY, None, "got VarOpt"),
    ],
)
def test_one_coin_for_all(learner, scheduler, sentence):
    with pytest.raises(ValueError, match=sentence):
        tarry.Player(learner, scheduler, EPOCHS)


def test_the_horizon_of_the_tuning_is_kept():
    losses, delays = tarry.losses.Linear(np.ones((120, 2))), tarry.delays.fixed(horizon=120, delay=4)
    game = tarry.Game(BALL, losses, delays, capacity=8, feedback="value")
    with pytest.raises(ValueError, match="tuned to a horizon of 100, the game has 120 rounds"):
        tarry.simulate(game, tarry.Player(ENERGY, DoublingBernoulli(), EPOCHS))


def test_rules_for_values_are_checked_in_any_learner():
    following = DWFTRL(BALL, rate=BanditRate.for_backlog(2.0, 1.0, 1.0, 5))
    with pytest.raises(ValueError, match="follow a guess of the backlog"):
        tarry.Player(following)
    tuned = tarry.Player(DWFTRL(BALL, rate=BanditRate.for_backlog(2.0, 1.0, 1.0, 5, 30)))
    with pytest.raises(tarry.errors.NotGranted, match="tuned to a capacity of 5, this game or session has 9"):
        tarry.Session(tuned, capacity=9)
    assert tarry.Session(tuned, capacity=5).ask().tracked
