"""
Your own learner and scheduler
==============================

This tutorial is for researchers with a method of their own. A member is a type with a few methods. You write a learner
with momentum and a scheduler that tosses a coin. You check the scheduler against its contract, and play both members
against the recommended player.
"""

# %%
# A learner
# ---------
# ``absorb`` takes one weighted gradient, and ``advance`` makes the next play. The fields of the class are its
# parameters. The state is a named tuple.
from typing import NamedTuple

import numpy as np

import tarry
from tarry.checks import NonNegative, Positive
from tarry.domains import project
from tarry.learners.base import Starting
from tarry.learners.states import AnyDomain, AnyPoint, Vector
from tarry.schedulers.base import SATURATED, UNTRACKED, Scheduler, draw
from tarry.testing import SchedulerContract


class MomentumState(NamedTuple):
    point: Vector
    step: Vector
    scratch: Vector


class Momentum(Starting):
    """Play x ← Π(x − m) with m ← βm + η Σ w g over what arrives. It states no regret."""

    domain: AnyDomain
    rate: Positive
    decay: NonNegative = 0.5
    start: AnyPoint = None

    state = MomentumState

    def moved_to(self, domain):
        return Momentum(domain, self.rate, self.decay)

    def restart(self, state, t, magnitude):
        state.point[:] = self.start
        state.step[:] = 0.0

    def absorb(self, state, directions, slot, s, weight, feedback):
        for i in range(feedback.size):
            state.step[i] += self.rate * weight * feedback[i]

    def advance(self, state, t, pending):
        for i in range(state.point.size):
            state.point[i] -= state.step[i]
            state.step[i] *= self.decay
        project(self.domain, state.point, state.scratch)


# %%
# A scheduler
# -----------
# Heads tracks the round if a slot is free. A tracked round counts twice, so that the mean weight is 1.
class FairCoin(Scheduler):
    def admit(self, state, draws, request):
        if draw(draws, request.t) > 0.5:
            return UNTRACKED
        return request.vacancy if request.vacancy >= 0 else SATURATED

    def arrive(self, state, slot, s, t):
        return 2.0


# %%
# Check the contract
# ------------------
# In a file of tests, subclass the contract and run pytest. ``saturates`` says that a full set turns rounds away;
# weights do not make up for these rounds. This script runs the checks one by one.
class TestFairCoin(SchedulerContract):
    scheduler = FairCoin()
    saturates = True


checks = [name for name in dir(TestFairCoin) if name.startswith("test_")]
for name in checks:
    getattr(TestFairCoin(), name)()
print(f"{len(checks)} checks pass, such as {checks[-1]}")

# %%
# Play
# ----
# Three players play the same game with 8 seeds each. Short games run in plain Python; longer games are compiled.
rows = np.random.default_rng(0).normal(0.2, 0.6, size=(400, 2))
game = tarry.Game(
    domain=tarry.domains.Ball(2),
    losses=tarry.losses.Linear(rows),
    delays=tarry.delays.fixed(horizon=400, delay=5),
    capacity=8,
)
players = {
    "own learner, own scheduler": tarry.Player(Momentum(game.domain, rate=0.02), FairCoin()),
    "own learner, VarOpt": tarry.Player(Momentum(game.domain, rate=0.02)),
    "recommended": tarry.players.recommended(game),
}
records = {name: tarry.simulate(game, player, seeds=8) for name, player in players.items()}
for name, record in records.items():
    print(f"{name}: regret {record.regret.mean():.1f}, mean weight {record.weights.mean.mean():.3f}")

# %%
chart = tarry.reports.compare(records)

# %%
# Next: :doc:`/members` says what each method may do. Copy the folder ``examples/members/`` to start your own.
