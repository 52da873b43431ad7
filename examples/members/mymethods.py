"""Members of one's own, one of each kind: copy this folder and change what differs.

own.toml plays them in a sweep, test_mymethods.py holds them to the contracts; docs/members.md says what each verb does.
"""

from math import sqrt
from typing import Annotated, Any, NamedTuple

import numpy as np

from tarry.checks import Count, NonNegative, Positive
from tarry.delays.base import Delays
from tarry.domains import Domain, project
from tarry.learners.base import Starting
from tarry.learners.states import AnyDomain, AnyPoint, Vector
from tarry.losses.base import Losses, as_rows, gradient, reach, value
from tarry.schedulers.base import SATURATED, UNTRACKED, Scheduler, draw


class MomentumState(NamedTuple):
    """What the learner keeps, by shape: numbers in vectors of the play's length."""

    point: Vector
    step: Vector
    scratch: Vector


class Momentum(Starting):
    """A learner of gradients: x ← Π(x − m), m ← βm + η Σ w g over what arrives. It states no regret."""

    domain: AnyDomain
    rate: Positive
    decay: NonNegative = 0.5
    start: AnyPoint = None  # the centre of the domain, unless given

    state = MomentumState

    @classmethod
    def careful(cls, domain: Any, max_delay: int) -> "Momentum":
        """Return a learner whose steps are short where delays are long."""
        return cls(domain, 0.1 / (1.0 + max_delay))

    def moved_to(self, domain: Any) -> "Momentum":
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


class FairCoin(Scheduler):
    """A scheduler: heads tracks a round if there is a free slot, and what is tracked counts twice."""

    def admit(self, state, draws, request):
        if draw(draws, request.t) > 0.5:
            return UNTRACKED
        return request.vacancy if request.vacancy >= 0 else SATURATED

    def arrive(self, state, slot, s, t):
        return 2.0


class Cubed(Losses):
    """A loss: f_t(x) = Σ |x_i − a_i|³ / 3, where a is the row of round t."""

    rows: Annotated[Any, as_rows]

    @property
    def dimension(self) -> int:
        return int(self.rows.width)

    def gradient_bound(self, domain):
        return (reach(domain) + self.rows.largest_norm()) ** 2

    def value_bound(self, domain):
        return (reach(domain) + self.rows.largest_norm()) ** 3 / 3.0


@value.on(Cubed)  # beside the class, where the name is that of the method value(x, t)
def _(loss, row, x):
    total = 0.0
    for i in range(x.size):
        total += abs(x[i] - row[i]) ** 3 / 3.0
    return total


@gradient.on(Cubed)
def _(loss, row, x, out):
    for i in range(x.size):
        out[i] = (x[i] - row[i]) * abs(x[i] - row[i])


class RushHour(Delays):
    """A law of delays: they grow by one each round and fall to zero every ``period`` rounds."""

    horizon: Count
    period: Count = 20

    @property
    def truncated(self) -> int:
        rounds = np.arange(1, self.horizon + 1)
        return int(np.count_nonzero(rounds % self.period > self.horizon - rounds))

    def delay(self, t):
        return min(t % self.period, self.horizon - t)


class Tube(Domain):
    """A domain: {x : |x_1| ≤ length, ‖(x_2, …, x_k)‖ ≤ radius}."""

    dimension: Count
    length: Positive = 1.0
    radius: Positive = 1.0

    @property
    def center(self):
        return np.zeros(self.dimension)

    @property
    def inner_radius(self) -> float:
        return min(self.length, self.radius)

    @property
    def outer_radius(self) -> float:
        return sqrt(self.length**2 + self.radius**2)

    def linear_minimiser(self, g):
        rest = sqrt(float(g[1:] @ g[1:]))
        around = -self.radius * g[1:] / rest if rest > 0 else np.zeros(self.dimension - 1)
        return np.concatenate(([-self.length * np.sign(g[0])], around))

    def project(self, x, scratch):
        x[0] = min(self.length, max(-self.length, x[0]))
        squares = 0.0
        for i in range(1, x.size):
            squares += x[i] * x[i]
        if squares > self.radius * self.radius:
            for i in range(1, x.size):
                x[i] *= self.radius / sqrt(squares)


def hurried(game):
    """A player: a function of the game that returns one."""
    from tarry import Player

    return Player(Momentum(game.domain, rate=0.2, decay=0.0), FairCoin())
