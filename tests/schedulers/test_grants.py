"""Schedulers are refused where the game does not grant what they need."""

from __future__ import annotations

import numpy as np
import pytest

import tarry
from tarry import schedulers
from tarry.errors import NotGranted

PREEMPTING = [
    schedulers.VarOpt(),
    schedulers.Priority(),
    schedulers.Pareto(),
    schedulers.Proxy([0.5, 0.2]),
    schedulers.DropOldest(),
    schedulers.Timeout(3),
    schedulers.RandomEvict(),
    schedulers.Reservoir(),
]
PATIENT = [
    schedulers.Bernoulli(max_backlog=3),
    schedulers.Morris(0.5),
    schedulers.Batching(max_delay=2),
    schedulers.Proxy([0.5]),
    schedulers.DropNewest(),
]


def run(scheduler, **rules):
    domain = tarry.domains.Ball(1)
    game = tarry.Game(
        domain=domain,
        losses=tarry.losses.Linear(np.ones((8, 1))),
        delays=tarry.delays.fixed(horizon=8, delay=2),
        **{"capacity": 2, **rules},
    )
    return tarry.simulate(game, tarry.Player(tarry.learners.DWFTRL(domain, rate=0.1), scheduler))


@pytest.mark.parametrize("scheduler", PREEMPTING, ids=lambda s: type(s).__name__)
def test_preemption(scheduler):
    with pytest.raises(NotGranted, match="preempts tracked rounds"):
        run(scheduler, preemption=False)


@pytest.mark.parametrize("scheduler", PATIENT, ids=lambda s: type(s).__name__)
def test_no_preemption_needed(scheduler):
    assert run(scheduler, preemption=False, information="non-clairvoyant").fates[:, 3].sum() == 0


@pytest.mark.parametrize("information", ["semi-clairvoyant", "non-clairvoyant"])
def test_delays(information):
    with pytest.raises(NotGranted, match="needs each delay"):
        run(schedulers.Coin(), information=information)


def test_acknowledgements():
    with pytest.raises(NotGranted, match="needs acknowledgements"):
        run(schedulers.Reservoir(), information="non-clairvoyant")


def test_no_limit():
    with pytest.raises(NotGranted, match="needs capacity=None, got capacity=2"):
        run(schedulers.Always())
    assert run(schedulers.Always(), capacity=None).weights.second_moment == 1.0


def test_single_slot():
    with pytest.raises(ValueError, match="infinite second moment"):
        run(schedulers.Priority(), capacity=1)
