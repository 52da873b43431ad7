"""GOLD and D-FTBL: plain recursions, pools that never run out, capacity, growth."""

from __future__ import annotations

from math import ceil, sqrt

import numpy as np
import pytest
from marking import slow_but

import tarry
from tarry.domains import Ball, Box
from tarry.game.world import run_rounds
from tarry.kernel.wheel import give_row, make_rows, take_row
from tarry.learners import DFTBL, DOGD, DWFTRL, GOLD, OnePoint
from tarry.learners.base import RecordedDirections, absorb, advance, allocate, enter
from tarry.rates import Anytime, Power, Sequence

RNG = np.random.default_rng(43)
HORIZON, K = 90, 3
TARGETS = RNG.normal(size=(HORIZON, K))
LOSSES = tarry.losses.Quadratic(TARGETS, strong_convexity=0.7)
DELAYS = tarry.delays.array(RNG.integers(0, 14, HORIZON)).values
IN_ORDER = tarry.delays.array(np.full(HORIZON, 4)).values
BURST = tarry.delays.array([max(0, 30 - t) for t in range(HORIZON)]).values
WEIGHTS = RNG.exponential(size=HORIZON) + 0.1
ONES = np.ones(HORIZON)
SPHERE = RNG.normal(size=(HORIZON, K))
SPHERE /= np.linalg.norm(SPHERE, axis=1)[:, None]
LOW, HIGH = np.array([-1.0, 0.0, -2.0]), np.array([1.0, 4.0, 2.0])
DOMAIN, MIDDLE = Box(LOW, HIGH), (LOW + HIGH) / 2


def play(learner, delays=DELAYS, weights=WEIGHTS):
    game = tarry.WeightedGame(DOMAIN, LOSSES, tarry.delays.array(delays), weights, feedback="value")
    return tarry.simulate(game, learner, draws=tarry.Recorded(directions=SPHERE), keep_rounds=True).plays()


def on_box(x, delta):
    half = (1.0 - delta) * (HIGH - LOW) / 2
    return np.clip(x, MIDDLE - half, MIDDLE + half)


def made(x, t, delta, weights):
    return weights[t] * K / delta * LOSSES.value(x, t + 1) * SPHERE[t]


def replay_gold(rate, smoothing, delays, weights):
    """GOLD with a dictionary for the pool."""
    y, pool, estimates, plays = MIDDLE, {}, [], []
    for t in range(HORIZON):
        plays.append(y + smoothing(t + 1) * SPHERE[t])
        estimates.append(made(plays[t], t, smoothing(t + 1), weights))
        pool |= {s: estimates[s] for s in range(t + 1) if s + delays[s] == t}
        if pool:
            y = on_box(y - rate(t + 1) * pool.pop(min(pool)), smoothing(t + 2))
    return np.array(plays)


@pytest.mark.parametrize("delays", [DELAYS, IN_ORDER, BURST, 0 * DELAYS])
def test_gold_is_the_plain_recursion(delays):
    learner = GOLD(DOMAIN, rate=Power(0.05, 0.75), smoothing=Power(0.9, 0.25))
    expected = replay_gold(lambda t: 0.05 * t**-0.75, lambda t: 0.9 * t**-0.25, delays, WEIGHTS)
    assert np.abs(expected - expected[0]).max() > 0.5
    np.testing.assert_allclose(play(learner, delays), expected, atol=1e-9)


def test_gold_is_delayed_fkm_while_one_value_comes_a_round():
    once = play(GOLD(DOMAIN, rate=Power(0.02, 0.5), smoothing=0.4), IN_ORDER)
    with_all = play(OnePoint(DOGD(DOMAIN, rate=Power(0.02, 0.5)), smoothing=0.4), IN_ORDER)
    np.testing.assert_allclose(once, with_all, atol=1e-12)
    assert np.abs(play(GOLD(DOMAIN, rate=Power(0.02, 0.5), smoothing=0.4), BURST) - with_all).max() > 0.1


def replay_blocks(block, delta, delays, weights, *, rate=None, curvature=None):
    """D-FTBL from the definition: whole blocks, and the minimiser of the sum of squares written out."""
    blocks = ceil(HORIZON / block)
    y, centers, estimates, plays = MIDDLE, [], [], []
    for m in range(blocks):
        centers.append(y)
        for t in range(m * block, min(HORIZON, (m + 1) * block)):
            plays.append(y + delta * SPHERE[t])
            estimates.append(made(plays[t], t, delta, weights))
        end = (m + 1) * block - 1
        total = np.zeros(K)
        for j in range(m + 1):
            members = range(j * block, min(HORIZON, (j + 1) * block))
            if all(s + delays[s] <= end for s in members):
                total = total + sum(estimates[s] for s in members)
        if curvature is None:
            y = on_box(MIDDLE - rate * total, delta)
        else:
            strength = curvature * block
            y = on_box((strength * sum(centers) - total) / (strength * (m + 1)), delta)
    return np.array(plays)


@pytest.mark.parametrize("block", [1, 2, 7, 30, 200])
@pytest.mark.parametrize("delays", [DELAYS, IN_ORDER, BURST, 0 * DELAYS])
def test_blocks_are_the_definition(block, delays):
    learner = DFTBL(DOMAIN, rate=0.02, smoothing=0.4, block=block)
    np.testing.assert_allclose(play(learner, delays), replay_blocks(block, 0.4, delays, WEIGHTS, rate=0.02), atol=1e-10)
    learner = DFTBL(DOMAIN, rate=Power(1.0 / (0.7 * block), 1.0), smoothing=0.4, block=block)
    expected = replay_blocks(block, 0.4, delays, WEIGHTS, curvature=0.7)
    np.testing.assert_allclose(play(learner, delays), expected, atol=1e-10)


def test_blocks_of_one_round_are_the_leader_of_single_values():
    leader = OnePoint(DWFTRL(DOMAIN, rate=Power(0.9, 1.0)), smoothing=0.4)
    np.testing.assert_allclose(play(DFTBL(DOMAIN, Power(0.9, 1.0), 0.4, block=1)), play(leader), atol=1e-12)


def test_a_block_waits_for_its_last_value_and_for_slots_of_dropped_rounds():
    learner = DFTBL(Ball(1), rate=1.0, smoothing=0.5, block=2)
    state, directions = allocate(learner, 4), RecordedDirections(np.ones((20, 1)))

    def hear(slot, s, value, weight=1.0):
        absorb(learner, state, directions, slot, s, weight, np.array([value]))

    def centre(t):
        advance(learner, state, t, -1)
        return float(state.base.point[0])

    enter(learner, state, 0, 1)
    advance(learner, state, 1, -1)
    enter(learner, state, 1, 2)
    hear(1, 2, 0.05)
    assert centre(2) == 0.0  # round 1 is out
    hear(0, 1, 0.05, weight=2.0)
    enter(learner, state, 0, 3)
    assert centre(3) == 0.0  # settled, but the block is not over
    assert centre(4) == pytest.approx(-(2.0 * 0.05 * 2 + 0.05 * 2))  # round 4 was not tracked
    assert centre(6) == pytest.approx(-0.3)  # round 3 was dropped, unheard of
    enter(learner, state, 0, 7)  # its slot is taken: block 2 is settled, with nothing in it
    hear(0, 7, 0.1)
    assert centre(8) == pytest.approx(-0.5)


def test_rows_are_handed_out_once_and_again_when_free():
    rows, mine, rng = make_rows(9), set(), np.random.default_rng(1)
    for _ in range(500):
        if mine and (len(mine) == 9 or rng.uniform() < 0.5):
            row = sorted(mine)[rng.integers(len(mine))]
            mine.remove(row)
            give_row(rows, row)
        else:
            row = int(take_row(rows))
            assert 0 <= row < 9
            assert row not in mine
            mine.add(row)


@pytest.mark.parametrize("capacity", [1, 2, 5])
@pytest.mark.parametrize("scheduler", [tarry.schedulers.VarOpt(), tarry.schedulers.RandomEvict()])
def test_pools_never_run_out(capacity, scheduler):
    game = tarry.Game(DOMAIN, LOSSES, tarry.delays.array(BURST + 1), feedback="value", capacity=capacity)
    for learner in (
        GOLD(DOMAIN, rate=0.01, smoothing=0.4),
        DFTBL(DOMAIN, 0.01, 0.4, block=1),
        DFTBL(DOMAIN, 0.01, 0.4, block=3),
    ):
        assert np.all(np.isfinite(tarry.simulate(game, tarry.Player(learner, scheduler), seeds=4).regret))


def test_a_burst_fills_the_pool_to_the_largest_backlog():
    learner = GOLD(Ball(1), rate=0.01, smoothing=0.4)
    slots = 6
    state, directions = allocate(learner, slots), RecordedDirections(np.ones((60, 1)))
    for t in range(1, 50):  # rounds 1..6 fill the slots, then all come at once, then one comes a round
        for s in range(1, 7) if t == 6 else [t] if t > 6 else []:
            absorb(learner, state, directions, 0, s, 1.0, np.ones(1))
        advance(learner, state, t, -1)
    assert state.ages.size[0] == 5
    assert state.rows.marks[0] <= slots + 2


@pytest.mark.parametrize(
    "learner", [GOLD(DOMAIN, 0.02, 0.4), DFTBL(DOMAIN, 0.02, 0.4, block=3)], ids=["GOLD", "D-FTBL"]
)
def test_growth_and_reopening_keep_the_pools(learner, tmp_path):
    """A session without a limit grows in the middle of a run; plays do not notice."""
    game = tarry.Game(DOMAIN, LOSSES, tarry.delays.array(BURST), feedback="value")
    player = tarry.Player(learner, tarry.schedulers.Always())
    plays = tarry.simulate(game, player, seeds=[3], keep_rounds=True).plays()
    store = f"sqlite:///{tmp_path / 'state.db'}"
    session = tarry.Session(player, capacity=None, rng=3, store=store)
    for t in range(1, HORIZON + 1):
        if t == 40:
            session.close()
            session = tarry.Session.open(store)
        assert np.array_equal(session.ask().play, plays[t - 1])
        for s in range(1, t + 1):
            if s + BURST[s - 1] == t:
                session.tell(s, value=LOSSES.value(plays[s - 1], s))
    session.close()


@pytest.mark.parametrize("k", slow_but([1, 50, 1000], {1, 50}))
def test_any_dimension(k):
    ball, horizon = Ball(k), 12
    losses = tarry.losses.Linear(np.ones((horizon, k)) / sqrt(k))
    for learner in (GOLD(ball, 0.1, 0.1), DFTBL(ball, 0.1, 0.1, block=3)):
        game = tarry.Game(ball, losses, tarry.delays.array(np.ones(horizon)), feedback="value")
        assert np.all(np.isfinite(tarry.simulate(game, learner, seeds=2).regret))


@pytest.mark.slow
@pytest.mark.jit(only=True)
@pytest.mark.parametrize("kind", ["GOLD", "D-FTBL"])
def test_a_second_call_does_not_compile(kind):
    def make(rate, number):
        if kind == "GOLD":
            return GOLD(DOMAIN, rate=Power(rate, 0.75), smoothing=Power(0.1 * number, 0.25))
        return DFTBL(DOMAIN, rate, 0.1 * number, number)

    play(make(0.05, 3))
    before = [len(d.signatures) for d in run_rounds.dispatchers]
    play(make(0.07, 5), np.full(HORIZON, 3))
    assert [len(d.signatures) for d in run_rounds.dispatchers] == before


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: GOLD(DOMAIN, 0.1, smoothing=1.5), "smoothing may not exceed the inner radius 1"),
        (lambda: GOLD(tarry.domains.Simplex(3), 0.1, 0.1), "inner radius 0"),
        (lambda: DFTBL(DOMAIN, 0.1, 1.5, 3), "smoothing may not exceed the inner radius 1"),
        (lambda: DFTBL(DOMAIN, 0.1, 0.5, 0), "block must be a whole number of at least 1"),
        (lambda: DFTBL(DOMAIN, Sequence([0.1, 0.1]), 0.5, 30).check_horizon(61), "has 2 rounds, the game has 3"),
    ],
)
def test_refusals(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_rates_of_blocks_know_time_only():
    with pytest.raises(TypeError, match="cannot follow the game as Anytime does"):
        DFTBL(DOMAIN, Anytime(2.0, 1.0), 0.5, 3)
    DFTBL(DOMAIN, Sequence([0.1, 0.1]), 0.5, 30).check_horizon(60)
