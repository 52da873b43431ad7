"""Delays are one non-negative integer per round, fixed before play, cut to the horizon.

A delays type answers the verb ``delay(delays, t)`` with min(d_t, horizon − t). Feedback of round t
arrives at the end of round t + d_t; zero means in the same round.

    O_t = {s < t : s + d_s < t}    arrived before t        σ_t = |B_t|   the backlog
    B_t = {s < t : s + d_s ≥ t}    pending at t            Σ_t σ_t = Σ_t d_t after the cut
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarry.checks import Count, Natural, as_int
from tarry.errors import ArgumentError
from tarry.kernel import Parameters, Unmoved, entry, register_methods, verb, verb_with_default

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


class Backlog(NamedTuple):
    """The quantities the theory speaks of."""

    total_delay: int
    max_delay: int
    max_backlog: int


class Delays(Parameters):
    """Base of delays: a member adds ``horizon``, ``truncated`` and a method ``delay(self, t)``, a verb."""

    reacts = False  # they are decided as play goes on: see ``Reacting``

    def __init_subclass__(cls) -> None:
        register_methods(cls, (delay, allocate, react, decide, last_arrival))

    @property
    def horizon(self) -> int:
        """The number of rounds."""
        raise NotImplementedError(f"{type(self).__name__} needs a horizon")

    @property
    def truncated(self) -> int:
        """How many rounds' delays reached past the horizon and were cut."""
        raise NotImplementedError(f"{type(self).__name__} does not count the delays it cut")

    def first(self, rounds: int) -> Counts:
        """Return the delays of rounds 1..``rounds``, cut to the horizon."""
        out = np.zeros(rounds, np.int64)
        fill.dispatcher_for(self)(self, 1, out)
        return np.minimum(out, self.horizon - np.arange(1, rounds + 1))

    @property
    def values(self) -> Counts:
        """All delays as an array, cut to the horizon."""
        return self.first(self.horizon)

    def backlog(self) -> Counts:
        """Return σ_t for t = 1..horizon: rounds played before t whose feedback is still out."""
        return backlog_of(self.values)

    def summary(self) -> Backlog:
        """Return total delay, largest delay and largest backlog."""
        values = self.values
        return Backlog(int(values.sum()), int(values.max()), int(backlog_of(values).max()))

    @property
    def total_delay(self) -> int:
        return self.summary().total_delay

    @property
    def max_delay(self) -> int:
        return self.summary().max_delay

    @property
    def max_backlog(self) -> int:
        return self.summary().max_backlog

    @property
    def in_line(self) -> int:
        """How many rounds wait at most, if feedback comes in the order of rounds; 0 where it need not."""
        return 0

    def observed_set(self, t: int) -> Counts:
        """Return O_t: the rounds before t whose feedback arrived before t, in increasing order."""
        if as_int(t, "t", 1) > self.horizon:
            raise ArgumentError("t", f"must be at most the horizon {self.horizon}", t)
        earlier = np.arange(1, int(t), dtype=np.int64)
        return np.asarray(earlier[earlier + self.first(int(t) - 1) < t])

    def backlog_set(self, t: int) -> Counts:
        """Return B_t: the rounds before t whose feedback is still out, in increasing order."""
        observed = self.observed_set(t)
        return np.setdiff1d(np.arange(1, int(t), dtype=np.int64), observed)


@verb
def delay(delays: Delays, t: int) -> int:
    """Return the delay of round t (from 1), cut to the horizon."""


@verb_with_default
def last_arrival(delays: Delays, horizon: int) -> int:
    """Return the round to which arrivals are cut: the last one, or the one past it, whose arrivals nobody hears."""
    return horizon


@verb_with_default
def allocate(delays: Delays) -> Any:
    """Return what delays know of play before the first round (Python only): a named tuple of arrays."""
    return Unmoved()


@verb
def react(delays: Delays, state: Any, t: int, play: Array, slot: int, tracked: Counts) -> int:
    """Return the delay of round t, whose play and slot (negative: not tracked) are known, as are all tracked rounds."""


@verb_with_default
def decide(
    delays: Delays, state: Any, t: int, play: Array, slot: int, tracked: Counts, met: Counts, matters: bool
) -> int:
    """Return the delay of round t once it was admitted or not; 0 where nobody hears it and delays are fixed."""
    return delay(delays, t) if matters else 0


class Reacting(Delays):
    """Base of delays that react to plays and to who is tracked, with a state of its own for every seed.

    A member adds the verbs ``allocate(self)``, which makes the state, and ``react(self, state, t, play, slot,
    tracked)``, asked once a round for its delay: ``slot`` is negative where round t is not tracked, ``tracked`` has the
    round in each slot, or 0. Delays are cut to 0, …, ``longest`` and to the horizon. Before play nothing is known but
    that: ``values``, ``summary()`` and sets are those of the longest delays.
    """

    horizon: Count
    longest: Natural

    reacts = True
    truncated = 0

    def delay(self, t: int) -> int:
        return min(self.longest, self.horizon - t)

    def decide(self, state: Any, t: int, play: Array, slot: int, tracked: Counts, met: Counts, matters: bool) -> int:
        # Asked whether or not somebody hears the answer: a state sees every round.
        wait = max(0, min(react(self, state, t, play, slot, tracked), self.longest, self.horizon - t))
        met[t - 1] = wait
        return wait


@entry
def fill(delays: Delays, start: int, out: Counts) -> None:
    """Write the delays of rounds from ``start`` on."""
    for i in range(out.size):
        out[i] = delay(delays, start + i)


def backlog_of(values: Counts) -> Counts:
    """Return σ_t from cut delays: rounds s < t minus those with s + d_s < t."""
    horizon = values.size
    arrivals = np.bincount(np.arange(horizon) + values, minlength=horizon)
    gone = np.concatenate(([0], np.cumsum(arrivals)[: horizon - 1]))  # what arrives in a round is gone in the next
    return np.asarray(np.arange(horizon) - gone, dtype=np.int64)


class Stored(Delays, init=False):
    """Base of delays that lie in an array, ``cut`` to the horizon."""

    cut: np.ndarray

    @property
    def horizon(self) -> int:
        return int(self.cut.size)

    def first(self, rounds: int) -> Counts:
        is_stored = delay.find(type(self)) is Stored.delay  # a user's may answer otherwise, which is what is played
        return np.asarray(self.cut[:rounds]) if is_stored else super().first(rounds)

    def delay(self, t: int) -> int:
        return self.cut[t - 1]


class Listed(Stored, init=False):
    """Delays given as an array, one per round; ``truncated`` counts those that reached past the horizon.

    >>> delays = array([2, 0, 5])
    >>> delays.values.tolist(), delays.truncated, delays.backlog().tolist()
    ([2, 0, 0], 1, [0, 1, 1])
    """

    truncated: int

    def __new__(cls, values: ArrayLike) -> Self:
        waits = np.asarray(values)
        if waits.ndim != 1 or waits.size == 0:
            raise ValueError(f"delays must be a list with one entry per round, got shape {waits.shape}")
        if waits.dtype.kind not in "iuf":
            raise ValueError(f"delays must be whole numbers of rounds, got {waits[0]!r}: convert them first")
        if waits.dtype.kind == "f":
            broken = ~np.isfinite(waits) | (waits != np.floor(waits))
            if np.any(broken):
                raise ValueError(f"delays must be whole numbers of rounds, got {waits[broken][0]!r}: round them first")
        if np.any(waits > 2**62):  # so that a round may be added to a delay in 64 bits
            raise ValueError(f"delays must be at most 2**62, got {waits.max()!r}: cut them first")
        whole = waits.astype(np.int64)
        if np.any(whole < 0):
            t = int(np.flatnonzero(whole < 0)[0])
            raise ValueError(f"delays must not be negative, got {whole[t]} in round {t + 1}")
        room = waits.size - 1 - np.arange(waits.size)
        cut = np.ascontiguousarray(np.minimum(whole, room))
        return cls.make(cut, int(np.count_nonzero(whole > room)))


array = Listed


class Unheard(Listed, init=False):
    """Listed delays of which some never end: they reach the round past the last."""

    def last_arrival(self, horizon: int) -> int:
        return horizon + 1
