"""Sessions take members of one's own: stored by name and fields, opened by passing the same player."""

from __future__ import annotations

import numpy as np
import pytest
from mymethods import FairCoin, Momentum

import tarry
from tarry.errors import StoreError


def test_a_stored_session_of_ones_own_members_goes_on(tmp_path):
    store, ball = f"sqlite:///{tmp_path}/state.db", tarry.domains.Ball(3)

    def player(rate=0.05):
        return tarry.Player(Momentum(ball, rate), FairCoin())

    whole = tarry.Session(player(), capacity=4, rng=3)
    plays = []
    for t in range(12):
        plays.append(whole.ask(t).play)
        whole.tell(t, gradient=[1.0, 0.0, 0.5])
    for t in range(12):  # a process for each round
        with tarry.Session(player(), capacity=4, store=store, rng=3) as session:
            assert np.array_equal(session.ask(t).play, plays[t])
            session.tell(t, gradient=[1.0, 0.0, 0.5])
    with tarry.Session.open(store, player=player()) as session:
        assert session.status().rounds == 12
    with pytest.raises(StoreError, match="uses Momentum, which is not part of Tarry: pass the same player"):
        tarry.Session.open(store)
    with pytest.raises(ValueError, match=r"another player.learner.rate \(0.05, not 0.07\)"):
        tarry.Session(player(0.07), capacity=4, store=store)
