"""Laws of delays: rules of the round and of a key, in memory that does not grow with the horizon.

A law answers ``wait(delays, t)``, the delay as if play never ended; the cut to the horizon is made here. The uncut
delay of a round does not depend on the horizon, so a longer game begins like a shorter one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from math import cos, exp, expm1, inf, log, log1p, pi, sqrt
from typing import Annotated, Any, Self

import numpy as np

from tarry.checks import Count, Natural, Positive, as_int, as_positive
from tarry.delays.base import Backlog, Counts, Delays, delay, fill
from tarry.errors import ArgumentError
from tarry.kernel import KW_ONLY, Purpose, entry, keyed, make_key, make_seed, register_methods, step, verb
from tarry.kernel.wheel import Wheel, grow_wheel, make_wheel, schedule, take, turn

# Beyond this a delay is for ever, and adding a round to it still fits 64 bits.
LONGEST = 2.0**62
BLOCK = 1 << 16  # rounds surveyed together: half a megabyte, and compiled calls too long to count
TOTAL, LARGEST, PEAK, CUT, PENDING, LASTING = range(6)
STEEPEST = 700.0  # exp of more is near the end of the floats and far past any delay


class Generated(Delays):
    """Base of generated delays: summaries stream, only ``values`` is long."""

    horizon: Count

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        register_methods(cls, (wait,))

    def uncut(self, rounds: int, start: int = 1) -> Counts:
        """Return the delays of ``rounds`` rounds from ``start`` on, before the cut."""
        out = np.zeros(rounds, np.int64)
        is_law = delay.find(type(self)) is _delay  # a user's may answer ``delay`` itself, which is what is played
        (_fill_uncut if is_law else fill).dispatcher_for(self)(self, start, out)
        return out

    def first(self, rounds: int) -> Counts:
        return np.minimum(self.uncut(rounds), self.horizon - np.arange(1, rounds + 1))

    def summary(self) -> Backlog:
        return _surveyed(self)[0]

    @property
    def truncated(self) -> int:
        return _surveyed(self)[1]


@verb
def wait(delays: Generated, t: int) -> int:
    """Return the delay of round t (from 1) before it is cut to the horizon."""


# Not a method: ``Fixed`` has a field of that name.
@delay.on(Generated)
def _delay(delays: Generated, t: int) -> int:
    return min(wait(delays, t), delays.horizon - t)


@step
def whole_rounds(x: float) -> int:
    """Return ⌊x⌋ of a number x ≥ 0 (infinity too), clipped so that it fits 64 bits."""
    return int(min(x, LONGEST))


@entry
def _fill_uncut(delays: Generated, start: int, out: Counts) -> None:
    for i in range(out.size):
        out[i] = wait(delays, start + i)


@functools.lru_cache(maxsize=128)
def _surveyed(delays: Generated) -> tuple[Backlog, int]:
    return survey(delays.horizon, delays.uncut)


def survey(horizon: int, uncut: Callable[[int, int], Counts]) -> tuple[Backlog, int]:
    """Return the backlog of delays and how many were cut; ``uncut(rounds, start)`` gives a block before the cut.

    One pass, in memory bounded by the backlog and one block: pending rounds wait in a timing wheel.
    """
    wheel = make_wheel(min(BLOCK, horizon), horizon)
    sums = np.zeros(6, np.int64)
    run = _survey.dispatcher_for()
    for start in range(1, horizon + 1, BLOCK):
        block = uncut(min(BLOCK, horizon + 1 - start), start)
        room = int(sums[PENDING]) + block.size
        if room > wheel.room:  # at least half more each time, so that growing is paid for by the rounds
            wheel = grow_wheel(wheel, max(room, 3 * wheel.room // 2))
        run(block, start, horizon, wheel, sums)
    return Backlog(*sums[: PEAK + 1].tolist()), int(sums[CUT])


@entry
def _survey(block: Counts, start: int, horizon: int, wheel: Wheel, sums: Counts) -> None:
    for i in range(block.size):
        t = start + i
        turn(wheel, t)
        sums[PEAK] = max(sums[PEAK], sums[PENDING] + sums[LASTING])
        wait = block[i]
        if wait > horizon - t:
            wait = horizon - t
            sums[CUT] += 1
        sums[TOTAL] += wait
        sums[LARGEST] = max(sums[LARGEST], wait)
        # Feedback that comes with the last round never leaves the backlog in time: it is counted, not scheduled.
        if wait == horizon - t:
            sums[LASTING] += 1
        else:
            schedule(wheel, t, t + wait, t)
            sums[PENDING] += 1
        while take(wheel, t) >= 0:
            sums[PENDING] -= 1


def _as_key(rng: Any, name: str) -> np.uint64:
    return make_key(make_seed(rng), Purpose.DELAYS)


Key = Annotated[Any, _as_key]  # given as an int, SeedSequence, Generator or None, and kept as a key


class Fixed(Generated):
    """The same delay in every round.

    >>> fixed(horizon=4, delay=2).values.tolist()
    [2, 2, 1, 0]
    """

    _: KW_ONLY
    delay: Natural

    @property
    def in_line(self) -> int:
        # A user's subclass may have any delays.
        return min(self.delay, self.horizon) + 1 if type(self) is Fixed else 0

    def wait(self, t: int) -> int:
        return self.delay


class Bursts(Generated):
    """Stretches of ``length`` rounds, slow and fast in turn: d_t = slow where ⌊(t − 1)/length⌋ is even, else fast.

    >>> bursts(horizon=8, length=2, slow=3, fast=0).values.tolist()
    [3, 3, 0, 0, 3, 2, 0, 0]
    """

    _: KW_ONLY
    length: Count = 250
    slow: Natural = 400
    fast: Natural = 3

    def wait(self, t: int) -> int:
        if ((t - 1) // self.length) % 2 == 0:
            return self.slow
        return self.fast


class Uniform(Generated):
    """Independent delays, P(d = j) = 1/(high − low + 1) for j = low, …, high (both ends included).

    >>> delays = uniform(horizon=1000, low=2, high=4, rng=1)
    >>> delays.uncut(6).tolist(), delays.max_delay
    ([3, 3, 3, 3, 3, 4], 4)
    """

    _: KW_ONLY
    low: Natural = 0
    high: Natural
    rng: Key = None

    @classmethod
    def complete(cls, fields: dict[str, Any]) -> None:
        low, high = fields["low"], fields["high"]
        if high < low:
            raise ValueError(f"high must be at least low, got low={low} and high={high}")
        if high - low >= 2**52:  # a uniform has 52 bits or so: not every value could come
            raise ValueError(f"high - low must be below 2**52, got {high - low}")

    def wait(self, t: int) -> int:
        below = 1.0 - keyed.uniform(self.rng, t)
        drawn = self.low + whole_rounds(below * (self.high - self.low + 1))
        # The product may round up to the number of values itself.
        return min(drawn, self.high)


class Geometric(Generated, init=False):
    """Independent delays, P(d = j) = (1 − p)^j p for j = 0, 1, …: failures before a success.

    Give the mean (1 − p)/p ≥ 0 or the probability p in (0, 1] that feedback comes in a given round. That is
    Geom(p) − 1 where Geom(p) counts trials: Geom(1/200) − 1 is ``probability=1/200`` or ``mean=199``.

    >>> geometric(horizon=1000, probability=1 / 200, rng=1).mean
    199.0
    """

    probability: float
    log_failure: float
    key: np.uint64

    def __new__(
        cls, *, horizon: int, mean: float | None = None, probability: float | None = None, rng: Any = None
    ) -> Self:
        if (mean is None) == (probability is None):
            raise ValueError(f"give either mean or probability, got mean={mean} and probability={probability}")
        if probability is None:
            probability = 1.0 if mean == 0 else 1.0 / (1.0 + as_positive(mean, "mean"))
        p = as_positive(probability, "probability")
        if p > 1.0:
            raise ArgumentError("probability", "must be in (0, 1]", probability)
        log_failure = log1p(-p) if p < 1.0 else -inf  # divided by -inf, every draw is 0
        return cls.make(as_int(horizon, "horizon", 1), p, log_failure, _as_key(rng, "rng"))

    @property
    def mean(self) -> float:
        """The mean delay before the cut, (1 − p)/p."""
        return (1.0 - self.probability) / self.probability

    def wait(self, t: int) -> int:
        # P(d >= j) = P(U <= (1 - p)^j) with U on (0, 1].
        return whole_rounds(log(keyed.uniform(self.key, t)) / self.log_failure)


class Pareto(Generated):
    """Independent heavy-tailed delays ⌊scale · L⌋, P(L > x) = (1 + x)^(−shape): L is Lomax(shape).

    P(d ≥ j) = (1 + j/scale)^(−shape) for whole j; the mean is infinite for shape ≤ 1. Draws past 2**62
    are clipped there before the cut to the horizon.

    >>> delays = pareto(horizon=100_000, shape=0.9, scale=20, rng=1)
    >>> int(np.median(delays.values)), delays.truncated
    (23, 265)
    """

    _: KW_ONLY
    shape: Positive
    scale: Positive
    rng: Key = None

    def wait(self, t: int) -> int:
        steepness = -log(keyed.uniform(self.rng, t)) / self.shape
        return whole_rounds(self.scale * expm1(min(steepness, STEEPEST)))


class Lognormal(Generated):
    """Independent delays ⌊median · exp(spread · Z)⌋, Z standard normal, the median in rounds.

    Before rounding down the mean is median · exp(spread²/2).

    >>> delays = lognormal(horizon=10_000, median=30, spread=1.0, rng=1)
    >>> int(np.median(delays.values))
    29
    """

    _: KW_ONLY
    median: Positive
    spread: Positive
    rng: Key = None

    def wait(self, t: int) -> int:
        # Box and Muller's normal from two uniforms of the round; U lies in (0, 1], so the logarithm is finite.
        radius = sqrt(-2.0 * log(keyed.uniform_at(self.rng, t, 0)))
        z = radius * cos(2.0 * pi * keyed.uniform_at(self.rng, t, 1))
        return whole_rounds(self.median * exp(min(self.spread * z, STEEPEST)))


# Users write a law in small letters, as a function of its parameters.
fixed = Fixed
bursts = Bursts
uniform = Uniform
geometric = Geometric
pareto = Pareto
lognormal = Lognormal
