"""The certificate of a session after every call: equal to a recount, to the simulated one, and cheap."""

from __future__ import annotations

import numpy as np
import pytest
from recount import Heard, by_arrival, by_values

import tarry
from tarry.learners import DWFTBL, DWFTRL
from tarry.rates import Power

HORIZON, CAPACITY, SEED = 60, 5, 4
RNG = np.random.default_rng(2)
DOMAIN = tarry.domains.Ball(2)
LOSSES = tarry.losses.Linear(RNG.normal(size=(HORIZON, 2)))
DELAYS = tarry.delays.array(RNG.integers(0, 15, HORIZON))
LEARNERS = {
    "gradient": DWFTRL(DOMAIN, rate=Power(0.3, 0.5)),
    "value": DWFTBL(DOMAIN, rate=Power(0.3, 0.5), smoothing=Power(0.9, 0.25)),
}
SCHEDULERS = {"VarOpt": None, "Bernoulli": tarry.schedulers.Bernoulli(probability=0.5)}
BOUNDS = {"gradient_bound": LOSSES.gradient_bound(DOMAIN), "value_bound": LOSSES.value_bound(DOMAIN)}


def _session(feedback, scheduler=None, epochs=None, **options):
    player = tarry.Player(LEARNERS[feedback], scheduler, epochs)
    return tarry.Session(player, capacity=CAPACITY, information="semi-clairvoyant", rng=SEED, **options)


def _drive(session, feedback):
    """Play the game; yield (now, round, receipt, size) after every tell that was used."""
    plays = {}
    for t in range(1, HORIZON + 1):
        plays[t] = session.ask().play
        for s in range(1, t + 1):
            if s + DELAYS.values[s - 1] != t:
                continue
            if feedback == "gradient":
                given = {"gradient": LOSSES.gradient(plays[s], s)}
            else:
                given = {"value": LOSSES.value(plays[s], s)}
            receipt = session.tell(s, **given)
            if receipt.status.name == "USED":
                yield t, s, receipt.weight, float(np.linalg.norm(next(iter(given.values()))))


@pytest.mark.parametrize("name", list(SCHEDULERS))
@pytest.mark.parametrize("feedback", LEARNERS)
def test_after_every_tell(feedback, name):
    session, heard = _session(feedback, SCHEDULERS[name]), []
    eta = {t: 0.3 * max(t - 1, 1) ** -0.5 for t in range(1, HORIZON + 2)}
    radii = {t: 0.9 * t**-0.25 for t in range(1, HORIZON + 1)}
    for now, s, weight, size in _drive(session, feedback):
        heard.append(Heard(s, now, weight, size))
        found = session.status().certificate
        assert found.rounds == len(heard)
        assert found.regularisation == pytest.approx(4.0 / (2 * eta[now + 1]))
        if feedback == "gradient":
            own, pairs = by_arrival(heard, eta, now)
            np.testing.assert_allclose(found[2:5], (own, pairs, 0.0), rtol=1e-12)
        else:
            own = by_values(heard, eta, radii)[0] * 2**2  # k = 2; the values observed
            np.testing.assert_allclose(found.variance, own, rtol=1e-12)
    assert len(heard) > 20


@pytest.mark.parametrize("epochs", [None, tarry.Doubling("total")])
@pytest.mark.parametrize("feedback", LEARNERS)
def test_live_equals_simulated_bit_for_bit(feedback, epochs):
    player = tarry.Player(LEARNERS[feedback], None, epochs)
    game = tarry.Game(DOMAIN, LOSSES, DELAYS, capacity=CAPACITY, feedback=feedback)
    record = tarry.simulate(game, player, seeds=[SEED])
    bounds = BOUNDS if feedback == "value" else {"gradient_bound": BOUNDS["gradient_bound"]}
    session = _session(feedback, None, epochs, **bounds)
    for _ in _drive(session, feedback):
        pass
    assert session.status().certificate == record.certificates[0]


def test_an_expired_round_is_no_part_of_it():
    session = _session("gradient")
    first, second = session.ask(), session.ask()
    session.expire(first.id)
    session.tell(second.id, gradient=[1.0, 0.0])
    found = session.status().certificate
    assert (found.rounds, found.overlap) == (1, 0.0)


def test_a_growing_session_keeps_its_books():
    session = tarry.Session(
        tarry.Player(DWFTRL(DOMAIN, rate=0.1), tarry.schedulers.Always()), capacity=None, gradient_bound=1.0
    )
    ids = [session.ask().id for _ in range(150)]  # more than the slots it began with
    for id in ids:
        session.tell(id, gradient=[1.0, 0.0])
    found = session.status().certificate
    np.testing.assert_allclose(found[1:4], (4.0 / 0.2, 0.05 * 150**2, 0.0), rtol=1e-12)


class Watched(np.ndarray):
    """Counts what is written."""

    written = 0

    def __setitem__(self, key, value):
        Watched.written += 1
        super().__setitem__(key, value)


@pytest.mark.parametrize("feedback", LEARNERS)
def test_the_price_of_a_call(feedback):
    """O(1) per round, none where it is not tracked; a used arrival none, with values O(C); and nothing grows."""
    session = _session(feedback)
    tracker = session._tracker
    slots = tracker.slots
    tally = slots.state.tally
    watched = {
        name: getattr(tally, name).view(Watched)
        for name in ("pair_sum", "rate", "inverse_radius", "pair_sum_w2", "pair_sum_w")
    }
    slots.state = slots.state._replace(tally=tally._replace(**watched))
    given = {"gradient": [1.0, 0.0]} if feedback == "gradient" else {"value": 1.0}
    sizes = [part.size for part in tally]
    for t in range(1, 200):
        Watched.written = 0
        asked = session.ask()
        assert Watched.written == (5 if asked.tracked else 0)
        Watched.written = 0
        told = session.tell(t - t % 7, **given) if t % 7 != t else None
        used = told is not None and told.status.name == "USED"
        assert Watched.written <= (2 * CAPACITY if used and feedback == "value" else 0)
    assert [part.size for part in slots.state.tally] == sizes
