"""Learners with state by slot or by copy survive a stored session that is opened again, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

import tarry
from tarry.domains import Ball
from tarry.learners import BOLD, DOGD, DWFTRL, OGD, SOLID, SOLO, AdaDelay, AdaptiveRevision, Interleaving
from tarry.rates import Power

HORIZON, K = 40, 2
RNG = np.random.default_rng(14)
ROWS = RNG.normal(size=(HORIZON, K))
DELAYS = tarry.delays.array(RNG.integers(0, 9, HORIZON)).values
UNIT = Ball(K)
MEMBERS = {
    "DOGD": DOGD(UNIT, rate=0.2),
    "SOLID": SOLID(OGD(UNIT, rate=Power(0.5, 0.5))),
    "Interleaving": Interleaving(OGD(UNIT, rate=0.3), 4),
    "BOLD": BOLD(DWFTRL(UNIT, rate=Power(0.5, 0.5))),
    "AdaptiveRevision": AdaptiveRevision(UNIT, scale=0.5),
    "AdaDelay": AdaDelay(UNIT, gradient_bound=1.0, max_delay=8),
    "SOLO": SOLO(UNIT),
}


def _rounds(session, first, last):
    plays = []
    for t in range(first, last + 1):
        plays.append(session.ask().play.copy())
        for s in range(1, t + 1):
            if s + DELAYS[s - 1] == t:
                session.tell(s, gradient=ROWS[s - 1])
    return np.array(plays)


@pytest.mark.parametrize("name", MEMBERS)
def test_a_stored_session_goes_on_where_it_was(name, tmp_path):
    player = tarry.Player(MEMBERS[name])
    whole = _rounds(tarry.Session(player, capacity=3, rng=5), 1, HORIZON)
    game = tarry.Game(UNIT, tarry.losses.Linear(ROWS), tarry.delays.array(DELAYS), capacity=3)
    assert np.array_equal(whole, tarry.simulate(game, player, seeds=[5], keep_rounds=True).plays())
    store = f"sqlite:///{tmp_path / 'session.db'}"
    early = tarry.Session(player, capacity=3, rng=5, store=store)
    assert np.array_equal(_rounds(early, 1, 17), whole[:17])
    early.close()
    late = tarry.Session.open(store)
    assert np.array_equal(_rounds(late, 18, HORIZON), whole[17:])
    late.close()
