"""Fixed seeds, four standard errors: means, second moments, and the bias of naive policies."""

from __future__ import annotations

import numpy as np
import pytest
from marking import slow_but

import tarry
from tarry import schedulers
from tarry.delays.base import backlog_of
from tarry.testing import follow

HORIZON = 400
CAPACITY = 16


def is_within(values, expected):
    """Whether a sample's mean is within four standard errors of what it should be."""
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    return abs(np.mean(values) - expected) <= 4 * error + 1e-12


def mixed_delays(horizon=HORIZON):
    rng = np.random.default_rng(11)
    return np.where(rng.random(horizon) < 0.1, 60, rng.geometric(0.2, horizon) - 1)


MEMBERS = {
    "Pareto": (schedulers.Pareto(1.2), True),
    "Bernoulli": (schedulers.Bernoulli(max_backlog=20, safety=2.0), True),
    "Coin": (schedulers.Coin(0.6), True),
    "Proxy": (schedulers.Proxy([0.9, 0.9, 0.5, 0.5, 0.3]), True),
    "Morris": (schedulers.Morris(0.2), True),
    "VarOpt": (schedulers.VarOpt(), False),
    "Priority": (schedulers.Priority(), False),
}


@pytest.mark.jit(only=True)
@pytest.mark.parametrize("name", slow_but(MEMBERS, {"VarOpt"}))
def test_mean_weight(name):
    """Over the odd rounds, weight plus missing room is 1; two per cent more or less is noticed."""
    scheduler, saturates = MEMBERS[name]
    odd = slice(0, None, 2)
    # Few slots, so that a member that can saturate does.
    game = {"capacity": 8, "information": "clairvoyant", "compiled": True}
    delays = mixed_delays()
    traces = [follow(scheduler, delays, seed=seed, **game) for seed in range(4000)]
    full = np.array([(trace.before == 8)[odd].mean() for trace in traces])
    means = np.array([trace.weight[odd].mean() for trace in traces]) + saturates * full
    assert full.max() > 0
    assert is_within(means, 1.0)
    assert not is_within(1.02 * means, 1.0)
    assert not is_within(0.98 * means, 1.0)


@pytest.mark.parametrize("name", MEMBERS)
def test_follow_plays_the_game_of_simulate(name):
    scheduler, _ = MEMBERS[name]
    domain = tarry.domains.Ball(1)
    game = tarry.Game(
        domain=domain,
        losses=tarry.losses.Linear(np.ones((HORIZON, 1))),
        delays=tarry.delays.array(mixed_delays()),
        capacity=CAPACITY,
        information="clairvoyant",
    )
    player = tarry.Player(tarry.learners.DWFTRL(domain, rate=0.1), scheduler)
    record = tarry.simulate(game, player, seeds=[5], keep_rounds=True)
    trace = follow(scheduler, mixed_delays(), capacity=CAPACITY, information="clairvoyant", seed=5)
    assert np.array_equal(record.rounds()["weight"].to_numpy(), trace.weight)
    assert np.array_equal(record.fates[0], trace.fates)
    assert record.occupancy.mean[0] == trace.before.mean()


def lomax(rng, shape, size):
    return (1.0 - rng.random(size)) ** (-1 / shape) - 1.0


def families(horizon):
    rng = np.random.default_rng(2)
    t = np.arange(horizon)
    return {
        "fixed": np.full(horizon, 200),
        "geometric": rng.geometric(1 / 200, horizon) - 1,
        "heavy": np.floor(np.minimum(20 * lomax(rng, 0.9, horizon), horizon)).astype(np.int64),
        "bursts": np.where((t // 250) % 2 == 0, 400, 3),
        "zero": np.zeros(horizon, np.int64),
    }


SECOND_MOMENTS = [(schedulers.VarOpt(), 1.25), (schedulers.Priority(), 1.4)]


@pytest.mark.jit(only=True)
@pytest.mark.parametrize("family", families(8))
@pytest.mark.parametrize(("scheduler", "factor"), SECOND_MOMENTS, ids=["VarOpt", "Priority"])
def test_second_moment(scheduler, factor, family):
    """Mean E[w²] is near (mean backlog + 1)/C; with no backlog nothing is lost and it is exactly 1."""
    horizon = 2000
    delays = families(horizon)[family]
    cut = np.minimum(delays, np.arange(horizon)[::-1])
    reference = (backlog_of(cut).mean() + 1) / CAPACITY
    seen = [
        np.mean(follow(scheduler, delays, capacity=CAPACITY, seed=seed, compiled=True).weight ** 2)
        for seed in range(1000)
    ]
    if family == "zero":
        assert np.all(np.array(seen) == 1.0)
        return
    error = np.std(seen, ddof=1) / np.sqrt(len(seen))
    assert error <= 0.02 * np.mean(seen)
    assert np.mean(seen) <= factor * reference
    # Below (mean √(d+1))²/C no unbiased scheduler can go.
    assert np.mean(seen) >= np.mean(np.sqrt(cut + 1.0)) ** 2 / CAPACITY - 4 * error


NAIVE = [
    schedulers.DropNewest(),
    schedulers.DropOldest(),
    schedulers.Timeout(8),
    schedulers.RandomEvict(),
    schedulers.Reservoir(),
]


def slow_when_bad(horizon=240):
    """Outcomes 1 come in stretches and late, outcomes 0 soon: the delay tells the outcome."""
    outcome = (np.arange(horizon) // 30) % 2 == 1
    return outcome.astype(float), np.where(outcome, 25, 1)


def estimates(scheduler, seeds=100):
    """The weighted mean of the outcomes, and its ratio form Σwy/Σw, per seed."""
    outcome, delays = slow_when_bad()
    traces = [follow(scheduler, delays, capacity=6, seed=seed).weight for seed in range(seeds)]
    sums = np.array([weight @ outcome for weight in traces])
    return sums / outcome.size, sums / np.array([weight.sum() for weight in traces])


@pytest.mark.parametrize("scheduler", slow_but(NAIVE, NAIVE[:1]), ids=lambda s: type(s).__name__)
def test_naive_policies_are_biased(scheduler):
    outcome, _ = slow_when_bad()
    assert not scheduler.is_unbiased
    mean, ratio = estimates(scheduler)
    assert not is_within(mean, outcome.mean())
    assert np.mean(ratio) < 0.8 * outcome.mean()
    assert not is_within(ratio, outcome.mean())


@pytest.mark.parametrize("scheduler", [schedulers.VarOpt(), schedulers.Priority()])
def test_ours_are_not(scheduler):
    outcome, _ = slow_when_bad()
    mean, _ = estimates(scheduler)
    assert is_within(mean, outcome.mean())
    assert not is_within(mean * 0.9, outcome.mean())
