"""Every member against the contract."""

from __future__ import annotations

import numpy as np
import pytest

from tarry import schedulers
from tarry.testing import SchedulerContract, follow


def pareto_tail(t, age):
    return min(1.0, 2.0 / (age + 1.0))


class TestPareto(SchedulerContract):
    scheduler = schedulers.Pareto(2.0)
    information = "non-clairvoyant"
    saturates = True


class TestParetoAsPrinted(SchedulerContract):
    scheduler = schedulers.Pareto()
    capacity = 12
    saturates = True


class TestBernoulli(SchedulerContract):
    scheduler = schedulers.Bernoulli(probability=0.3)
    information = "non-clairvoyant"
    preemption = False
    saturates = True


class TestBernoulliAsPrinted(SchedulerContract):
    scheduler = schedulers.Bernoulli(max_backlog=20)
    preemption = False
    saturates = True


class TestCoin(SchedulerContract):
    scheduler = schedulers.Coin(2.0)
    information = "clairvoyant"
    preemption = False
    saturates = True


class TestProxyByAge(SchedulerContract):
    scheduler = schedulers.Proxy([0.9, 0.5, 0.5, 0.3, 0.1])
    information = "non-clairvoyant"
    saturates = True


class TestProxyByRound(SchedulerContract):
    scheduler = schedulers.Proxy(np.linspace(0.3, 0.6, 120)[:, None] * np.geomspace(1, 0.2, 9))
    saturates = True


class TestProxyByFunction(SchedulerContract):
    scheduler = schedulers.Proxy(pareto_tail)
    saturates = True


class TestLevelProxy(SchedulerContract):
    scheduler = schedulers.Proxy([[0.4], [0.2]])
    preemption = False
    saturates = True


class TestVarOpt(SchedulerContract):
    scheduler = schedulers.VarOpt()
    information = "non-clairvoyant"


class TestVarOptWithOneSlot(SchedulerContract):
    scheduler = schedulers.VarOpt()
    capacity = 1


class TestPriority(SchedulerContract):
    scheduler = schedulers.Priority()
    information = "non-clairvoyant"


class TestMorris(SchedulerContract):
    scheduler = schedulers.Morris(0.5)
    information = "non-clairvoyant"
    preemption = False
    saturates = True


class TestThinning(SchedulerContract):
    scheduler = schedulers.Thinning(safety=2.0)
    saturates = True


class TestBatching(SchedulerContract):
    scheduler = schedulers.Batching(max_delay=30)
    information = "non-clairvoyant"
    preemption = False

    @property
    def delays(self):
        return np.minimum(super().delays, 30)


class TestGuessing(SchedulerContract):
    scheduler = schedulers.DoublingBernoulli(safety=20.0)
    preemption = False
    saturates = True


class TestAlways(SchedulerContract):
    scheduler = schedulers.Always()
    capacity = None
    preemption = False


class TestDropNewest(SchedulerContract):
    scheduler = schedulers.DropNewest()
    information = "non-clairvoyant"
    preemption = False


class TestDropOldest(SchedulerContract):
    scheduler = schedulers.DropOldest()
    information = "non-clairvoyant"


class TestTimeout(SchedulerContract):
    scheduler = schedulers.Timeout(6)
    information = "non-clairvoyant"


class TestSkipping(SchedulerContract):
    scheduler = schedulers.Skipping(3, patience=2.0)
    information = "non-clairvoyant"


class TestRandomEvict(SchedulerContract):
    scheduler = schedulers.RandomEvict()
    information = "non-clairvoyant"


class TestReservoir(SchedulerContract):
    scheduler = schedulers.Reservoir()


def test_contract_sees_every_member():
    covered = {type(c.scheduler).__name__ for c in SchedulerContract.__subclasses__()}
    assert covered == set(schedulers.__all__)


class WeightsOne(SchedulerContract):
    """A policy that calls itself unbiased and is not."""

    scheduler = schedulers.DropOldest()
    saturates = False


def test_contract_can_fail():
    contract = WeightsOne()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedulers.DropOldest, "is_unbiased", True)
        with pytest.raises(AssertionError, match="mean weight off"):
            contract.test_mean_weight()
    contract.preemption = False
    with pytest.raises(AssertionError, match="preempts where"):
        contract.test_tracks_pending_rounds_within_capacity()


def test_follow_cuts_delays():
    assert follow(schedulers.VarOpt(), [9, 9], capacity=2).weight.tolist() == [1.0, 1.0]


def arrays_of(state):
    for part in state:
        yield from arrays_of(part) if isinstance(part, tuple) else [part]
