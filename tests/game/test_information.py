"""Players see what the information model grants, and no more."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import tarry
from tarry.schedulers.base import SATURATED, Scheduler

HORIZON, CAPACITY = 160, 5
RNG = np.random.default_rng(11)
ROWS = RNG.normal(size=(HORIZON, 2))
DELAYS = RNG.integers(0, 40, HORIZON)
DOMAIN = tarry.domains.Ball(2)


def _schedulers():
    s = tarry.schedulers
    return [
        s.VarOpt(), s.Priority(), s.Morris(0.5), s.Pareto(), s.Bernoulli(probability=0.4), s.Timeout(9),
        s.DropNewest(), s.DropOldest(), s.RandomEvict(), s.Reservoir(), s.Thinning(2.0), s.Batching(40), s.Coin(),
    ]  # fmt: skip


def _play(scheduler, delays, information, capacity=CAPACITY, feedback="gradient"):
    game = tarry.Game(
        DOMAIN,
        tarry.losses.Linear(ROWS),
        tarry.delays.array(delays),
        capacity=capacity,
        information=information,
        feedback=feedback,
    )
    if feedback == "gradient":
        learner = tarry.learners.DWFTRL(DOMAIN, rate=0.1)
    else:
        learner = tarry.learners.DWFTBL(DOMAIN, rate=0.01, smoothing=0.3)
    return tarry.simulate(game, tarry.Player(learner, scheduler), seeds=[3], keep_rounds=True)


@pytest.mark.parametrize("information", ["semi-clairvoyant", "non-clairvoyant"])
@pytest.mark.parametrize("scheduler", _schedulers(), ids=lambda s: type(s).__name__)
def test_delays_still_to_come_do_not_matter(scheduler, information):
    if scheduler.needs_delays or (scheduler.needs_acknowledgements and information.startswith("non")):
        return
    now = 100
    rounds = np.arange(HORIZON)
    open_now = rounds + DELAYS >= now
    poisoned = np.where(open_now, RNG.integers(HORIZON, 10**6, HORIZON), DELAYS)
    first = _play(scheduler, DELAYS, information).plays()[: now + 1]
    second = _play(scheduler, poisoned, information).plays()[: now + 1]
    assert np.array_equal(first, second)


@pytest.mark.parametrize("scheduler", _schedulers(), ids=lambda s: type(s).__name__)
def test_without_acknowledgements_untracked_delays_never_matter(scheduler):
    if scheduler.needs_delays or scheduler.needs_acknowledgements:
        return
    record = _play(scheduler, DELAYS, "non-clairvoyant")
    used = record.events().filter(record.events()["event"] == "feedback")["s"].to_numpy()
    departed = record.events().filter(record.events()["event"] == "preempted")
    poisoned = DELAYS.copy()
    left = dict(zip(departed["s"].to_list(), departed["t"].to_list(), strict=True))
    entered = set(record.events().filter(record.events()["event"] == "entered")["s"].to_list())
    changed = 0
    for t in range(1, HORIZON + 1):
        if t in set(used.tolist()):
            continue
        # A round that was preempted at round v may arrive any time from v on; one never tracked, any time.
        earliest = left[t] - t if t in entered else 0
        poisoned[t - 1] = RNG.integers(earliest, earliest + 50)
        changed += 1
    assert changed > 20
    again = _play(scheduler, poisoned, "non-clairvoyant")
    assert np.array_equal(record.plays(), again.plays())


def test_the_poison_is_seen_where_it_may_be():
    """The clairvoyant coin reads the delay of the round itself; so plays do change there."""
    coin = tarry.schedulers.Coin(safety=1.0)
    poisoned = np.where(np.arange(HORIZON) < 40, DELAYS + 20, DELAYS)
    assert not np.array_equal(_play(coin, DELAYS, "clairvoyant").plays(), _play(coin, poisoned, "clairvoyant").plays())


@pytest.mark.parametrize("feedback", ["gradient", "value"])
@pytest.mark.parametrize(
    "scheduler",
    [tarry.schedulers.VarOpt(), tarry.schedulers.Pareto(), tarry.schedulers.Bernoulli(probability=0.4)],
    ids=lambda s: type(s).__name__,
)
def test_the_three_models_agree_where_they_must(scheduler, feedback):
    plays = [
        _play(scheduler, DELAYS, information, feedback=feedback).plays()
        for information in ("clairvoyant", "semi-clairvoyant", "non-clairvoyant")
    ]
    assert np.array_equal(plays[0], plays[1])
    assert np.array_equal(plays[0], plays[2])


@pytest.mark.parametrize(
    "scheduler",
    [tarry.schedulers.VarOpt(), tarry.schedulers.Bernoulli(probability=1.0), tarry.schedulers.DropNewest()],
    ids=lambda s: type(s).__name__,
)
def test_room_for_everybody_is_unlimited_capacity(scheduler):
    delays = np.where(np.arange(HORIZON) < 100, DELAYS, 0)  # the peak lies in the middle, so a lost label shows
    peak = tarry.delays.array(delays).max_backlog
    unlimited = _play(tarry.schedulers.Always(), delays, "semi-clairvoyant", capacity=None).plays()
    assert np.array_equal(unlimited, _play(scheduler, delays, "semi-clairvoyant", capacity=peak + 1).plays())
    assert np.array_equal(unlimited, _play(scheduler, delays, "semi-clairvoyant", capacity=None).plays())
    assert not np.array_equal(unlimited, _play(scheduler, delays, "semi-clairvoyant", capacity=peak).plays())


class Told(NamedTuple):
    pending: np.ndarray  # by slot


class Listener(Scheduler):
    """Weigh a round by the number of pending rounds that its admission was told, without asking for it."""

    is_unbiased = False

    def allocate(self, slots, capacity):
        return Told(np.zeros(slots))

    def admit(self, state, draws, request):
        if request.vacancy < 0:
            return SATURATED
        state.pending[request.vacancy] = request.pending
        return request.vacancy

    def arrive(self, state, slot, s, t):
        return 2.0 + state.pending[slot]


def test_pending_rounds_that_nobody_counts_are_not_told():
    """Else the number would depend on which ends are played out."""
    horizon, learner = 12, tarry.learners.DWFTRL(DOMAIN, rate=0.1)
    delays, linear = tarry.delays.fixed(horizon=horizon, delay=3), tarry.losses.Linear(ROWS[:horizon])
    game, player = tarry.Game(DOMAIN, linear, delays, capacity=2), tarry.Player(learner, Listener())
    for keep in (False, True):
        assert tarry.simulate(game, player, keep_rounds=keep).weights.max.tolist() == [1.0]
    session = tarry.Session(player, capacity=2, information="semi-clairvoyant")
    for t in range(horizon):
        session.ask(t)
        if t >= 3:
            session.tell(t - 3, gradient=ROWS[t - 3])
    assert session.status().weights.max == 1.0
    counting = tarry.Player(tarry.learners.DWFTRL(DOMAIN, rate=tarry.rates.Anytime(1.0, 1.0)), Listener())
    assert tarry.simulate(game, counting).weights.max.tolist() == [2.0 + 3.0]
