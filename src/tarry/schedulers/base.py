"""What a scheduler is: who is tracked, and what an arrival weighs.

The tracking set hands out numbered *slots*; a scheduler keeps whatever it needs per slot in its own
state and answers three questions. The same interface carries members whose survival is fixed when a
round is admitted (a proxy delay) and members whose weight or threshold moves while they wait.

    expired(scheduler, state, t, pending)   a slot to preempt at the start of round t, or -1
    admit(scheduler, state, draws, request) the slot round t lives in from now on (``request.vacancy``
                                            or one it takes over), or UNTRACKED, or SATURATED
    arrive(scheduler, state, slot, s, t)    the weight of the feedback of s, which leaves its slot

``expired`` may be asked until it says -1; each slot it names is vacated by it.
A scheduler sees the delay of round t only in the clairvoyant model and the number of pending rounds
only where acknowledgements exist: elsewhere ``request`` holds -1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tarry.kernel import verb
from tarry.kernel.keyed import uniform

UNTRACKED = -1
SATURATED = -2
UNLIMITED = 1 << 62


class Request(NamedTuple):
    """What a scheduler may know about the round that asks for a slot.

    ``vacancy`` is a free slot, or -1 when the set is full; ``pending`` and ``delay`` are -1 where
    the information model does not disclose them.
    """

    t: int
    vacancy: int
    tracked: int
    capacity: int
    pending: int
    delay: int


class Keyed(NamedTuple):
    """Draws hashed from a key: the normal case."""

    key: np.uint64


class RecordedUniforms(NamedTuple):
    """One uniform per round, read from an array."""

    values: np.ndarray


class RecordedProxies(NamedTuple):
    """One proxy delay per round (-1: not tracked, inf: kept to arrival), for the proxy family."""

    values: np.ndarray


class RecordedLosers(NamedTuple):
    """The round lost in each round (0: none), for VarOpt."""

    values: np.ndarray


@verb
def allocate(scheduler: Any, slots: int, capacity: int) -> Any:
    """Fresh state for this many slots (Python only)."""


@verb
def expired(scheduler: Any, state: Any, t: int, pending: int) -> int:
    """A slot that must be preempted before round t is considered, or -1."""


@expired.otherwise
def _never_expires(scheduler: Any, state: Any, t: Any, pending: Any) -> Any:
    return -1


@verb
def admit(scheduler: Any, state: Any, draws: Any, request: Request) -> int:
    """Decide about round t."""


@verb
def arrive(scheduler: Any, state: Any, slot: int, s: int, t: int) -> float:
    """Forget the slot and return the weight of its feedback."""


@verb
def withholds(scheduler: Any, state: Any, s: int, t: int) -> bool:
    """Whether the feedback of s, which has arrived, must still be kept from the learner when round t ends.

    Asked of members with ``withholds_feedback`` only. At most one piece may wait at a time, and its slot must not
    be given away before it is let go. That hides content, not the size of the tracking set: a learner whose rate counts
    the tracked rounds would still learn who was drawn, and such a pair is refused.
    """


@verb
def renew(scheduler: Any, state: Any, magnitude: float) -> None:
    """An epoch begins: the set is empty, counters start over, the guess is ``magnitude``."""


@renew.otherwise
def _nothing_to_renew(scheduler: Any, state: Any, magnitude: Any) -> None:
    pass


@verb
def held(scheduler: Any, state: Any) -> float:
    """The total weight of tracked rounds where arrived + held = rounds on every path, else -1."""


@held.otherwise
def _no_invariant(scheduler: Any, state: Any) -> Any:
    return -1.0


@verb
def draw(source: Any, t: int) -> float:
    """The uniform of round t on (0, 1]."""


@draw.on(Keyed)
def _hashed(source: Any, t: Any) -> Any:
    return uniform(source.key, t)


@draw.on(RecordedUniforms)
def _read(source: Any, t: Any) -> Any:
    return source.values[t - 1]


class NoState(NamedTuple):
    """State of schedulers that keep none (one unused cell)."""

    unused: np.ndarray


class Traits:
    """What a scheduler needs from the game and promises in return; members override these."""

    __slots__ = ()

    needs_preemption = False
    needs_delays = False
    needs_acknowledgements = False
    needs_unlimited_capacity = False
    withholds_feedback = False
    is_unbiased = True

    def check_capacity(self, capacity: int | None) -> None:
        """Refuse capacities this member cannot serve."""


def as_capacity(capacity: int | None) -> int:
    """Capacity as the formulas read it: None is UNLIMITED."""
    return UNLIMITED if capacity is None else int(capacity)
