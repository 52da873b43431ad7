"""Hold the members to the library's contracts: pytest examples/members."""

import numpy as np
from mymethods import Cubed, FairCoin, Momentum, RushHour, Tube

from tarry.domains import Ball
from tarry.testing import DelaysContract, DomainContract, LearnerContract, LossContract, SchedulerContract


class TestMomentum(LearnerContract):
    def learner(self):
        return self.sized(3)

    def sized(self, dimension):
        return Momentum(Ball(dimension), 0.05)


class TestFairCoin(SchedulerContract):
    scheduler = FairCoin()
    saturates = True


class TestCubed(LossContract):
    def loss(self):
        return Cubed(np.random.default_rng(0).uniform(-1, 1, size=(50, 2)))

    def domain(self):
        return Ball(2)


class TestRushHour(DelaysContract):
    random = False

    def make(self, horizon, rng):
        return RushHour(horizon)


class TestTube(DomainContract):
    def domain(self):
        return Tube(3, length=2.0)
