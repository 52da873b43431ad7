"""Every member against the contract."""

from __future__ import annotations

import numpy as np
import pytest
from marking import slow_but

from examples import SCHEDULERS, first_of_each
from tarry import schedulers
from tarry.testing import SchedulerContract, follow

FIRST = first_of_each(SCHEDULERS, lambda policy: type(policy.scheduler)).values()
ENUMERATED = {"Pareto", "Bernoulli", "Coin", "Proxy", "VarOpt", "Priority", "Morris"}  # their means are exact elsewhere


@pytest.mark.parametrize("name", slow_but(SCHEDULERS, FIRST))
class TestSchedulers(SchedulerContract):
    @pytest.fixture(autouse=True)
    def _choose(self, name):
        policy = SCHEDULERS[name]
        self.scheduler, self.capacity, self.information, self.preemption, self.saturates = policy[:5]
        self._longest = policy.longest

    @pytest.mark.parametrize("seeds", slow_but([None, 200], {None}))
    def test_mean_weight(self, seeds, name):
        self.seeds = seeds or (50 if name in ENUMERATED else 200)
        super().test_mean_weight()

    @property
    def delays(self):
        return super().delays if self._longest is None else np.minimum(super().delays, self._longest)


def test_contract_sees_every_member():
    forgotten = {type(policy.scheduler).__name__ for policy in SCHEDULERS.values()} ^ set(schedulers.__all__)
    assert not forgotten, f"{forgotten}: a Policy for each scheduler in SCHEDULERS of tests/support/examples.py"


class WeightsOne(SchedulerContract):
    """A policy that calls itself unbiased and is not."""

    scheduler = schedulers.DropOldest()
    saturates = False
    seeds = 50


def test_contract_can_fail():
    contract = WeightsOne()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedulers.DropOldest, "is_unbiased", True)
        with pytest.raises(AssertionError, match="mean weight off"):
            contract.test_mean_weight()
    contract.preemption = False
    with pytest.raises(AssertionError, match="preempts where"):
        contract.test_tracks_pending_rounds_within_capacity()


def test_a_contract_that_does_not_know_of_a_full_set_says_what_is_missing():
    contract = SchedulerContract()
    contract.scheduler, contract.seeds = schedulers.Bernoulli(probability=0.5), 50
    with pytest.raises(AssertionError, match="refuses rounds for want of room, so give the contract saturates = True"):
        contract.test_mean_weight()


def test_follow_cuts_delays():
    assert follow(schedulers.VarOpt(), [9, 9], capacity=2).weight.tolist() == [1.0, 1.0]


def arrays_of(state):
    for part in state:
        yield from arrays_of(part) if isinstance(part, tuple) else [part]


class LightCoin(schedulers.Bernoulli):
    """A coin of a half whose heads weigh 1.9: rounds are a twentieth too light."""

    def arrive(self, state, slot, s, t):
        return 1.9


def test_a_weight_that_is_a_twentieth_off_fails():
    contract = SchedulerContract()
    contract.scheduler, contract.saturates, contract.capacity = LightCoin(probability=0.5), True, 16
    with pytest.raises(AssertionError, match=r"weights of LightCoin are biased: mean weight off by -0\.0"):
        contract.test_mean_weight()
    contract.scheduler = schedulers.Bernoulli(probability=0.5)
    contract.test_mean_weight()
