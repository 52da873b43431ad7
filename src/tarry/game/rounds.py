"""The order of events in a round: the one place where it is written.

    epoch? → predict → preempt → admit → deliver (increasing s) → flush what was withheld → advance

``begin`` runs from the advance that closes round t−1 up to the admission of round t; ``deliver``
hands over one arrival. Simulation calls them in a compiled loop, a session one at a time, so both
play the same round. Neither receives anything from which an undisclosed delay can be read: round t's
delay is passed in the clairvoyant model only, and an arrival says only that it happened now.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tarry.kernel import step
from tarry.learners.base import (
    advance,
    closing_rate,
    enter,
    feedback_size,
    notice,
    predict,
    rate_in_force,
    restart,
    smoothing_in_force,
)
from tarry.outcomes import Fate
from tarry.schedulers.base import SATURATED, Request, admit, arrive, expired, renew
from tarry.tracking.buffer import clear_buffer, deliver_or_buffer, flush_buffer
from tarry.tracking.doubling import enters_epoch, magnitude
from tarry.tracking.player import Draws, Player, State
from tarry.tracking.table import ENDED, RELEASED, TRACKED, index, occupy, release, unindex, vacancy, vacate
from tarry.tracking.tally import (
    CLOSED_EPOCHS,
    FORFEITED,
    LONGEST,
    OBSERVED,
    book_arrival,
    book_entry,
    book_occupancy,
    book_weight,
)

NON, SEMI, CLAIRVOYANT = 0, 1, 2
INFORMATION = {"non-clairvoyant": NON, "semi-clairvoyant": SEMI, "clairvoyant": CLAIRVOYANT}

_USED = int(Fate.USED)
_UNTRACKED = int(Fate.UNTRACKED)
_SATURATED = int(Fate.SATURATED)
_PREEMPTED = int(Fate.PREEMPTED)
_EXPIRED = int(Fate.EXPIRED)


class Setting(NamedTuple):
    """The rules of play as numbers.

    ``information`` is NON, SEMI or CLAIRVOYANT; ``certify`` is UNCERTIFIED, or says that the sums of a certificate
    are kept, of PLAIN weights or with the OBSERVED sizes of feedback; ``hears`` says whether a member or the
    log notices the end of an untracked round.
    """

    capacity: int
    information: int
    certify: int
    hears: int


@step
def begin(player: Player, setting: Setting, draws: Draws, state: State, t: int, delay: int) -> Any:
    """Open round t: its play is in ``state.play``; return its slot, UNTRACKED or SATURATED."""
    pending = t - 1 - state.table.counts[ENDED] if setting.information != NON else -1
    is_first = enters_epoch(player.epochs, state.epochs, t, pending)
    if is_first and setting.certify and t > 1:
        state.tally.sums[CLOSED_EPOCHS] += 0.5 / closing_rate(player.learner, state.learner, t - 1)
    if t > 1:
        flush_buffer(state.buffer, player, draws, state, t - 1)
        advance(player.learner, state.learner, t - 1, pending)
    table = state.table
    table.counts[RELEASED] = 0
    if is_first:
        start_epoch(player, state, t)
    predict(player.learner, state.learner, draws.directions, t, state.play)
    slot = expired(player.scheduler, state.scheduler, t, pending)
    while slot >= 0:
        release(table, table.rounds[slot])
        vacate(table, slot)
        state.tally.fates[_PREEMPTED] += 1
        slot = expired(player.scheduler, state.scheduler, t, pending)
    return consider(player, setting, draws, state, t, delay, pending)


@step
def start_epoch(player: Player, state: State, t: int) -> None:
    """Begin an epoch with round t: an empty set, a fresh scheduler and learner, the new magnitude."""
    for slot in range(state.table.rounds.size):
        s = state.table.rounds[slot]
        if s != 0:
            release(state.table, s)
            state.tally.sums[FORFEITED] += arrive(player.scheduler, state.scheduler, slot, s, t)
            vacate(state.table, slot)
            state.tally.fates[_PREEMPTED] += 1
    level = magnitude(player.epochs, state.epochs)
    renew(player.scheduler, state.scheduler, level)
    restart(player.learner, state.learner, t, level)
    clear_buffer(state.buffer)


@step
def consider(player: Player, setting: Setting, draws: Draws, state: State, t: int, delay: int, pending: int) -> Any:
    """Let the scheduler decide about round t and keep the set and the books accordingly."""
    table = state.table
    tracked = table.counts[TRACKED]
    free = vacancy(table, setting.capacity)
    book_occupancy(state.tally, tracked, setting.capacity)
    notice(player.learner, state.learner, t, tracked)
    request = Request(t, free, tracked, setting.capacity, pending, delay)
    slot = admit(player.scheduler, state.scheduler, draws.schedule, request)
    if slot < 0:
        state.tally.fates[_SATURATED if slot == SATURATED else _UNTRACKED] += 1
        return slot
    if table.rounds[slot] != 0:
        release(table, table.rounds[slot])
        unindex(table, table.rounds[slot])
        state.tally.fates[_PREEMPTED] += 1
        table.rounds[slot] = t
        index(table, t, slot)
    else:
        occupy(table, slot, t)
    enter(player.learner, state.learner, slot, t)
    if setting.certify:
        rate = rate_in_force(player.learner, state.learner, t)
        book_entry(state.tally, rate, smoothing_in_force(player.learner, state.learner, t), slot)
    return slot


@step
def acknowledge(state: State) -> None:
    """Count the end of a round that is not tracked: it is pending no more, and the learner hears nothing."""
    state.table.counts[ENDED] += 1


@step
def deliver(
    player: Player, setting: Setting, draws: Draws, state: State, s: int, t: int, slot: int, feedback: np.ndarray
) -> Any:
    """Hand over the feedback of round s, tracked in this slot, in round t; return its weight."""
    state.table.counts[ENDED] += 1
    weight = arrive(player.scheduler, state.scheduler, slot, s, t)
    state.tally.fates[_USED] += 1
    book_weight(state.tally, weight)
    if setting.certify:
        size = feedback_size(player.learner, feedback)
        state.tally.sums[LONGEST] = max(state.tally.sums[LONGEST], size)
        size = size if setting.certify == OBSERVED else 1.0
        book_arrival(state.tally, state.table.rounds, slot, s, weight, size)
    vacate(state.table, slot)
    if weight != 0.0:
        deliver_or_buffer(state.buffer, player, draws, state, (s, t, slot, weight), feedback)
    return weight


@step
def forfeit(player: Player, state: State, s: int, t: int, slot: int) -> None:
    """Free the slot of round s, which ended without an outcome."""
    state.table.counts[ENDED] += 1
    # What the round would have weighed is remembered, so that arrived + held still adds up.
    state.tally.sums[FORFEITED] += arrive(player.scheduler, state.scheduler, slot, s, t)
    state.tally.fates[_EXPIRED] += 1
    vacate(state.table, slot)
