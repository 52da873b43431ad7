"""SOLID, interleaving and BOLD: identities, plain replays, capacity, bounds."""

from __future__ import annotations

import numpy as np
import pytest

import tarry
from tarry.domains import Ball, nearest
from tarry.game.world import run_rounds
from tarry.learners import BOLD, DOGD, DOGDSC, DWFTRL, OGD, SOLID, Exp3, Interleaving
from tarry.learners.base import absorb, allocate, enter, predict
from tarry.rates import Anytime, Power, inverse_time

RNG = np.random.default_rng(12)
HORIZON, K = 80, 3
ROWS = RNG.normal(size=(HORIZON, K))
ROWS /= np.linalg.norm(ROWS, axis=1)[:, None]
DELAYS = tarry.delays.array(RNG.integers(0, 12, HORIZON)).values
WEIGHTS = RNG.exponential(size=HORIZON) + 0.1
UNIT, WIDE = Ball(K), Ball(K, radius=1e3)
BASES = {
    "descent": OGD(UNIT, rate=Power(0.9, 0.5)),
    "delayed descent": DOGD(UNIT, rate=Power(0.9, 0.5), start=[0.1, 0.0, 0.2]),
    "strongly convex descent": DOGDSC(UNIT, strong_convexity=0.5),
    "leader": DWFTRL(UNIT, rate=inverse_time(0.8)),
}


def plays(learner, delays=DELAYS, weights=WEIGHTS):
    game = tarry.WeightedGame(learner.domain, tarry.losses.Linear(ROWS), tarry.delays.array(delays), weights)
    return tarry.simulate(game, learner, keep_rounds=True).plays()


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("delay", [0, 1, 6])
def test_with_a_fixed_delay_bold_is_interleaving(name, delay):
    fixed = np.full(HORIZON, delay)
    assert np.array_equal(plays(BOLD(BASES[name]), fixed), plays(Interleaving(BASES[name], delay), fixed))


@pytest.mark.parametrize("name", BASES)
def test_without_delay_every_reduction_is_its_base(name):
    base, none = BASES[name], np.zeros(HORIZON, int)
    alone = plays(base, none)
    for learner in (SOLID(base), Interleaving(base, 0), BOLD(base)):
        assert np.array_equal(alone, plays(learner, none))


def test_solid_descent_is_descent():
    assert np.array_equal(plays(SOLID(BASES["descent"])), plays(BASES["descent"]))


def test_solid_descent_of_constant_step_without_projection_is_dogd():
    np.testing.assert_allclose(plays(SOLID(OGD(WIDE, rate=0.3))), plays(DOGD(WIDE, rate=0.3)), atol=1e-12)


def test_solid_leader_regularises_by_feedbacks():
    rate, found = 0.8, plays(SOLID(BASES["leader"]))
    anchor, total, x, n = np.zeros(K), np.zeros(K), np.zeros(K), 0
    for t in range(HORIZON):
        np.testing.assert_allclose(found[t], x, atol=1e-12)
        for s in range(t + 1):
            if s + DELAYS[s] == t:
                anchor, total, n = anchor + rate * x, total + WEIGHTS[s] * ROWS[s], n + 1
                x = nearest(UNIT, (anchor - total) / (rate * n))


def replay_bold(weights, delays=DELAYS):
    """BOLD of OGD with rate 0.9/√n; a round without weight was not tracked."""
    points, turns, busy, found = [], [], {}, []
    for t in range(HORIZON):
        copy = next(i for i in range(len(points) + 1) if i not in busy.values())
        if copy == len(points):
            points.append(np.zeros(K))
            turns.append(0)
        found.append(points[copy])
        if weights[t] > 0:
            busy[t] = copy
        for s in [s for s in sorted(busy) if s + delays[s] == t]:
            i = busy.pop(s)
            turns[i] += 1
            points[i] = nearest(UNIT, points[i] - 0.9 / np.sqrt(turns[i]) * weights[s] * ROWS[s])
    return np.array(found), len(points)


def test_bold_is_its_description():
    found, copies = replay_bold(WEIGHTS)
    np.testing.assert_allclose(plays(BOLD(BASES["descent"])), found, atol=1e-12)
    assert copies == 1 + tarry.delays.array(DELAYS).max_backlog


def test_under_a_capacity_only_tracked_rounds_keep_a_copy():
    game = tarry.Game(UNIT, tarry.losses.Linear(ROWS), tarry.delays.array(DELAYS), capacity=4, preemption=False)
    player = tarry.Player(BOLD(BASES["descent"]), tarry.schedulers.Bernoulli(probability=0.5))
    record = tarry.simulate(game, player, seeds=[5], keep_rounds=True)
    weights = record.rounds()["weight"].to_numpy()
    assert 0 < np.count_nonzero(weights) < HORIZON
    np.testing.assert_allclose(record.plays(), replay_bold(weights)[0], atol=1e-12)


def test_a_dropped_rounds_copy_is_free_when_its_slot_is_taken_again():
    learner, play = BOLD(OGD(Ball(1), rate=0.5)), np.zeros(1)
    state = allocate(learner, 2)
    chosen = []
    for t, slot in enumerate([0, 1, 0, 1, 0, 0, 1], start=1):  # nothing is ever heard
        predict(learner, state, None, t, play)
        chosen.append(int(state.marks[1]))
        enter(learner, state, slot, t)
    assert chosen == [0, 1, 2, 0, 1, 2, 1]
    absorb(learner, state, None, 0, 6, 1.0, np.ones(1))
    predict(learner, state, None, 8, play)
    assert (state.marks[1], play[0]) == (0, 0.0)
    assert state.copies.states.point[2, 0] == -0.5


@pytest.mark.parametrize("scheduler", [tarry.schedulers.VarOpt(), tarry.schedulers.RandomEvict()])
def test_preemption_never_runs_out_of_copies(scheduler):
    game = tarry.Game(UNIT, tarry.losses.Linear(ROWS), tarry.delays.array(DELAYS), capacity=2)
    for base in BASES.values():
        assert np.all(np.isfinite(tarry.simulate(game, tarry.Player(BOLD(base), scheduler), seeds=3).regret))


def test_growth_keeps_the_pool():
    """A session without a limit grows in the middle of a run; plays do not notice."""
    learner = BOLD(BASES["leader"])
    unlimited = plays(learner, DELAYS, np.ones(HORIZON))
    session = tarry.Session(tarry.Player(learner, tarry.schedulers.Always()), capacity=None, rng=0)
    for t in range(1, HORIZON + 1):
        assert np.array_equal(session.ask().play, unlimited[t - 1])
        for s in range(1, t + 1):
            if s + DELAYS[s - 1] == t:
                session.tell(s, gradient=ROWS[s - 1])


def test_bold_stays_below_its_bound():
    """Targets that turn every d + 1 rounds, so that every copy sees them alternate; a rate that is too large fails."""
    horizon, delay = 600, 5
    targets = np.where(np.arange(horizon) // (delay + 1) % 2 == 0, 1.0, -1.0)[:, None]
    losses, delays = tarry.losses.Quadratic(targets), tarry.delays.fixed(horizon=horizon, delay=delay)
    game = tarry.WeightedGame(Ball(1), losses, delays, np.ones(horizon))
    bound = (delay + 1) * 2.0**2 / 2 * (1 + np.log(horizon / (delay + 1) + 1))
    assert tarry.simulate(game, BOLD(OGD.strongly_convex(Ball(1), 1.0))).regret[0] <= bound
    assert tarry.simulate(game, BOLD(OGD(Ball(1), 0.7))).regret[0] > bound


@pytest.mark.slow
@pytest.mark.jit(only=True)
def test_a_second_call_does_not_compile():
    plays(BOLD(BASES["leader"]))
    before = [len(d.signatures) for d in run_rounds.dispatchers]
    other = DWFTRL(UNIT, rate=inverse_time(2.0), start=[0.2, 0.0, 0.0])
    plays(BOLD(other), np.full(HORIZON, 3))
    assert [len(d.signatures) for d in run_rounds.dispatchers] == before


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: SOLID(OGD), "must be a learner of gradients"),
        (lambda: SOLID(DWFTRL(UNIT, rate=Anytime(2.0, 1.0))), "cannot follow the game as Anytime does"),
        (lambda: BOLD(DOGD(UNIT, rate=Anytime(2.0, 1.0))), "cannot follow the game as Anytime does"),
        (lambda: BOLD(SOLID(BASES["descent"])), "wraps another"),
        (lambda: SOLID(tarry.learners.DWFTBL(UNIT, 0.1, 0.1)), "must be a learner of gradients"),
        (lambda: Interleaving(tarry.learners.DWFTBL(UNIT, 0.1, Power(0.5, 0.25)), 2), "one radius for all rounds"),
        (lambda: BOLD(Exp3(3, rate=Anytime(2.0, 1.0))), "cannot follow the game as Anytime does"),
        (lambda: BOLD(OGD), "must be a learner of gradients"),
    ],
)
def test_refusals(make, sentence):
    with pytest.raises(TypeError, match=sentence):
        make()


def test_a_delay_is_a_whole_number():
    with pytest.raises(ValueError, match="delay must be a whole number"):
        Interleaving(BASES["descent"], delay=-1)


@pytest.mark.parametrize("k", [1, 1000])
def test_dimensions(k):
    rows = np.random.default_rng(k).normal(size=(20, k))
    game = tarry.WeightedGame(Ball(k), tarry.losses.Linear(rows), tarry.delays.fixed(horizon=20, delay=3), np.ones(20))
    base = OGD(Ball(k), rate=0.3)
    for learner in (SOLID(base), BOLD(base), Interleaving(base, 3)):
        assert np.isfinite(tarry.simulate(game, learner).regret[0])
