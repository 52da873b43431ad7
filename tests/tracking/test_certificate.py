"""Certificates against a recount from what happened, and against instances that attain them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recount import by_arrival, by_gradients, by_values, heard_by, rates_of, total_epochs

import tarry
from tarry.learners import DWFTBL, DWFTRL, Adaptive, Mahalanobis
from tarry.rates import DoublingRate, Power
from tarry.theory import bandit_weighted_regret_bound

HORIZON, CAPACITY = 70, 4
RNG = np.random.default_rng(8)
DOMAIN = tarry.domains.Ball(3)
ROWS = RNG.normal(size=(HORIZON, 3))
DELAYS = tarry.delays.array(RNG.integers(0, 18, HORIZON))
WAITS = np.asarray(DELAYS.values)
RATE, RADIUS = Power(0.3, 0.5), Power(0.8, 0.25)
SCHEDULERS = {
    "VarOpt": tarry.schedulers.VarOpt(),
    "Bernoulli": tarry.schedulers.Bernoulli(probability=0.4),
    "Priority": tarry.schedulers.Priority(),
    "Always": tarry.schedulers.Always(),
}
NAMES = list(SCHEDULERS)


def _game(feedback, losses, name="VarOpt"):
    return tarry.Game(DOMAIN, losses, DELAYS, capacity=None if name == "Always" else CAPACITY, feedback=feedback)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("stated", [True, False])
def test_gradients(name, stated):
    def losses_of(rows):
        bound = {"gradient_bound": float(np.linalg.norm(rows, axis=1).max())} if stated else {}
        return tarry.losses.Callables(
            lambda x, t: float(x @ rows[t - 1]), lambda x, t: rows[t - 1], dimension=3, horizon=HORIZON, **bound
        )

    player = tarry.Player(DWFTRL(DOMAIN, rate=RATE), SCHEDULERS[name])
    record = tarry.simulate(_game("gradient", losses_of(ROWS), name), player, seeds=[3], keep_rounds=True)
    norms = np.linalg.norm(ROWS, axis=1)
    rates = rates_of(RATE, HORIZON)

    def size(s):
        return norms.max() if stated else norms[s - 1]

    for now, bound in zip(record.checkpoints.tolist(), record.bound_at[0], strict=True):
        heard = heard_by(record, now, size)
        own, pairs = by_arrival(heard, rates, now)
        np.testing.assert_allclose(bound, 4.0 / (2 * rates[now + 1]) + own + pairs, rtol=1e-12)
        assert own + pairs <= sum(by_gradients(heard, rates)) * (1 + 1e-12)  # (A), in the order of play
    found = record.certificates[0]
    np.testing.assert_allclose(found[1:5], (4.0 / (2 * rates[HORIZON + 1]), own, pairs, 0.0), rtol=1e-12)
    assert found.bound == record.bound[0]
    assert found.rounds == record.fates[0, 0] > 10
    assert pairs > own > 0
    assert found.gradient_bound == (norms.max() if stated else None)
    assert found.holds == "on every path"


@pytest.mark.parametrize("name", NAMES)
def test_values(name):
    losses = tarry.losses.Linear(ROWS, offsets=np.full(HORIZON, 0.5))
    player = tarry.Player(DWFTBL(DOMAIN, rate=RATE, smoothing=RADIUS), SCHEDULERS[name])
    record = tarry.simulate(_game("value", losses, name), player, seeds=[3], keep_rounds=True)
    steep, most = losses.gradient_bound(DOMAIN), losses.value_bound(DOMAIN)
    rates, radii = rates_of(RATE, HORIZON), {t: 0.8 * t**-0.25 for t in range(1, HORIZON + 1)}
    for now, bound in zip(record.checkpoints.tolist(), record.bound_at[0], strict=True):
        own, exact, root, plain, smoothed = by_values(heard_by(record, now, lambda s: 3 * most), rates, radii)
        pairs = 3 * most * steep * root + steep**2 * plain
        drift = 3 * steep * 2.0 * smoothed
        np.testing.assert_allclose(bound, 4.0 / (2 * rates[now + 1]) + own + pairs + drift, rtol=1e-11)
        assert root >= exact * (1 - 1e-12)
    found = record.certificates[0]
    np.testing.assert_allclose(found[2:5], (own, pairs, drift), rtol=1e-11)
    assert root > exact > 0
    assert "in expectation over the directions" in found.holds


def test_the_root_loses_little_under_equal_delays():
    """Weights 1, delay d: q_t = min(t − 1, d), so the root costs √(T Σq) for Σ√q, exactly; parts else are (B)'s."""
    horizon, wait, rate, radius = 400, 9, 0.01, 0.5
    losses = tarry.losses.Linear(np.tile(ROWS[:1], (horizon, 1)))
    learner = DWFTBL(DOMAIN, rate=rate, smoothing=radius)
    game = tarry.WeightedGame(
        DOMAIN, losses, tarry.delays.fixed(horizon=horizon, delay=wait), np.ones(horizon), feedback="value"
    )
    found = tarry.simulate(game, learner).certificates[0]
    steep, most = losses.gradient_bound(DOMAIN), losses.value_bound(DOMAIN)
    exact = bandit_weighted_regret_bound(
        weights=np.ones(horizon),
        delays=np.minimum(wait, horizon - 1 - np.arange(horizon)),
        rates=np.full(horizon, rate),
        smoothing=np.full(horizon, radius),
        diameter=2.0,
        gradient_bound=steep,
        value_bound=most,
        inner_radius=1.0,
        dimension=3,
        sharpened=True,
    )
    q = np.minimum(np.arange(horizon), wait)
    scale = 3 * most * steep * rate / radius
    assert found.bound - exact == pytest.approx(scale * (np.sqrt(horizon * q.sum()) - np.sqrt(q).sum()), rel=1e-9)
    assert np.sqrt(horizon * q.sum()) < 1.01 * np.sqrt(q).sum()


@pytest.mark.parametrize("over", ["gradient", "value"])
def test_epochs(over):
    """One regularisation an epoch, no pair across epochs, rates and radii as the epoch counts rounds."""
    losses = tarry.losses.Linear(ROWS)
    steep, most = losses.gradient_bound(DOMAIN), losses.value_bound(DOMAIN)
    rule = DoublingRate(2.0, steep)
    learner = DWFTRL(DOMAIN, rate=rule) if over == "gradient" else DWFTBL(DOMAIN, rate=rule, smoothing=RADIUS)
    player = tarry.Player(learner, epochs=tarry.Doubling("total"))
    record = tarry.simulate(_game(over, losses), player, seeds=[1], keep_rounds=True)
    levels, magnitudes = total_epochs(WAITS)
    starts = {m: levels.index(m) + 1 for m in levels}
    rates = {t: 2.0 / steep / np.sqrt(magnitudes[t - 1]) for t in range(1, HORIZON + 1)}
    for now, bound in zip(record.checkpoints.tolist(), record.bound_at[0], strict=True):
        spread = sum(4.0 / (2 * rates[starts[m]]) for m in set(levels[:now]))
        heard = heard_by(record, now, lambda s: steep if over == "gradient" else 3 * most)
        assert all(levels[one.s - 1] == levels[one.at - 1] for one in heard)
        if over == "gradient":
            own, pairs = by_arrival(heard, {**rates, now + 1: rates[now]}, now, levels)
            drift = 0.0
        else:
            radii = {t: 0.8 * (t - starts[levels[t - 1]] + 1) ** -0.25 for t in range(1, HORIZON + 1)}
            own, _, root, plain, smoothed = by_values(heard, rates, radii)
            pairs, drift = 3 * most * steep * root + steep**2 * plain, 3 * steep * 2.0 * smoothed
        np.testing.assert_allclose(bound, spread + own + pairs + drift, rtol=1e-11)
    assert len(starts) > 3
    assert record.certificates[0].regularisation == pytest.approx(spread)


def test_an_epoch_closes_at_the_rate_it_had():
    """Rates that move within an epoch: a new one adds its own D²/(2η_0) to what stood after the last round."""
    learner = DWFTRL(DOMAIN, rate=tarry.rates.Anytime(2.0, 1.0))
    player = tarry.Player(learner, epochs=tarry.Doubling("backlog"))
    session = tarry.Session(player, capacity=CAPACITY, information="semi-clairvoyant", rng=1)
    before, labels = 0.0, []
    for pending in range(20):  # nobody answers: σ_t = t − 1, and an epoch begins at 1, 2, 3, 5, 9, 17
        session.ask()
        now, label = session.status().certificate.regularisation, pending.bit_length()
        if label not in labels:
            assert now == pytest.approx(before + 4.0 / (2 * 2.0))
        else:
            assert now > before
        labels.append(label)
        before = now
    assert len(set(labels)) == 6


@pytest.mark.parametrize("plan", ["last", "other"])
@pytest.mark.parametrize("bounded", [True, False])
def test_attained(plan, bounded):
    """All heard in the last round, η = D/Σ|g|, start and comparator a diameter apart: the bound is the regret."""
    horizon = 25
    sizes = np.full(horizon, 2.0) if bounded else np.random.default_rng(0).uniform(0.5, 3.0, horizon)
    learner = DWFTRL(tarry.domains.Ball(1), rate=2.0 / sizes.sum(), start=[1.0])
    options = {"gradient_bound": 2.0} if bounded else {}
    session = tarry.Session(tarry.Player(learner, tarry.schedulers.Always()), capacity=None, rng=1, **options)
    asked = [session.ask() for _ in range(horizon)]
    for r in asked if plan == "last" else asked[::-1]:
        session.tell(r.id, gradient=[sizes[r.id - 1]])
    assert all(r.play[0] == 1.0 for r in asked)
    found, eta = session.status().certificate, 2.0 / sizes.sum()
    assert (found.variance, found.overlap) == (pytest.approx(eta * sizes.sum() ** 2 / 2, rel=1e-12), 0.0)
    assert found.regularisation == pytest.approx(sizes.sum(), rel=1e-12)
    assert found.bound == pytest.approx(sizes.sum() * 2.0, rel=1e-12)


@given(seed=st.integers(0, 10**6), rounds=st.integers(1, 40), capacity=st.integers(2, 9), kind=st.integers(0, 4))
def test_it_dominates_on_every_path(seed, rounds, capacity, kind):
    """Random tells, late and out of order, adversarial or not: the worst weighted regret stays below, always."""
    rng = np.random.default_rng(seed)
    learner = DWFTRL(DOMAIN, rate=Power(float(rng.uniform(0.05, 2.0)), 0.5))
    choices = [None, tarry.schedulers.Bernoulli(probability=0.5), None, tarry.schedulers.Priority()]
    scheduler = [*choices, tarry.schedulers.Batching(4)][kind]  # which withholds what has arrived
    session = tarry.Session(tarry.Player(learner, scheduler), capacity=capacity, rng=seed)
    total, gain, waiting = np.zeros(3), 0.0, {}
    for _ in range(rounds):
        r = session.ask()
        for id in r.released:
            waiting.pop(id)
        if r.tracked:
            waiting[r.id] = r.play
        for id in [i for i in waiting if rng.random() < 0.3]:
            play = waiting.pop(id)
            g = np.ones(3) if kind == 2 else rng.normal(size=3) * rng.exponential()
            weight = session.tell(id, gradient=g).weight
            total += weight * g
            gain += weight * float(g @ play)
            worst = gain + np.linalg.norm(total)  # the comparator is −total/|total|
            assert worst <= session.status().certificate.bound * (1 + 1e-12)


def test_mahalanobis():
    """Distances in the norm, gradients in its dual, also where the losses bound theirs in another."""
    q = np.array([[2.0, 0.5], [0.5, 1.0]])
    domain = tarry.domains.Ellipsoid(matrix=q)
    learner = DWFTRL(domain, rate=0.1, norm=Mahalanobis(q))
    rows = ROWS[:, :2]
    game = tarry.Game(domain, tarry.losses.Linear(rows), DELAYS, capacity=CAPACITY)
    record = tarry.simulate(game, tarry.Player(learner), seeds=[3], keep_rounds=True)
    sizes = np.sqrt(np.einsum("ti,ij,tj->t", rows, np.linalg.inv(q), rows))
    heard = heard_by(record, HORIZON, lambda s: sizes[s - 1])
    own, pairs = by_arrival(heard, dict.fromkeys(range(1, 99), 0.1), HORIZON)
    np.testing.assert_allclose(record.certificates[0][1:4], (4.0 / 0.2, own, pairs), rtol=1e-10)


def test_who_has_none():
    join = tarry.LabelJoin(capacity=4)
    join.label(join.decide().id, 1)
    assert join.status().certificate is None
    session = tarry.Session(tarry.Player(DWFTRL(DOMAIN, rate=0.1)), capacity=4)
    assert session.status().certificate is None  # nothing played
    session.ask()
    assert session.status().certificate.bound == pytest.approx(4.0 / 0.2)
    game, player = _game("gradient", tarry.losses.Linear(ROWS)), tarry.Player(Adaptive(DOMAIN, 1.0))
    record = tarry.simulate(game, player, bound=False)
    assert record.certificates == [None]
    assert np.isnan(record.bound).all()
    assert tarry.simulate(game, player).certificates[0].holds == "on every path"
