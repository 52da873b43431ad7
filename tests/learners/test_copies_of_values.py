"""BOLD and interleaving around learners from values: identities, a plain replay, capacity, growth, a bound."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest

import tarry
from tarry.domains import Ball, Simplex
from tarry.kernel import Purpose, make_key
from tarry.learners import BOLD, DWFTBL, Exp3, Interleaving, TsallisFTRL
from tarry.learners.arms import draw_action
from tarry.learners.base import KeyedDirections
from tarry.rates import Power

RNG = np.random.default_rng(61)
HORIZON, K = 90, 3
LOSSES = RNG.uniform(size=(HORIZON, K))
DELAYS = tarry.delays.array(RNG.integers(0, 9, HORIZON)).values
WEIGHTS = RNG.exponential(size=HORIZON) + 0.1
BASES = {
    "Exp3": Exp3(K, rate=Power(0.8, 0.5)),
    "TsallisFTRL": TsallisFTRL(K),
    "DWFTBL": DWFTBL(Ball(K), rate=Power(0.1, 0.5), smoothing=0.3),
}
SEED = 4


def plays(learner, delays=DELAYS, weights=WEIGHTS):
    game = tarry.WeightedGame(
        learner.domain, tarry.losses.Linear(LOSSES), tarry.delays.array(delays), weights, feedback="value"
    )
    return tarry.simulate(game, learner, seeds=[SEED], keep_rounds=True).plays()


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("delay", [0, 1, 6])
def test_with_a_fixed_delay_bold_is_interleaving(name, delay):
    fixed = np.full(HORIZON, delay)
    found = plays(BOLD(BASES[name]), fixed)
    assert np.array_equal(found, plays(Interleaving(BASES[name], delay), fixed))
    assert not np.array_equal(found, plays(Interleaving(BASES[name], delay + 1), fixed))


@pytest.mark.parametrize("name", BASES)
def test_without_delay_both_are_their_base(name):
    none = np.zeros(HORIZON, int)
    alone = plays(BASES[name], none)
    for learner in (Interleaving(BASES[name], 0), BOLD(BASES[name])):
        assert np.array_equal(alone, plays(learner, none))


def replay(weights, delays, rate):
    """BOLD of Exp3 with rate/√n, in plain Python; a round without weight was not tracked."""
    directions = KeyedDirections(make_key(SEED, Purpose.DIRECTIONS))
    copies, busy, arms = [], {}, []
    for t in range(HORIZON):
        copy = next(i for i in range(len(copies) + 1) if i not in [held[0] for held in busy.values()])
        if copy == len(copies):
            copies.append([np.zeros(K), np.full(K, 1 / K), 0])
        with np.errstate(over="ignore"):
            arm = draw_action(directions, t + 1, copies[copy][1])
        arms.append(arm)
        if weights[t] > 0:
            busy[t] = (copy, arm, copies[copy][1][arm])
        for s in [s for s in sorted(busy) if s + delays[s] == t]:
            i, drawn, chance = busy.pop(s)
            copies[i][0][drawn] += weights[s] * LOSSES[s, drawn] / chance
            copies[i][2] += 1
            masses = np.exp(-rate / sqrt(copies[i][2]) * copies[i][0])
            copies[i][1] = masses / masses.sum()
    return np.array(arms), len(copies)


def test_bold_of_exp3_is_its_description():
    arms, copies = replay(WEIGHTS, DELAYS, 0.8)
    assert np.array_equal(plays(BOLD(BASES["Exp3"])).argmax(axis=1), arms)
    assert copies == 1 + tarry.delays.array(DELAYS).max_backlog


def test_under_a_capacity_only_tracked_rounds_keep_a_copy():
    game = tarry.Game(
        Simplex(K),
        tarry.losses.Linear(LOSSES),
        tarry.delays.array(DELAYS),
        capacity=4,
        preemption=False,
        feedback="value",
    )
    player = tarry.Player(BOLD(BASES["Exp3"]), tarry.schedulers.Bernoulli(probability=0.5))
    record = tarry.simulate(game, player, seeds=[SEED], keep_rounds=True)
    weights = record.rounds()["weight"].to_numpy()
    assert 0 < np.count_nonzero(weights) < HORIZON
    assert np.array_equal(record.plays().argmax(axis=1), replay(weights, DELAYS, 0.8)[0])


@pytest.mark.parametrize("learner", [BOLD(BASES["Exp3"]), Interleaving(BASES["TsallisFTRL"], 3), BOLD(BASES["DWFTBL"])])
def test_growth_keeps_the_copies(learner):
    """A session without a limit grows in the middle of a run; plays do not notice."""
    unlimited = plays(learner, DELAYS, np.ones(HORIZON))
    session = tarry.Session(tarry.Player(learner, tarry.schedulers.Always()), capacity=None, rng=SEED)
    for t in range(1, HORIZON + 1):
        assert session.ask().play == pytest.approx(unlimited[t - 1], abs=1e-12)
        for s in range(1, t + 1):
            if s + DELAYS[s - 1] == t:
                session.tell(s, value=float(LOSSES[s - 1] @ unlimited[s - 1]))


@pytest.mark.parametrize("scheduler", [tarry.schedulers.VarOpt(), tarry.schedulers.RandomEvict()])
def test_preemption_never_runs_out_of_copies(scheduler):
    for base in BASES.values():
        game = tarry.Game(
            base.domain, tarry.losses.Linear(LOSSES), tarry.delays.array(DELAYS), capacity=2, feedback="value"
        )
        assert np.all(np.isfinite(tarry.simulate(game, tarry.Player(BOLD(base), scheduler), seeds=3).regret))


def test_the_reduction_stays_below_its_bound():
    """(d + 1) · 2√(K n ln K) with n rounds a copy, in a game where playing at random is above it."""
    horizon, delay, k = 1200, 2, 2
    losses, delays = np.tile([1.0, 0.0], (horizon, 1)), tarry.delays.fixed(horizon=horizon, delay=delay)
    turns = horizon / (delay + 1)
    bound = (delay + 1) * 2 * sqrt(k * turns * log(k))
    base = Exp3(k, rate=sqrt(log(k) / (k * turns)))
    game = tarry.WeightedGame(Simplex(k), tarry.losses.Linear(losses), delays, np.ones(horizon), feedback="value")
    regrets = tarry.simulate(game, BOLD(base), seeds=4).regret
    assert np.all(regrets <= bound)
    assert bound < horizon / 2, "else no learner could fail"
