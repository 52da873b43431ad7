"""A session fed with a game's delays equals simulate bit for bit: same plays, weights, fates."""

from __future__ import annotations

import numpy as np
import pytest
from marking import jit_for, slow_but

import tarry

HORIZON, CAPACITY, SEED = 120, 6, 9
RNG = np.random.default_rng(4)
DOMAIN = tarry.domains.Ball(3)
LOSSES = tarry.losses.Quadratic(RNG.normal(size=(HORIZON, 3)), strong_convexity=0.7)
DELAYS = tarry.delays.array(RNG.integers(0, 50, HORIZON))

LEARNERS = {
    "DWFTRL": tarry.learners.DWFTRL(DOMAIN, rate=0.05),
    "DWFTBL": tarry.learners.DWFTBL(DOMAIN, rate=tarry.rates.Power(0.02, 0.75), smoothing=0.4),
}
SCHEDULERS = {
    "VarOpt": tarry.schedulers.VarOpt(),
    "Priority": tarry.schedulers.Priority(),
    "Morris": tarry.schedulers.Morris(0.5),
    "Pareto": tarry.schedulers.Pareto(safety=2.0),
    "Bernoulli": tarry.schedulers.Bernoulli(probability=0.3),
    "Coin": tarry.schedulers.Coin(safety=2.0),
    "Proxy": tarry.schedulers.Proxy(1.0 / np.sqrt(np.arange(1, 60))),
    "DropNewest": tarry.schedulers.DropNewest(),
    "DropOldest": tarry.schedulers.DropOldest(),
    "Batching": tarry.schedulers.Batching(max_delay=49),
    "DoublingBernoulli": tarry.schedulers.DoublingBernoulli(safety=20.0),
    "Thinning": tarry.schedulers.Thinning(safety=2.0),
    "Timeout": tarry.schedulers.Timeout(12),
    "Skipping": tarry.schedulers.Skipping(3, patience=1.5),
    "RandomEvict": tarry.schedulers.RandomEvict(),
    "Reservoir": tarry.schedulers.Reservoir(),
    "Always": tarry.schedulers.Always(),
}
EPOCHS = {"DoublingBernoulli": tarry.Doubling("backlog")}
MODELS = ("clairvoyant", "semi-clairvoyant", "non-clairvoyant")
MATRIX = [(a, b, c) for a in LEARNERS for b in SCHEDULERS for c in MODELS]

COMPILED = [("DWFTRL", "VarOpt", "semi-clairvoyant"), ("DWFTBL", "Morris", "non-clairvoyant")]
QUICK = [one for one in MATRIX if one[0] == "DWFTRL" or one[1] in ("VarOpt", "Morris")]


def test_every_scheduler_is_in_the_matrix():
    members = {n for n in tarry.schedulers.__all__ if hasattr(getattr(tarry.schedulers, n), "needs_preemption")}
    assert members - {"Given"} == set(SCHEDULERS)


@pytest.mark.parametrize(
    ("learner", "scheduler", "information"),
    jit_for(QUICK, COMPILED[:1], COMPILED) + slow_but([one for one in MATRIX if one not in QUICK], ()),
)
def test_session_equals_simulation(learner, scheduler, information):
    player = tarry.Player(LEARNERS[learner], SCHEDULERS[scheduler], EPOCHS.get(scheduler))
    capacity = None if scheduler == "Always" else CAPACITY
    game = tarry.Game(
        DOMAIN,
        LOSSES,
        DELAYS,
        capacity=capacity,
        feedback=player.learner.feedback,
        information=information,
    )
    try:
        record = tarry.simulate(game, player, seeds=[SEED], keep_rounds=True)
    except tarry.errors.NotGranted:
        with pytest.raises(tarry.errors.NotGranted):
            tarry.Session(player, capacity=capacity, information=information)
        return
    plays, weights, session = drive(player, capacity, information)
    assert np.array_equal(plays, record.plays())
    assert np.array_equal(weights, record.rounds()["weight"].to_numpy())
    assert list(session.status().fates.values()) == record.fates[0].tolist()


def drive(player, capacity, information):
    """Feed a session with the game's delays, in increasing order of origin within a round."""
    session = tarry.Session(player, capacity=capacity, information=information, rng=SEED)
    arrivals = [[] for _ in range(HORIZON)]
    for s, d in enumerate(DELAYS.values):
        arrivals[s + d].append(s)
    plays, weights = np.zeros((HORIZON, 3)), np.zeros(HORIZON)
    for t in range(HORIZON):
        delay = int(DELAYS.values[t]) if information == "clairvoyant" else None
        plays[t] = session.ask(delay=delay).play
        for s in arrivals[t]:
            weights[s] = tell(session, s, plays[s]).weight
        status = session.status()
        assert capacity is None or status.tracked <= capacity
        assert sum(status.fates.values()) == status.rounds == t + 1
    return plays, weights, session


def tell(session, s, play):
    if session.player.learner.feedback == "gradient":
        return session.tell(s + 1, gradient=LOSSES.gradient(play, s + 1))
    return session.tell(s + 1, value=LOSSES.value(play, s + 1))


def test_order_within_a_round_changes_rounding_only():
    player = tarry.Player(LEARNERS["DWFTRL"])
    orders = []
    for reverse in (False, True):
        session = tarry.Session(player, capacity=CAPACITY, rng=SEED)
        weights = {}
        for t in range(100):
            session.ask()
            if t % 5 == 4:
                late = range(t - 4, t + 1)
                for s in reversed(late) if reverse else late:
                    weights[s] = session.tell(s + 1, gradient=LOSSES.gradient(np.zeros(3), s + 1))
        orders.append((session.ask().play, weights))
    np.testing.assert_allclose(orders[0][0], orders[1][0], rtol=0, atol=1e-12)
    assert orders[0][1] == orders[1][1]
