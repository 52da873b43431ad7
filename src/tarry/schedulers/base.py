"""Schedulers decide which rounds are tracked and what each arrival weighs.

The tracking set hands out numbered *slots*; a scheduler keeps what it needs per slot in its own state and answers
the verbs ``admit`` and ``arrive``, and where it preempts ``expired``.
"""

from __future__ import annotations

from math import inf
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tarry.kernel import Parameters, register_methods, step, verb, verb_with_default
from tarry.kernel.heap import Heap, push
from tarry.kernel.keyed import sealed_word, uniform, unit

UNTRACKED = -1  # the scheduler's own choice
SATURATED = -2  # it would have tracked the round, but the set is full: this biases
UNLIMITED = 1 << 62  # no limit, as a number that still fits 64 bits when a few are added


class Scheduler(Parameters):
    """Base of schedulers: a member overrides what differs from these defaults.

    A method named as a verb is registered for that verb, as ``@admit.on(…)`` would do; ``admit`` and ``arrive`` are
    needed.
    """

    needs_preemption = False  # it drops tracked rounds before their feedback arrives
    needs_delays = False  # it reads the delay of a round when the round begins
    needs_acknowledgements = False  # it reads the number of pending rounds
    needs_unlimited_capacity = False  # it tracks every round, so only capacity=None will do
    is_unbiased = True  # the mean weight of a round is 1, given room
    withholds_feedback = False  # it answers ``withholds``: feedback may wait in its slot after arrival
    announces_preemption = False  # every preemption goes through ``expired``; ``admit`` takes over no slot
    has_zero_weights = False  # some feedback weighs 0 and never reaches the learner
    conserves_weight = False  # on every path, what arrived, was forfeited and is held adds up to the rounds played
    takes_sizes = False  # a round enters with ``request.size``; ``arrive`` then answers its size times its weight
    grows = False  # the capacity may rise between two rounds: what is known of a round stays with it, in its slot
    shrinks = False  # the capacity may fall: it answers ``shrink`` and ``resettle``
    fits_anytime_rates = True  # the second moments of its weights grow no faster than the backlog
    max_wait = inf  # feedback later than so many rounds is never heard
    # The epochs, by what ``Doubling`` is over, one of which must tell this scheduler its guess; () for none.
    follows_epochs: ClassVar[tuple[str, ...]] = ()
    # The kinds of draws that ``Recorded`` may give in place of random ones.
    recorded_draws: ClassVar[tuple[str, ...]] = ("uniforms",)

    def __init_subclass__(cls) -> None:
        verbs = (allocate, without_unused, expired, admit, arrive, withholds, renew, held, given_weight, threshold)
        register_methods(cls, (*verbs, shrink, resettle))
        # Also of a user's that inherits from one of ours, and may name slots otherwise.
        is_ours = cls.__module__.startswith("tarry.")
        names_slots.on(cls)(_as_tested if is_ours else _as_users)
        if not is_ours and "without_unused" not in vars(cls) and without_unused.default is not None:
            without_unused.on(cls)(without_unused.default)  # it may look at all there is

    def check_capacity(self, capacity: int | None) -> None:
        """Raise ValueError if this scheduler cannot serve the capacity."""


class Request(NamedTuple):
    """What a scheduler may know about the round that asks for a slot, which is not yet counted in any field."""

    t: int  # its number, from 1
    vacancy: int  # a free slot, or -1 when the set is full
    tracked: int  # rounds that hold a slot
    capacity: int  # slots
    pending: int  # σ_t: earlier rounds, tracked or not, that wait; -1 where no member needs acknowledgements
    delay: int  # of this round; -1 unless clairvoyant
    size: float = 1.0  # what the round counts for, where ``takes_sizes``; 1 for all others


class Keyed(NamedTuple):
    """Draws hashed from a key: the normal case."""

    key: np.uint64


class Sealed(NamedTuple):
    """Draws hashed from a secret of 128 bits, for live objects without ``rng``: no draw tells another."""

    first: np.uint64
    second: np.uint64


class RecordedUniforms(NamedTuple):
    """One uniform per round, read from an array."""

    values: np.ndarray


class RecordedProxies(NamedTuple):
    """One proxy delay per round (-1: not tracked, inf: kept to arrival), for the proxy family."""

    values: np.ndarray


class RecordedLosers(NamedTuple):
    """The round lost in each round (0: none), for VarOpt, which writes -1 over a round that cannot be lost there."""

    values: np.ndarray


DrawSource = Keyed | Sealed | RecordedUniforms | RecordedProxies | RecordedLosers


@verb_with_default
def allocate(scheduler: Scheduler, slots: int, capacity: int) -> Any:
    """Return fresh state for this many slots (Python only): an array or a named tuple of them, by default one cell."""
    return np.zeros(1, np.int64)


@verb_with_default
def without_unused(scheduler: Scheduler, state: Any, draws: DrawSource) -> Any:
    """Return a fresh state without room for what this member never looks at under such draws (Python only)."""
    return state


def _as_users(scheduler: Scheduler) -> bool:
    return False


@verb_with_default
def names_slots(scheduler: Scheduler) -> bool:
    """Return whether the slots that a scheduler names are known to be there: a user's are looked at."""
    return False


def _as_tested(scheduler: Scheduler) -> bool:
    return True


@verb_with_default
def expired(scheduler: Scheduler, state: Any, t: int, pending: int) -> int:
    """Return a slot that must be preempted before round t is considered, or -1 (the default).

    Asked until the answer is -1; each slot named is vacated.
    """
    return -1


@verb
def admit(scheduler: Scheduler, state: Any, draws: DrawSource, request: Request) -> int:
    """Return the slot of round t from now on (``request.vacancy`` or one taken over), or UNTRACKED, or SATURATED."""


@verb
def arrive(scheduler: Scheduler, state: Any, slot: int, s: int, t: int) -> float:
    """Forget the slot and return the weight of the feedback of round s, which arrives in round t."""


@verb
def withholds(scheduler: Scheduler, state: Any, s: int, t: int) -> bool:
    """Return whether feedback of round s, which has arrived, is kept from the learner when round t ends.

    Asked of members with ``withholds_feedback`` only. At most one piece may wait at a time, and its slot must not
    be given away before. Only the content is hidden, not the size of the tracking set: a learner whose rate counts
    the tracked rounds would still learn which round was drawn, and such a pair is refused.
    """


@verb_with_default
def renew(scheduler: Scheduler, state: Any, magnitude: float) -> None:
    """Begin an epoch: the set is empty, counters start over, the guess is ``magnitude``."""


@verb_with_default
def held(scheduler: Scheduler, state: Any) -> float:
    """Return the total weight of tracked rounds where arrived + held = rounds on every path, else -1 (the default)."""
    return -1.0


@verb_with_default
def given_weight(scheduler: Scheduler, t: int) -> float:
    """Return the weight of round t where it is fixed before play, else -1 (the default)."""
    return -1.0


@verb_with_default
def threshold(scheduler: Scheduler, state: Any) -> float:
    """Return the lightest weight of VarOpt's members, θ after a round that found the set full; else 0 (the default)."""
    return 0.0


@verb
def shrink(scheduler: Scheduler, state: Any, draws: DrawSource, members: int) -> int:
    """Take one of so many members out, by the draw of their number, and return its slot; the mean of weights stays."""


@verb
def resettle(scheduler: Scheduler, state: Any, fresh: Any, slots: np.ndarray) -> None:
    """Move the members of a state into a fresh one; ``slots`` names the new slot of each (Python only)."""


@step
def push_into(heap: Heap, vacancy: int, key: float) -> int:
    """Keep the slot in the heap and return it, or SATURATED if the set is full."""
    if vacancy < 0:
        return SATURATED
    push(heap, vacancy, key)
    return vacancy


@verb
def draw(source: DrawSource, t: int) -> float:
    """Return the uniform of round t on (0, 1]."""


@draw.on(Keyed)
def _hashed(source: Keyed, t: int) -> float:
    return uniform(source.key, t)


@draw.on(Sealed)
def _sealed(source: Sealed, t: int) -> float:
    return unit(sealed_word(source.first, source.second, t))


@draw.on(RecordedUniforms)
def _read(source: RecordedUniforms, t: int) -> float:
    return source.values[t - 1]
