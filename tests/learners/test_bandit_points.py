"""One, two and k + 1 values a round: plain recursions, and the queries that games and sessions grant."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from marking import slow_but

import tarry
from tarry.domains import Ball, Box, contains
from tarry.errors import NotGranted
from tarry.game.world import run_rounds
from tarry.learners import DOGD, DOGDSC, DWFTRL, OGD, SOLID, Differences, OnePoint, TwoPoint
from tarry.learners.base import RecordedDirections, query
from tarry.rates import Power, inverse_time

RNG = np.random.default_rng(41)
HORIZON, K = 70, 3
ROWS = RNG.normal(size=(HORIZON, K))
ROWS /= np.linalg.norm(ROWS, axis=1)[:, None]
DELAYS = tarry.delays.array(RNG.integers(0, 12, HORIZON)).values
NONE = np.zeros(HORIZON, int)
WEIGHTS = RNG.exponential(size=HORIZON) + 0.1
SPHERE = RNG.normal(size=(HORIZON, K))
SPHERE /= np.linalg.norm(SPHERE, axis=1)[:, None]
DOMAIN = Box([-1.0, 0.0, -2.0], [1.0, 4.0, 2.0])
TARGETS = RNG.normal(size=(HORIZON, K))
QUADRATIC = tarry.losses.Quadratic(TARGETS, strong_convexity=0.7)
LINEAR = tarry.losses.Linear(ROWS)


def play(learner, losses=QUADRATIC, delays=DELAYS, weights=WEIGHTS):
    """Plays and losses of a weighted game with recorded directions."""
    game = tarry.WeightedGame(
        learner.domain,
        losses,
        tarry.delays.array(delays),
        weights,
        feedback=learner.feedback,
        queries=getattr(learner, "queries", 1),
    )
    draws = tarry.Recorded(directions=SPHERE)
    record = tarry.simulate(game, learner, draws=draws, keep_rounds=True)
    return record.plays(), record.rounds()["loss"].to_numpy()


def on_box(x, delta):
    """The nearest point of the shrunken box, written out."""
    low, high = np.array([-1.0, 0.0, -2.0]), np.array([1.0, 4.0, 2.0])
    middle, keep = (low + high) / 2, 1.0 - delta
    return np.clip(x, middle - keep * (high - low) / 2, middle + keep * (high - low) / 2)


def values_at(points, t, losses=QUADRATIC):
    return [losses.value(x, t + 1) for x in points]


def one(y, t, delta):
    u = SPHERE[t]
    return K / delta * values_at([y + delta * u], t)[0] * u


def two(y, t, delta):
    u = SPHERE[t]
    above, below = values_at([y + delta * u, y - delta * u], t)
    return K / (2 * delta) * (above - below) * u


def differences(y, t, delta):
    here, *there = values_at([y, *(y + delta * e for e in np.eye(K))], t)
    return (np.array(there) - here) / delta


def replay(kind, rule, delta, delays, rate):
    """The iterates of a base with these estimates: written without the library."""
    y, center = np.array([0.0, 2.0, 0.0]), np.array([0.0, 2.0, 0.0])
    made, iterates, total, anchor, count, level = {}, [], np.zeros(K), np.zeros(K), 0, 0.0
    for t in range(HORIZON):
        iterates.append(y)
        made[t] = WEIGHTS[t] * rule(y, t, delta)
        came = [s for s in range(t + 1) if s + delays[s] == t]
        if kind == "descent":
            for s in came:
                count += 1
                y = on_box(y - rate / sqrt(count) * made[s], delta)
        elif kind == "delayed descent":
            y = on_box(y - rate / sqrt(t + 1) * sum(made[s] for s in came), delta) if came else y
        elif kind == "strongly convex":
            level += 0.5 * sum(WEIGHTS[s] for s in came)
            y = on_box(y - sum(made[s] for s in came) / level, delta) if came else y
        elif kind == "leader":
            anchor = anchor + 0.5 * y
            total = total + sum((made[s] for s in came), np.zeros(K))
            y = on_box((anchor - total) / (0.5 * (t + 1)), delta)
        else:
            total = total + sum((made[s] for s in came), np.zeros(K))
            y = on_box(center - rate * total, delta)
    return np.array(iterates)


BASES = {
    "descent": lambda rate: OGD(DOMAIN, rate=Power(rate, 0.5)),
    "delayed descent": lambda rate: DOGD(DOMAIN, rate=Power(rate, 0.5)),
    "strongly convex": lambda rate: DOGDSC(DOMAIN, strong_convexity=0.5),
    "leader": lambda rate: DWFTRL(DOMAIN, rate=inverse_time(0.5)),
    "reduction": lambda rate: SOLID(DWFTRL(DOMAIN, rate=rate)),
}
RULES = {
    "one": (OnePoint, one, 0.4, 0.01),
    "two": (TwoPoint, two, 0.05, 0.2),
    "differences": (Differences, differences, 0.05, 0.2),
}


@pytest.mark.parametrize(("rule", "kind"), [(r, b) for r in RULES for b in BASES])
def test_they_are_the_plain_recursions(rule, kind):
    wrapper, numbers, delta, rate = RULES[rule]
    for delays in (DELAYS, NONE):
        found, _ = play(wrapper(BASES[kind](rate), smoothing=delta), delays=delays)
        expected = replay(kind, numbers, delta, delays, rate)
        if rule == "one":
            expected = expected + delta * SPHERE
        assert np.abs(expected - expected[0]).max() > 0.1  # it moves
        np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize("kind", BASES)
def test_with_linear_losses_differences_are_the_base_on_the_shrunken_set(kind):
    learner = Differences(BASES[kind](0.3), smoothing=0.25)
    moved, _ = play(learner, LINEAR)
    plain = tarry.WeightedGame(learner.base.domain, LINEAR, tarry.delays.array(DELAYS), WEIGHTS)
    first_order = tarry.simulate(plain, learner.base, keep_rounds=True).plays()
    np.testing.assert_allclose(moved, first_order, atol=1e-11)


@pytest.mark.parametrize("wrapper", [TwoPoint, Differences])
def test_a_round_loses_the_mean_of_its_values(wrapper):
    learner = wrapper(DOGD(DOMAIN, rate=Power(0.2, 0.5)), smoothing=0.5)
    centers, losses = play(learner)
    for t in range(HORIZON):
        points = np.zeros((learner.queries, K))
        query(learner, RecordedDirections(SPHERE), t + 1, centers[t], points)
        assert all(contains(DOMAIN, point, 1e-12) for point in points)
        assert losses[t] == pytest.approx(np.mean(values_at(points, t)), abs=1e-12)


def test_a_game_must_grant_the_queries():
    def game(**more):
        return tarry.Game(DOMAIN, QUADRATIC, tarry.delays.array(DELAYS), feedback="value", **more)

    with pytest.raises(NotGranted, match="TwoPoint asks for 2 values a round, this game or session grants 1"):
        tarry.simulate(game(), TwoPoint(DOGD(DOMAIN, rate=0.1), 0.1))
    with pytest.raises(NotGranted, match="Differences asks for 4 values a round, this game or session grants 2"):
        tarry.simulate(game(queries=2), Differences(DOGD(DOMAIN, rate=0.1), 0.1))
    with pytest.raises(ValueError, match="queries=2 are of values, this game gives gradient feedback"):
        tarry.Game(DOMAIN, QUADRATIC, tarry.delays.array(DELAYS), queries=2)
    with pytest.raises(ValueError, match="queries must be a whole number of at least 1"):
        game(queries=0)
    assert "value (2 points a round) feedback" in repr(game(queries=2))


def test_more_queries_than_needed_change_nothing():
    learner = OnePoint(DOGD(DOMAIN, rate=0.01), 0.4)
    games = [
        tarry.Game(DOMAIN, QUADRATIC, tarry.delays.array(DELAYS), feedback="value", queries=queries)
        for queries in (1, 3)
    ]
    few, many = (tarry.simulate(game, learner, seeds=2).regret for game in games)
    assert np.array_equal(few, many)


@pytest.mark.parametrize("scheduler", [tarry.schedulers.VarOpt(), tarry.schedulers.Batching(max_delay=11)])
def test_they_play_under_a_capacity(scheduler):
    for learner in (
        OnePoint.bistritz(DOMAIN, 2.0, 3.0, HORIZON, 300),
        TwoPoint.tuned(DOMAIN, 2.0, HORIZON, 300),
        Differences.tuned(DOMAIN, 2.0, HORIZON, 300),
    ):
        game = tarry.Game(DOMAIN, QUADRATIC, tarry.delays.array(DELAYS), feedback="value", queries=K + 1, capacity=4)
        record = tarry.simulate(game, tarry.Player(learner, scheduler), seeds=3)
        assert np.all(np.isfinite(record.regret))
        assert np.all(record.observed < 1)


@pytest.mark.parametrize("wrapper", [OnePoint, TwoPoint, Differences])
def test_a_session_plays_as_the_game_does(wrapper, tmp_path):
    learner = wrapper(DOGD(DOMAIN, rate=0.02), 0.4)
    player = tarry.Player(learner, tarry.schedulers.Always())
    game = tarry.Game(DOMAIN, QUADRATIC, tarry.delays.array(DELAYS), feedback="value", queries=K + 1)
    record = tarry.simulate(game, player, seeds=[9], keep_rounds=True)
    plays, losses = record.plays(), record.rounds()["loss"].to_numpy()
    store = f"sqlite:///{tmp_path / 'state.db'}"
    session = tarry.Session(player, capacity=None, rng=9, store=store)
    for t in range(1, HORIZON + 1):
        if t == HORIZON // 2:
            session.close()
            session = tarry.Session.open(store)
        assert np.array_equal(session.ask().play, plays[t - 1])
        for s in range(1, t + 1):
            if s + DELAYS[s - 1] == t:
                values = values_at(session.points(s), s - 1)
                assert np.mean(values) == pytest.approx(losses[s - 1], abs=1e-12)
                session.tell(s, value=values if len(values) > 1 else values[0])
    session.close()


def test_a_session_takes_as_many_values_as_were_asked_for():
    session = tarry.Session(tarry.Player(TwoPoint(DOGD(DOMAIN, rate=0.02), 0.4)), capacity=8, rng=1)
    rounds = session.ask_many(3)
    assert session.points(2).shape == (2, K)
    np.testing.assert_allclose(session.points(2).mean(axis=0), rounds.plays[1], atol=1e-15)
    with pytest.raises(ValueError, match="value has shape"):
        session.tell(1, value=1.0)
    with pytest.raises(ValueError, match="values has shape"):
        session.tell_many([1, 2], values=[1.0, 0.5])
    with pytest.raises(ValueError, match="the play of round 7 is not known"):
        session.points(7)
    told = session.tell_many([1, 2, 3], values=[[1.0, 0.5], [0.2, 0.3], [0.1, 0.4]])
    assert [status.name for status in told.statuses] == ["USED"] * 3
    assert not np.array_equal(session.ask().play, rounds.plays[2])


@pytest.mark.parametrize("k", slow_but([1, 50, 1000], {1, 50}))
def test_any_dimension(k):
    ball, horizon = Ball(k), 3
    losses = tarry.losses.Linear(np.ones((horizon, k)) / sqrt(k))
    for learner in (OnePoint(OGD(ball, 0.1), 0.1), TwoPoint(DOGD(ball, 0.1), 0.1), Differences(DOGD(ball, 0.1), 0.1)):
        game = tarry.Game(ball, losses, tarry.delays.array(np.ones(horizon)), feedback="value", queries=k + 1)
        assert np.all(np.isfinite(tarry.simulate(game, learner).regret))


@pytest.mark.slow
@pytest.mark.jit(only=True)
@pytest.mark.parametrize(
    ("rule", "kind"), [("one", "reduction"), ("two", "delayed descent"), ("differences", "strongly convex")]
)
def test_a_second_call_does_not_compile(rule, kind):
    wrapper, _, delta, rate = RULES[rule]
    play(wrapper(BASES[kind](rate), delta))
    before = [len(d.signatures) for d in run_rounds.dispatchers]
    play(wrapper(BASES[kind](2 * rate), delta / 2), delays=np.full(HORIZON, 3))
    assert [len(d.signatures) for d in run_rounds.dispatchers] == before
