"""replay: a delays-only pass tracks exactly what a game with the same delays and seeds tracks."""

from __future__ import annotations

import numpy as np
import pytest
from marking import slow_but

import tarry
from tarry.errors import NotGranted
from tarry.game import replay, run

HORIZON = 240
DELAYS = tarry.delays.geometric(horizon=HORIZON, mean=25, rng=3)
DOMAIN = tarry.domains.Ball(2)
LOSSES = tarry.losses.Linear(np.random.default_rng(4).normal(size=(HORIZON, 2)))
LEARNER = tarry.learners.DWFTRL(DOMAIN, rate=0.1)

S = tarry.schedulers
MATRIX = [
    (S.VarOpt(), 6),
    (S.Pareto(safety=2.0), 6),
    (S.VarOpt(), 1),
    (S.Priority(), 6),
    (S.Morris(0.4), 6),
    (S.Bernoulli(max_backlog=40), 6),
    (S.Bernoulli(probability=0.5), 6),
    (S.Coin(), 6),
    (S.DropNewest(), 6),
    (S.DropOldest(), 6),
    (S.Timeout(10), 6),
    (S.RandomEvict(), 6),
    (S.Reservoir(), 6),
    (S.Batching(60), 6),
    (S.Thinning(2.0), 6),
    (S.Always(), None),
    (S.VarOpt(), None),
]


@pytest.mark.parametrize(("scheduler", "capacity"), MATRIX, ids=str)
@pytest.mark.parametrize("information", slow_but(["semi-clairvoyant", "clairvoyant"], {"clairvoyant"}))
def test_a_replay_tracks_what_the_game_tracks(scheduler, capacity, information):
    if scheduler.needs_delays and information != "clairvoyant":
        with pytest.raises(tarry.errors.NotGranted):
            replay(scheduler, DELAYS, capacity=capacity, information=information)
        return
    game = tarry.Game(DOMAIN, LOSSES, DELAYS, capacity=capacity, information=information)
    record = tarry.simulate(game, tarry.Player(LEARNER, scheduler), seeds=[3, 0])
    run = replay(scheduler, DELAYS, capacity=capacity, information=information, seeds=[3, 0])
    assert run.seeds == record.seeds
    assert np.array_equal(run.fates, record.fates)
    for ours, theirs in zip((*run.weights, *run.occupancy), (*record.weights, *record.occupancy), strict=True):
        assert np.array_equal(ours, theirs)
    assert np.array_equal(run.observed, record.observed)
    assert run.ledger.equals(record.ledger)


def test_seeds_differ_and_threads_do_not():
    one = replay(S.VarOpt(), DELAYS, capacity=4, seeds=4, threads=1)
    two = replay(S.VarOpt(), DELAYS, capacity=4, seeds=4, threads=3)
    assert np.array_equal(one.weights.second_moment, two.weights.second_moment)
    assert len(set(one.weights.second_moment.tolist())) == 4


def test_what_comes_after_the_last_round_is_heard_in_it_or_not_at_all():
    late = tarry.delays.base.Listed.make(np.full(10, 3), 3)  # not cut to the horizon
    heard, unheard = (replay(S.VarOpt(), late, capacity=4, unheard=one, keep_rounds=True) for one in (False, True))
    assert np.array_equal(heard.heard(), np.ones(10))
    assert np.array_equal(unheard.heard(), np.arange(1, 11) + 3 <= 10)
    assert (heard.fates[0, 0], unheard.fates[0, 0]) == (10, 7)  # used


def test_nothing_is_lost_above_the_peak():
    run = replay(S.VarOpt(), DELAYS, capacity=DELAYS.max_backlog + 1)
    assert run.observed.tolist() == [1.0]
    assert run.weights.second_moment.tolist() == [1.0]


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (lambda: replay(S.VarOpt(), DELAYS, capacity=0), ValueError, "at least 1, got 0"),
        (lambda: replay(S.VarOpt(), [1, 2], capacity=2), TypeError, "made by tarry.delays"),
        (lambda: replay(S.VarOpt(), DELAYS, capacity=2, preemption=False), NotGranted, "VarOpt preempts"),
        (lambda: replay(S.Coin(), DELAYS, capacity=2), NotGranted, "needs each delay"),
        (lambda: replay(S.VarOpt(), DELAYS, capacity=2, information="all"), ValueError, "got 'all'"),
        (lambda: replay(S.VarOpt(), DELAYS, capacity=2, seeds=0), ValueError, "seeds must be"),
    ],
)
def test_refusals(make, error, sentence):
    with pytest.raises(error, match=sentence):
        make()


def test_kept_rounds_are_those_of_a_game():
    game = tarry.Game(DOMAIN, LOSSES, DELAYS, capacity=6)
    record = tarry.simulate(game, tarry.Player(LEARNER, S.VarOpt()), seeds=[3, 5], keep_rounds=True)
    run = replay(S.VarOpt(), DELAYS, capacity=6, seeds=[3, 5], keep_rounds=True)
    for seed in (3, 5):
        np.testing.assert_array_equal(run.heard(seed), record.rounds(seed)["weight"].to_numpy())
        ours, theirs = (one.events(seed) for one in (run, record))
        assert ours.filter(ours["event"] != "expired").equals(theirs.filter(theirs["event"] != "expired"))
    assert run.heard().sum() == pytest.approx(run.weights.mean[0] * HORIZON)


def test_rounds_not_kept_and_unknown_seeds_are_told():
    with pytest.raises(ValueError, match=r"rounds were not kept: run replay\(…, keep_rounds=True\)"):
        replay(S.VarOpt(), DELAYS, capacity=6).heard()
    with pytest.raises(ValueError, match=r"there is no seed 7 in this replay, only \[0\]"):
        replay(S.VarOpt(), DELAYS, capacity=6, keep_rounds=True).events(7)


def test_what_would_not_fit_is_refused_without_advice_that_replay_cannot_take(monkeypatch):
    monkeypatch.setattr(run, "machine_memory", lambda: 5_000)
    with pytest.raises(tarry.errors.TooLarge, match=r"drop keep_rounds \(simulate also takes allow_large=True\)"):
        replay(S.VarOpt(), DELAYS, capacity=2, keep_rounds=True)
