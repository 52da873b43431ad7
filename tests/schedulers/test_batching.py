"""Batching: exact moments, no refusals, and plays that know nothing of their batch's draw."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from marking import slow_but

import tarry
from tarry.schedulers import Batching
from tarry.schedulers.base import RecordedUniforms
from tarry.testing import follow
from tests.oracles import theory

SMALL = [(2, 1), (2, 2), (2, 3), (3, 1), (3, 3), (3, 4), (4, 4)]  # (capacity, max_delay)


def choices(horizon, batch):
    """Uniforms per round for every outcome, equally likely; a cut batch may have drawn a round beyond the end."""
    starts = range(0, horizon, batch)
    for positions in product(range(batch), repeat=len(starts)):
        uniforms = np.full(horizon, 0.999)
        uniforms[list(starts)] = (np.array(positions) + 0.5) / batch
        yield uniforms


@pytest.mark.parametrize(
    ("max_delay", "capacity", "batch"),
    [(0, 1, 1), (0, 5, 1), (1, 2, 1), (5, 2, 5), (5, 3, 3), (5, 6, 1), (5, None, 1), (200, 16, 14), (10**9, 2, 10**9)],
)
def test_length_of_a_batch(max_delay, capacity, batch):
    assert Batching(max_delay).batch(capacity) == batch


@pytest.mark.parametrize(("capacity", "max_delay"), SMALL)
@pytest.mark.parametrize("horizon", [6, 7])
def test_moments(capacity, max_delay, horizon):
    """E[w_t] = 1, E[w_t²] = b; E[w_s w_t] = 1 across batches and 0 within one, also where the last is cut."""
    batch = Batching(max_delay).batch(capacity)
    rng = np.random.default_rng(horizon)
    for delays in (np.full(horizon, max_delay), np.zeros(horizon, int), rng.integers(0, max_delay + 1, horizon)):
        paths = [
            follow(Batching(max_delay), delays, capacity=capacity, draws=RecordedUniforms(u)).weight
            for u in choices(horizon, batch)
        ]
        found = sum(np.outer(w, w) for w in paths) / len(paths)
        number = np.arange(horizon) // batch
        expected = np.where(number[:, None] == number, 0.0, 1.0)
        np.fill_diagonal(expected, batch)
        np.testing.assert_allclose(np.mean(paths, axis=0), 1.0, rtol=1e-12)
        np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize(("capacity", "max_delay"), slow_but([(2, 2), (2, 3), (3, 3)], {(2, 2)}))
def test_never_refuses_exhaustively(capacity, max_delay):
    horizon = 5
    batch, fullest = Batching(max_delay).batch(capacity), 0
    outcomes = [RecordedUniforms(u) for u in choices(horizon, batch)]
    for delays in product(range(max_delay + 1), repeat=horizon):
        for draws in outcomes:
            trace = follow(Batching(max_delay), delays, capacity=capacity, draws=draws)
            assert trace.fates[2] == 0, f"refused with delays {delays} and draws {draws}"
            fullest = max(fullest, int(trace.after.max()))
    assert fullest == capacity


@pytest.mark.parametrize("capacity", [2, 3, 7, 16])
@pytest.mark.parametrize("max_delay", slow_but([1, 30, 97, 200], {1, 97}))
def test_never_refuses_at_the_extreme(capacity, max_delay):
    batch = Batching(max_delay).batch(capacity)
    for seed in range(2):
        trace = follow(Batching(max_delay), np.full(450, max_delay), capacity=capacity, seed=seed)
        assert trace.fates[2] == 0
        assert np.count_nonzero(trace.weight) in (450 // batch, -(-450 // batch))
    last = np.full(450, 0.5 / batch)
    last[batch::batch] = 1.0  # the first of the first batch and the last of every other
    trace = follow(Batching(max_delay), np.full(450, max_delay), capacity=capacity, draws=RecordedUniforms(last))
    assert trace.fates[2] == 0


def test_shorter_batches_would_not_do():
    """⌈d/(C−1)⌉ cannot be improved: with batches one round shorter the set overflows."""
    for capacity, max_delay in ((2, 4), (3, 8), (4, 9)):
        shorter = Batching(max_delay).batch(capacity) - 1
        rash = Batching(shorter * (capacity - 1))
        assert rash.batch(capacity) == shorter
        traces = [follow(rash, np.full(60, max_delay), capacity=capacity, seed=k) for k in range(40)]
        assert sum(trace.fates[2] for trace in traces) > 0


def test_delays_beyond_the_limit_are_refused_and_counted():
    trace = follow(Batching(2), np.full(40, 30), capacity=2, seed=1)
    assert trace.fates[2] > 0
    assert trace.fates.sum() == 40


@pytest.mark.parametrize("bad", [-1, 1.5, "3", np.nan])
def test_bad_limits(bad):
    with pytest.raises(ValueError, match="max_delay must be a whole number"):
        Batching(bad)


def make_game(delays, capacity, rows, **rules):
    domain = tarry.domains.Ball(rows.shape[1])
    losses = tarry.losses.Linear(rows)
    return tarry.Game(domain, losses, tarry.delays.array(np.asarray(delays)), capacity=capacity, **rules)


def test_one_slot_is_refused():
    game = make_game([3, 0, 0, 0], 1, np.ones((4, 1)))
    with pytest.raises(ValueError, match="capacity must be at least 2 for batches and delays of up to 3, got 1"):
        tarry.simulate(game, tarry.Player(tarry.learners.DWFTRL(game.domain, rate=0.1), Batching(3)))
    with pytest.raises(ValueError, match="hands each row out when its label comes"):
        tarry.LabelJoin(capacity=4, scheduler=Batching(3))


def correlation(learner, delays, capacity, max_delay, feedback="gradient"):
    """The largest |E[w_t x_t] − E[x_t]| over rounds, exactly."""
    horizon = len(delays)
    rows = np.random.default_rng(3).normal(size=(horizon, 2))
    game = make_game(delays, capacity, rows, feedback=feedback, information="non-clairvoyant", preemption=False)
    player = tarry.Player(learner(game.domain), Batching(max_delay))
    plays, weighted = [], []
    for uniforms in choices(horizon, player.scheduler.batch(capacity)):
        record = tarry.simulate(game, player, draws=tarry.Recorded(uniforms=uniforms), keep_rounds=True, threads=1)
        plays.append(record.plays())
        weighted.append(record.plays() * record.rounds()["weight"].to_numpy()[:, None])
    return np.abs(np.mean(weighted, axis=0) - np.mean(plays, axis=0)).max()


LEARNERS = {
    "DWFTRL": (lambda domain: tarry.learners.DWFTRL(domain, rate=0.2), "gradient"),
    "DWFTBL": (lambda domain: tarry.learners.DWFTBL(domain, rate=0.02, smoothing=0.3), "value"),
    "Adaptive": (lambda domain: tarry.learners.Adaptive(domain, gradient_bound=3.0), "gradient"),
}
GAMES = [([0, 1, 0, 2, 0, 1], 2, 3), ([2, 0, 3, 1, 0, 4, 0], 3, 4), ([0, 0, 1, 0, 2, 0], 2, 2)]


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize(("delays", "capacity", "max_delay"), GAMES)
def test_plays_do_not_know_who_was_drawn(name, delays, capacity, max_delay, monkeypatch):
    """E[w_t x_t] = E[x_t] in every round; without the withholding it is not so."""
    learner, feedback = LEARNERS[name]
    assert correlation(learner, delays, capacity, max_delay, feedback) < 1e-12
    monkeypatch.setattr(Batching, "withholds_feedback", False)
    assert correlation(learner, delays, capacity, max_delay, feedback) > 1e-3


def test_one_delay_for_all_needs_no_withholding(monkeypatch):
    """b ≤ d, so nothing returns within its batch, and the runs are the same to the bit."""
    rows = np.random.default_rng(5).normal(size=(60, 2))
    game = make_game(np.full(60, 9), 4, rows)
    player = tarry.Player(tarry.learners.DWFTRL(game.domain, rate=0.1), Batching(9))
    held = tarry.simulate(game, player, seeds=3, keep_rounds=True)
    monkeypatch.setattr(Batching, "withholds_feedback", False)
    straight = tarry.simulate(game, player, seeds=3, keep_rounds=True)
    assert all(np.array_equal(held.plays(seed), straight.plays(seed)) for seed in range(3))


def by_hand(rows, delays, weights, batch, rates, epochs):
    """Plays of lazy descent on the unit ball when a batch's own feedback waits for its end, restarted by epoch."""
    horizon, plays = len(delays), []
    for t in range(horizon):
        total = np.zeros(rows.shape[1])
        for s in range(t):
            end = s - s % batch + batch - 1
            if max(s + delays[s], end) < t and epochs[s] == epochs[t]:
                total += weights[s] * rows[s]
        x = -rates[t] * total
        plays.append(x / max(1.0, np.linalg.norm(x)))
    return np.array(plays)


@pytest.mark.parametrize("seed", range(4))
def test_release_is_at_the_end_of_the_batch(seed):
    rng = np.random.default_rng(seed)
    delays, rows = np.minimum(rng.integers(0, 8, 40), 39 - np.arange(40)), rng.normal(size=(40, 2))
    game = make_game(delays, 3, rows)
    player = tarry.Player(tarry.learners.DWFTRL(game.domain, rate=0.05), Batching(7))
    record = tarry.simulate(game, player, seeds=[seed], keep_rounds=True)
    weights = record.rounds()["weight"].to_numpy()
    np.testing.assert_allclose(
        record.plays(), by_hand(rows, delays, weights, 4, np.full(40, 0.05), np.ones(40)), atol=1e-12
    )


def test_pathwise_bound_holds_with_withheld_feedback():
    """Pairs within a batch weigh nothing, so the bound's books need no word about the withholding."""
    rng = np.random.default_rng(8)
    rows = np.sign(rng.normal(size=(120, 1)))
    game = make_game(rng.integers(0, 12, 120), 3, rows)
    player = tarry.Player(tarry.learners.DWFTRL(game.domain, rate=0.05), Batching(11))
    record = tarry.simulate(game, player, seeds=4, keep_rounds=True)
    for seed in range(4):
        weight = record.rounds(seed)["weight"].to_numpy()
        weighted = float(np.sum(weight * (rows * record.plays(seed))[:, 0]) + abs(np.sum(weight * rows[:, 0])))
        bound = record.curve.filter(record.curve["seed"] == seed)["bound"][-1]
        assert 0 < weighted <= bound


def test_restarts_forget_what_waits():
    """A new epoch begins with an empty set, and nothing of the last one reaches its learner."""
    rng = np.random.default_rng(2)
    horizon = 64
    rows, delays = rng.normal(size=(horizon, 2)), np.minimum(rng.integers(0, 9, horizon), np.arange(horizon)[::-1])
    game = make_game(delays, 2, rows)
    learner = tarry.learners.DWFTRL(game.domain, rate=tarry.rates.DoublingRate(2.0, 30.0))
    player = tarry.Player(learner, Batching(8), epochs=tarry.Doubling())
    record = tarry.simulate(game, player, seeds=12, keep_rounds=True)
    grown = np.cumsum(1 + theory.backlogs(delays))
    epochs = np.array([next(m for m in range(20) if total <= 4**m) for total in grown])
    starts = np.flatnonzero(np.diff(epochs)) + 1
    assert np.any(starts % 8)
    for seed in range(12):
        weights = record.rounds(seed)["weight"].to_numpy()
        expected = by_hand(rows, delays, weights, 8, (2 / 30) / np.sqrt(4.0**epochs), epochs)
        np.testing.assert_allclose(record.plays(seed), expected, atol=1e-12)
