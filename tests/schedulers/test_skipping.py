"""Skipping against its definition, its counts against what is proved, and arms that learn behind it."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tarry
from tarry.errors import NotGranted
from tarry.game import world
from tarry.learners import BOLD, TsallisFTRL
from tarry.learners import base as learners
from tarry.schedulers import (
    Always,
    Batching,
    Bernoulli,
    DropNewest,
    DropOldest,
    Pareto,
    RandomEvict,
    Skipping,
    Timeout,
    VarOpt,
)
from tarry.testing import follow


def slow(delays, actions, patience, capacity=10**9):
    """(when each round was given up, W_t of every round)."""
    horizon = len(delays)
    tracked, given_up, waited, sums = [], np.zeros(horizon, int), 0, []
    for t in range(1, horizon + 1):
        waited += len(tracked)
        sums.append(waited)
        for s in [s for s in tracked if t - s > patience * sqrt(waited / log(actions))]:
            tracked.remove(s)
            given_up[s - 1] = t
        if len(tracked) < capacity:
            tracked.append(t)
        tracked = [s for s in tracked if min(s + delays[s - 1], horizon) > t]
    return given_up, np.array(sums)


@given(st.integers(0, 10**6), st.sampled_from([2, 5, 40]), st.sampled_from([0.5, 1.0, 3.0]))
def test_it_is_its_definition_and_counts_are_as_proved(seed, actions, patience):
    rng = np.random.default_rng(seed)
    horizon = int(rng.integers(5, 120))
    usual = rng.geometric(1 / rng.uniform(1, 10), horizon) - 1
    delays = np.where(rng.random(horizon) < rng.uniform(0, 0.5), horizon, usual)
    trace = follow(Skipping(actions, patience=patience), delays, capacity=None)
    given_up, sums = slow(delays, actions, patience)
    assert np.array_equal(trace.preempted_at, given_up)
    assert np.array_equal(trace.weight, (given_up == 0).astype(float))
    waited = sums[-1]
    assert np.count_nonzero(given_up) <= 2 / patience * sqrt(waited * log(actions)) + 1e-9
    cut = np.minimum(delays, np.arange(horizon)[::-1])
    for size in range(0, horizon, 7):  # R: the slowest rounds
        rest = np.sort(cut)[: horizon - size].sum()
        most = sqrt((rest + size) * log(actions)) + patience * size
        assert sqrt(waited * log(actions)) <= most + 1e-9


def test_with_a_limit_a_full_set_refuses():
    delays = np.random.default_rng(3).integers(0, 30, 200)
    trace = follow(Skipping(4), delays, capacity=3)
    given_up, _ = slow(delays, 4, 1.0, capacity=3)
    assert np.array_equal(trace.preempted_at, given_up)
    assert trace.after.max() == 3


def test_an_epoch_starts_with_nothing_waited():
    """Restarts empty the set; a threshold that remembered would not be that of the new epoch."""
    from tarry.schedulers.base import allocate, renew

    state = allocate(Skipping(3), 4, 4)
    state.waited[0] = 50.0
    renew(Skipping(3), state, 1.0)
    assert state.waited[0] == 0.0


def arms_game(horizon, delays, **options):
    losses = np.ones((horizon, 3))
    losses[:, 2] = 0.0
    return tarry.Game(
        tarry.domains.Simplex(3), tarry.losses.Linear(losses), tarry.delays.array(delays), feedback="value", **options
    )


def test_a_few_endless_rounds_cost_no_more_than_their_number():
    """Below the bound in the non-clairvoyant game, where playing at random is above it."""
    horizon, c = 6000, 1.0
    endless = np.arange(horizon) % 300 == 0
    delays = np.where(endless, horizon, 1)
    game = arms_game(horizon, delays, information="non-clairvoyant")
    player = tarry.Player(TsallisFTRL(3, counts="tracked"), Skipping(3, patience=c))
    record = tarry.simulate(game, player)
    ignored = int(endless.sum())
    bound = 4 * sqrt(3 * horizon) + (sqrt(8) + 2 / c) * (sqrt((horizon + ignored) * log(3)) + c * ignored)
    assert np.all(record.regret <= bound)
    assert bound < horizon * 2 / 3, "else no learner could fail"
    total = int(np.minimum(delays, np.arange(horizon)[::-1]).sum())
    assert 4 * sqrt(3 * horizon) + sqrt(8 * total * log(3)) > bound, "without skipping the bound is worse"


def test_where_nothing_is_given_up_and_all_is_tracked_both_tunings_are_one():
    delays = np.full(150, 4)
    plays = [
        tarry.simulate(arms_game(150, delays), tarry.Player(learner, scheduler), seeds=[3], keep_rounds=True).plays()
        for learner, scheduler in (
            (TsallisFTRL(3), Always()),
            (TsallisFTRL(3, counts="tracked"), Always()),
            (TsallisFTRL(3, counts="tracked"), Skipping(3, patience=100.0)),
        )
    ]
    assert np.array_equal(plays[0], plays[1])
    assert np.array_equal(plays[0], plays[2])


@pytest.mark.parametrize(
    "scheduler", [Skipping(3), Timeout(5), Pareto(2.0), Bernoulli(probability=0.2), DropNewest()], ids=str
)
def test_what_is_counted_is_the_set_at_the_end_of_the_round(scheduler, monkeypatch):
    """Where the pair is allowed; σ adds up what is left of the set when a round's feedback has been heard."""
    counted, held, original = [], [], learners.advance

    def advance(learner, state, t, pending):
        counted.append(int(state.tracked[0]))
        original(learner, state, t, pending)

    def begin(player, setting, draws, state, t, *known, step=world.begin):
        held.append(int(state.table.counts[0]))
        return step(player, setting, draws, state, t, *known)

    monkeypatch.setattr(learners, "advance", advance)
    monkeypatch.setattr(world, "begin", begin)
    delays = np.random.default_rng(6).integers(0, 20, 120)
    player = tarry.Player(TsallisFTRL(3, counts="tracked"), scheduler)
    tarry.simulate(arms_game(120, delays, capacity=5), player, seeds=[1], threads=1)
    assert counted == held[1:]
    assert max(counted) > 1


def test_what_does_not_go_together_is_refused():
    with pytest.raises(ValueError, match="counts must be one of"):
        TsallisFTRL(3, counts="all")
    with pytest.raises(ValueError, match="patience must be"):
        Skipping(3, patience=0.0)
    with pytest.raises(ValueError, match="actions must be"):
        Skipping(1)
    with pytest.raises(ValueError, match="withholds feedback"):
        tarry.Player(TsallisFTRL(3, counts="tracked"), Batching(4))
    for scheduler in (VarOpt(), DropOldest(), RandomEvict()):
        sentence = f"does not notice when {type(scheduler).__name__} hands a slot on .* use Skipping"
        with pytest.raises(ValueError, match=sentence):
            tarry.Player(TsallisFTRL(3, counts="tracked"), scheduler)
    weighted = tarry.WeightedGame(
        tarry.domains.Simplex(3),
        tarry.losses.Linear(np.ones((2, 3))),
        tarry.delays.array([0, 0]),
        [0.0, 1.0],
        feedback="value",
    )
    with pytest.raises(ValueError, match="does not hear of rounds that weigh 0"):
        tarry.simulate(weighted, TsallisFTRL(3, counts="tracked"))
    with pytest.raises(TypeError, match="cannot count the tracked ones"):
        BOLD(TsallisFTRL(3, counts="tracked"))
    game, player = arms_game(20, np.full(20, 2), preemption=False), tarry.Player(TsallisFTRL(3), Skipping(3))
    with pytest.raises(NotGranted, match="preemption"):
        tarry.simulate(game, player)
