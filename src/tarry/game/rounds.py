"""The order of events in a round: the one place where it is written.

    epoch? → look → predict → preempt → admit → deliver (increasing s) → flush what was withheld → advance

``begin`` runs from the advance that closes round t−1 up to the admission of round t; ``deliver`` hands over one
arrival. Simulation calls both in a compiled loop, a session one at a time, so both play the same round. Undisclosed
delays stay out: that of round t is passed in the clairvoyant model only, and an arrival says only that it came.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tarry.errors import MemberError
from tarry.kernel import step
from tarry.learners import base as learners
from tarry.outcomes import Fate
from tarry.schedulers import base as schedulers
from tarry.schedulers.base import names_slots
from tarry.tracking import tally
from tarry.tracking.buffer import deliver_or_buffer, flush_buffer
from tarry.tracking.doubling import enters_epoch, magnitude
from tarry.tracking.player import Draws, Player, State
from tarry.tracking.table import ENDED, RELEASED, TRACKED, index, occupy, release, unindex, vacancy, vacate

NON, SEMI, CLAIRVOYANT = 0, 1, 2
UNCOUNTED, COUNTED, HELD = range(3)
INFORMATION = {"non-clairvoyant": NON, "semi-clairvoyant": SEMI, "clairvoyant": CLAIRVOYANT}

NO_SLOT = -3  # a scheduler named a slot that there is not, or that no round is in

# Plain numbers: compiled code would carry the enumeration along.
_USED, _UNTRACKED, _SATURATED, _PREEMPTED, _EXPIRED, _PENDING = map(int, Fate)


class Setting(NamedTuple):
    """The rules of play as numbers."""

    capacity: int
    information: int  # NON, SEMI or CLAIRVOYANT
    certify: int  # UNCERTIFIED, or which sums of a certificate are kept, in the flags of the tally
    hears: int  # whether a member or the log notices the end of an untracked round
    backlog: int  # UNCOUNTED where no member asks, COUNTED from acknowledgements, or HELD: estimated without them


@step
def begin(
    player: Player,
    setting: Setting,
    draws: Draws,
    state: State,
    t: int,
    delay: int,
    size: float = 1.0,
) -> Any:
    """Open round t of this size: its play is in ``state.play``; return its slot, UNTRACKED or SATURATED."""
    pending = t - 1 - state.table.counts[ENDED] if setting.backlog == COUNTED else -1
    backlog = float(pending)
    if setting.backlog == HELD:
        # All weights add up to the rounds so far, so what has not arrived is held; its mean is the backlog.
        backlog = tally.held_before(state.tally, t)
        if size != 1.0 or tally.is_sized(state.tally):
            # Rates count h + 1/2 for a round that finds h held; one of size b costs b h + b²/2, and the first round
            # b²/2, which its own size tells only now.
            backlog = size * backlog + 0.5 * (size * size - 1.0)
            if t == 2:
                backlog += 0.5 * (state.tally.sized[tally.BEGUN_SQUARE] - 1.0)
    is_first = enters_epoch(player.epochs, state.epochs, t, backlog)
    closing = 0.0
    if is_first and setting.certify and t > 1:
        closing = learners.closing_rate(player.learner, state.learner, t - 1)
        state.tally.sums[tally.CLOSED_EPOCHS] += 0.5 / closing
    if t > 1:
        flush_buffer(state.buffer, player, draws, state, t - 1, is_first)
        learners.advance(player.learner, state.learner, t - 1, backlog)
        if setting.certify & tally.BY_ARRIVAL:
            rate = closing if is_first else learners.rate_in_force(player.learner, state.learner, t)
            tally.close_round(state.tally, rate)
    table = state.table
    table.counts[RELEASED] = 0
    if is_first:
        start_epoch(player, state, t)
    learners.predict(player.learner, state.learner, draws.directions, t, state.play)
    slot, is_known = schedulers.expired(player.scheduler, state.scheduler, t, pending), names_slots(player.scheduler)
    while slot >= 0:
        if not is_known and (slot >= table.rounds.size or table.rounds[slot] == 0):
            return refuse(state)
        release(table, table.rounds[slot])
        vacate(table, slot)
        state.tally.fates[_PREEMPTED] += 1
        slot = schedulers.expired(player.scheduler, state.scheduler, t, pending)
    return consider(player, setting, draws, state, t, (pending, delay, size))


@step
def start_epoch(player: Player, state: State, t: int) -> None:
    """Begin an epoch with round t: an empty set, a fresh scheduler and learner, the new magnitude."""
    for slot in range(state.table.rounds.size):
        s = state.table.rounds[slot]
        if s != 0:
            release(state.table, s)
            # Its weight is remembered, so that what arrived, was forfeited and is held still adds up.
            state.tally.sums[tally.FORFEITED] += schedulers.arrive(player.scheduler, state.scheduler, slot, s, t)
            vacate(state.table, slot)
            state.tally.fates[_PREEMPTED] += 1
    level = magnitude(player.epochs, state.epochs)
    schedulers.renew(player.scheduler, state.scheduler, level)
    learners.restart(player.learner, state.learner, t, level)


@step
def consider(
    player: Player, setting: Setting, draws: Draws, state: State, t: int, terms: tuple[int, int, float]
) -> Any:
    """Let the scheduler decide about round t, of which a backlog, delay and size are known, and keep the books."""
    table, (pending, delay, size) = state.table, terms
    tracked = table.counts[TRACKED]
    free = vacancy(table, setting.capacity)
    tally.book_occupancy(state.tally, tracked, setting.capacity)
    learners.notice(player.learner, state.learner, t, tracked)
    request = schedulers.Request(t, free, tracked, setting.capacity, pending, delay, size)
    slot = schedulers.admit(player.scheduler, state.scheduler, draws.schedule, request)
    is_known = names_slots(player.scheduler)
    if not is_known and (slot >= table.rounds.size or slot < schedulers.SATURATED):
        return refuse(state)
    if free < 0:
        tally.book_overflow(state.tally, schedulers.threshold(player.scheduler, state.scheduler), size)
    tally.book_size(state.tally, slot, size)
    if slot == schedulers.SATURATED:
        state.tally.fates[_SATURATED] += 1  # places that the compiler knows, on GPUs too, become registers
        return slot
    if slot < 0:
        state.tally.fates[_UNTRACKED] += 1
        return slot
    if table.rounds[slot] != 0:
        release(table, table.rounds[slot])
        unindex(table, table.rounds[slot])
        state.tally.fates[_PREEMPTED] += 1
        table.rounds[slot] = t
        index(table, t, slot)
    elif not is_known and slot != free:
        return refuse(state)
    else:
        occupy(table, slot, t)
    learners.enter(player.learner, state.learner, slot, t)
    if setting.certify:
        rate = learners.rate_in_force(player.learner, state.learner, t)
        radius = learners.smoothing_in_force(player.learner, state.learner, t)
        tally.book_entry(state.tally, setting.certify, rate, radius, slot)
    return slot


@step
def refuse(state: State) -> Any:
    """Note that a scheduler named a wrong slot: nothing may be written there. Whoever plays looks for the note."""
    state.tally.fates[_EXPIRED] = -1
    return NO_SLOT


def no_slot(scheduler: Any) -> MemberError:
    """Return the error for a scheduler that named a wrong slot (Python only)."""
    return MemberError(
        f"{type(scheduler).__name__} named a slot that is not there, or one to drop that has no round: admit returns "
        "request.vacancy, a slot in use, UNTRACKED or SATURATED, and expired a slot in use or -1; "
        "simulate(…, debug=True) names the line"
    )


def no_weight(scheduler: Any, when: str) -> MemberError:
    """Return the error for a scheduler that gave a wrong weight (Python only)."""
    name = type(scheduler).__name__
    problem = f"{name} gave a weight in {when} that is negative or not finite: check its arrive"
    return MemberError(f"{problem}; simulate(…, debug=True) names the line")


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
    size = tally.size_of(state.tally, slot)
    weight = schedulers.arrive(player.scheduler, state.scheduler, slot, s, t) / size
    if not names_slots(player.scheduler) and weight < 0.0:
        weight = np.nan  # which whoever plays looks for
    state.tally.fates[_USED] += 1
    tally.book_weight(state.tally, weight, size)
    if setting.certify:
        length = learners.feedback_size(player.learner, feedback)
        if setting.certify & tally.OBSERVED:
            longest = length
        else:  # a bound on gradients is for each unit of size, one on values for all
            unit = size if state.tally.inverse_radius[slot] == 0.0 else 1.0
            longest, length = length / unit, unit
        state.tally.sums[tally.LONGEST] = max(state.tally.sums[tally.LONGEST], longest)
        if setting.certify & tally.BY_ARRIVAL:
            tally.book_by_arrival(state.tally, slot, weight * length)
        else:
            tally.book_arrival(state.tally, state.table.rounds, slot, s, weight, length)
    vacate(state.table, slot)
    if weight != 0.0:
        deliver_or_buffer(state.buffer, player, draws, state, (s, t, slot, weight), feedback)
    return weight


@step
def forfeit(player: Player, state: State, s: int, t: int, slot: int) -> None:
    """Free the slot of round s, which ended without an outcome."""
    state.table.counts[ENDED] += 1
    state.tally.sums[tally.FORFEITED] += schedulers.arrive(player.scheduler, state.scheduler, slot, s, t)
    state.tally.fates[_EXPIRED] += 1
    vacate(state.table, slot)


def take_out(player: Player, state: State, draws: schedulers.DrawSource) -> int:
    """Let the scheduler take one tracked round out, between two rounds, and return the round (Python only)."""
    table = state.table
    lightest = schedulers.threshold(player.scheduler, state.scheduler)
    slot = schedulers.shrink(player.scheduler, state.scheduler, draws, table.counts[TRACKED])
    # The lightest member stands where the newcomer of an overflow does: any candidate's weight bounds the variance.
    tally.book_overflow(state.tally, schedulers.threshold(player.scheduler, state.scheduler), lightest)
    s = int(table.rounds[slot])
    vacate(table, slot)
    state.tally.fates[_PREEMPTED] += 1
    return s
