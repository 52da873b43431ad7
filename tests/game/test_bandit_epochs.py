"""Values through restarts: plays agree with a plain transcription of the formulas, live and simulated."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tarry
from tarry.learners import DWFTBL
from tarry.rates import BanditRadius, BanditRate, inverse_time
from tarry.schedulers import DoublingBernoulli

K, RADIUS, HORIZON = 3, 1.5, 90
DOMAIN = tarry.domains.Ball(K, radius=RADIUS)
DIAMETER, STEEPEST, SPREAD, CURVATURE = 2 * RADIUS, 1.3, 0.9, 0.4
_RNG = np.random.default_rng(11)
DELAYS = {
    "random": _RNG.integers(0, 30, HORIZON),
    "ramp": np.minimum(np.arange(HORIZON) // 2, HORIZON - 1 - np.arange(HORIZON)),
    "bursts": np.where(np.arange(HORIZON) % 30 < 15, 25, 1),
    "none": np.zeros(HORIZON, dtype=int),
}
ROWS = _RNG.normal(size=(HORIZON, K))
UNIFORMS = 1 - _RNG.random(HORIZON)
DIRECTIONS = _RNG.normal(size=(HORIZON, K))
DIRECTIONS /= np.linalg.norm(DIRECTIONS, axis=1)[:, None]


def _paper(capacity):
    """δ/r and η of the paper's convex bandit theorem for σ_max = guess − 1, n counted in the epoch."""

    def ratio(n, guess):
        return min(1.0, math.sqrt(SPREAD) / n**0.25 * (1 + (guess - 1) / capacity) ** 0.25)

    def rate(n, guess, counts):
        variance = guess - 1 + (SPREAD / ratio(n, guess)) ** 2 * (1 + (guess - 1) / capacity)
        return DIAMETER / STEEPEST / math.sqrt(n) / math.sqrt(variance)

    return ratio, rate


def _paper_curved(capacity):
    def ratio(n, guess):
        return min(1.0, (SPREAD**2 * math.log(n + 1) / n * (1 + (guess - 1) / capacity)) ** (1 / 3))

    def rate(n, guess, counts):
        return 1 / (CURVATURE * n)

    return ratio, rate


def _learner(kind, capacity):
    crowd = {"spread": SPREAD, "capacity": capacity}
    curved = kind == "curved"
    rate = inverse_time(CURVATURE) if curved else BanditRate.for_backlog(DIAMETER, STEEPEST, **crowd)
    return DWFTBL(DOMAIN, rate=rate, smoothing=BanditRadius.for_backlog(RADIUS, **crowd, curved=curved))


def _transcribed(delays, capacity, first, rules, value):
    """Plays, weights and |S_t| by the formulas, nothing shared with the library."""
    ratio, rate = rules
    guess, tracked = 0, {}
    plays, weights, sizes = [], np.zeros(HORIZON), []
    for t in range(HORIZON):
        backlog = sum(s + delays[s] >= t for s in range(t))
        needed = 2**first
        while backlog > needed - 1:
            needed *= 2
        if needed > guess:
            guess, start, tracked, counts = needed, t, {}, []
            center, anchor, total, inverse = np.zeros(K), np.zeros(K), np.zeros(K), 0.0
        n = t - start + 1
        share = ratio(n, guess)
        play = (1 - share) * center + share * RADIUS * DIRECTIONS[t]
        plays.append(play)
        sizes.append(len(tracked))
        counts.append(len(tracked))
        p = min(1.0, capacity / (8 * guess))
        if UNIFORMS[t] <= p and len(tracked) < capacity:
            tracked[t] = (K / (share * RADIUS)) * value(play, t) * DIRECTIONS[t]
        for s in sorted(tracked):
            if s + delays[s] == t:
                total = total + tracked.pop(s) / p
                weights[s] = 1 / p
        eta = rate(n, guess, counts)
        anchor = anchor + (1 / eta - inverse) * center
        inverse = 1 / eta
        center = eta * (anchor - total)
        center = center / max(1.0, np.linalg.norm(center) / RADIUS)
    return np.array(plays), weights, sizes


RULES = {"paper": _paper, "curved": _paper_curved}
SMALL, LARGE = 5, 27


@pytest.mark.parametrize("kind", RULES)
@pytest.mark.parametrize("capacity", [SMALL, LARGE])
@pytest.mark.parametrize("name", DELAYS)
def test_plays_are_the_formulas(kind, capacity, name):
    from casework import sets_before_admission

    delays = tarry.delays.array(DELAYS[name])
    losses = (
        tarry.losses.Quadratic(ROWS, CURVATURE)
        if kind == "curved"
        else tarry.losses.Linear(ROWS, offsets=np.full(HORIZON, 0.3))
    )
    first = 2 if kind == "paper" else 0
    plays, weights, sizes = _transcribed(
        delays.values.tolist(), capacity, first, RULES[kind](capacity), lambda x, t: losses.value(x, t + 1)
    )
    player = tarry.Player(_learner(kind, capacity), DoublingBernoulli(), tarry.Doubling("backlog", first=first))
    game = tarry.Game(DOMAIN, losses, delays, feedback="value", capacity=capacity)
    draws = tarry.Recorded(uniforms=UNIFORMS, directions=DIRECTIONS)
    record = tarry.simulate(game, player, draws=draws, keep_rounds=True)
    np.testing.assert_allclose(record.plays(), plays, atol=1e-9)
    np.testing.assert_allclose(record.rounds()["weight"], weights, rtol=1e-12)
    assert [len(members) for members in sets_before_admission(record)] == sizes
    assert record.exploration_rounds is None


def test_live_equals_simulated():
    delays, losses = tarry.delays.array(DELAYS["random"]), tarry.losses.Linear(ROWS, offsets=np.full(HORIZON, 0.3))
    player = tarry.Player(_learner("paper", LARGE), DoublingBernoulli(), tarry.Doubling("backlog", first=2))
    game = tarry.Game(DOMAIN, losses, delays, feedback="value", capacity=LARGE)
    record = tarry.simulate(game, player, seeds=[4], keep_rounds=True)
    session = tarry.Session(player, capacity=LARGE, information="semi-clairvoyant", rng=4)
    for t in range(1, HORIZON + 1):
        assert np.array_equal(session.ask().play, record.plays()[t - 1])
        for s in range(1, t + 1):
            if s + delays.values[s - 1] == t:
                session.tell(s, value=losses.value(record.plays()[s - 1], s))


def test_guesses_are_powers_of_two_from_the_first():
    from tarry.tracking.doubling import enters_epoch, fresh_epochs, magnitude

    epochs, memory, reached = tarry.Doubling("backlog", first=2), fresh_epochs(), []
    for t in range(1, 26):
        if enters_epoch(epochs, memory, t, t - 1):
            reached.append((t - 1, magnitude(epochs, memory)))
    assert reached == [(0, 4.0), (4, 8.0), (8, 16.0), (16, 32.0)]


@pytest.mark.parametrize("over", [None, "total"])
def test_a_guess_must_be_made_by_somebody(over):
    epochs = None if over is None else tarry.Doubling(over)
    with pytest.raises(ValueError, match=r'epochs=Doubling\("backlog"\)'):
        tarry.Player(_learner("paper", SMALL), DoublingBernoulli(), epochs)


def test_the_capacity_must_be_the_games():
    player = tarry.Player(_learner("paper", SMALL), DoublingBernoulli(), tarry.Doubling("backlog"))
    for capacity in (SMALL + 1, None):
        with pytest.raises(tarry.errors.NotGranted, match="tuned to a capacity of 5"):
            tarry.Session(player, capacity=capacity, information="semi-clairvoyant")


def test_a_guess_that_fits_needs_no_coin():
    """p = 1 while 2^j ≤ C, the printed rule after that."""
    delays = tarry.delays.fixed(horizon=HORIZON, delay=20)
    game = tarry.Game(DOMAIN, tarry.losses.Linear(ROWS), delays, feedback="value", capacity=10)
    player = tarry.Player(_learner("paper", 10), DoublingBernoulli(fit=True), tarry.Doubling("backlog", first=2))
    weights = tarry.simulate(game, player, keep_rounds=True).rounds()["weight"].to_numpy()
    # Guesses 4, 8, 16, 32 begin in rounds 1, 5, 9 and 17; nobody arrives before round 21.
    assert set(weights[16:].round(9)) <= {0.0, 25.6}
    assert not weights[:16].any()
    early = tarry.Game(DOMAIN, tarry.losses.Linear(ROWS), tarry.delays.fixed(horizon=HORIZON, delay=7), "value", 10)
    kept = tarry.simulate(early, player, keep_rounds=True).rounds()["weight"].to_numpy()
    assert np.all(kept[4:] == 1.0)
