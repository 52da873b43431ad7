"""Players whose parts contradict each other are refused, in sentences."""

from __future__ import annotations

import pytest

import tarry
from tarry.learners import BOLD, DOGD, DWFTRL, EntropicFTRL
from tarry.learners.base import Learner, notice
from tarry.rates import BanditRate
from tarry.schedulers import Batching, DoublingBernoulli

BALL = tarry.domains.Ball(2)
EPOCHS = tarry.Doubling("backlog")


class _Watcher(Learner):
    """A learner of somebody else's that counts the tracked rounds by itself."""

    unused: float

    feedback = "gradient"


@pytest.fixture
def watcher(monkeypatch):
    monkeypatch.setitem(notice.members, _Watcher, lambda learner, state, t, tracked: None)
    return _Watcher.make(0.0)


@pytest.mark.parametrize("learner", [DOGD(BALL, rate=0.1), EntropicFTRL(3, rate=0.1), BOLD(DOGD(BALL, rate=0.1))])
def test_batches_and_rates_that_do_not(learner):
    assert tarry.Player(learner, Batching(6)).learner is learner


def test_batches_and_learners_that_count_the_set(watcher):
    with pytest.raises(ValueError, match="counts the tracked rounds"):
        tarry.Player(watcher, Batching(6))
    assert tarry.Player(watcher, DoublingBernoulli(), EPOCHS).learner is watcher


def test_rules_for_values_are_checked_in_any_learner():
    following = DWFTRL(BALL, rate=BanditRate.for_backlog(2.0, 1.0, 1.0, 5))
    with pytest.raises(ValueError, match="follow a guess of the backlog"):
        tarry.Player(following)
    tuned = tarry.Player(DWFTRL(BALL, rate=BanditRate.for_backlog(2.0, 1.0, 1.0, 5, 30)))
    with pytest.raises(tarry.errors.NotGranted, match="tuned to a capacity of 5, this game or session has 9"):
        tarry.Session(tuned, capacity=9)
    assert tarry.Session(tuned, capacity=5).ask().tracked
