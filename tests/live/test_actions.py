"""Sessions with learners on the simplex equal simulations bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

import tarry
from tarry.learners import DORM, AdaHedgeD, EntropicFTRL, Exp3, TsallisFTRL

HORIZON, SEED = 80, 3
RNG = np.random.default_rng(8)
LOSSES = tarry.losses.Linear(RNG.uniform(size=(HORIZON, 3)))
DELAYS = tarry.delays.array(RNG.integers(0, 20, HORIZON))


LEARNERS = [Exp3(3, 0.05), AdaHedgeD(3), EntropicFTRL(3, rate=0.2), DORM(3), TsallisFTRL(3)]


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("capacity", [4, None])
def test_session_equals_simulation(learner, capacity):
    player = tarry.Player(learner, tarry.schedulers.VarOpt())
    game = tarry.Game(learner.domain, LOSSES, DELAYS, capacity=capacity, feedback=learner.feedback)
    record = tarry.simulate(game, player, seeds=[SEED], keep_rounds=True)
    session = tarry.Session(player, capacity=capacity, information="semi-clairvoyant", rng=SEED)
    plays = np.zeros((HORIZON, 3))
    for t in range(HORIZON):
        plays[t] = session.ask().play
        for s in range(t + 1):
            if s + DELAYS.values[s] != t:
                continue
            if learner.feedback == "gradient":
                session.tell(s + 1, gradient=LOSSES.gradient(plays[s], s + 1))
            else:
                session.tell(s + 1, value=LOSSES.value(plays[s], s + 1))
    assert np.array_equal(plays, record.plays())
