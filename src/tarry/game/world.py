"""The world's side of a simulation: losses, delays and arrivals, around the one order of events."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tarry.delays.base import decide, delay, last_arrival
from tarry.game.rounds import CLAIRVOYANT, SEMI, Setting, acknowledge, begin, deliver
from tarry.kernel import Unmoved, entry, register_methods, verb_with_default
from tarry.kernel.compile import long_step
from tarry.kernel.packed import Packed, unpack
from tarry.kernel.wheel import expect, has_room, origin_of, slot_of, take_next, turn
from tarry.kernel.words import read
from tarry.learners.base import closing_rate, query
from tarry.losses.base import face, fetch, gradient_in, row_in, see, value_in
from tarry.schedulers.base import given_weight, held
from tarry.tracking import Draws, Player, State
from tarry.tracking.table import RELEASED
from tarry.tracking.tally import SUMS, held_before

Array = np.ndarray

LOSS, RATE, BOOKS = range(3)  # of a checkpoint: from BOOKS on, the tally's sums
DELAY, ENTERED, PREEMPTED, FEEDBACK, EXPIRED = range(5)
EVENTS = ("delay", "entered", "preempted", "feedback", "expired")
_CHECKED = 63  # a mask: stops and losses that are not finite are noticed every 64 rounds, which costs nothing
# Rounds that a replica plays before the next one does: the rows that all read stay in the second cache, and wheels need
# room for no more.
TURN = 1 << 10


class Reactions(NamedTuple):
    """What losses and delays that react know of the plays, and what came of it by round; both empty for all others."""

    losses: Any = Unmoved()
    delays: Any = Unmoved()
    rows: np.ndarray = np.zeros((0, 0))
    waits: np.ndarray = np.zeros(0, np.int64)


class World(NamedTuple):
    """What the world keeps while a seed is played."""

    wheel: Any  # arrivals to come: a Wheel, a Line or a SlotQueue
    row: np.ndarray  # scratch for one row of data
    feedback: np.ndarray  # by slot, what a tracked round will tell
    loss: np.ndarray  # the sum so far; the same times the weights, where these are fixed before play
    held: np.ndarray  # the weight that the scheduler holds, or -1; the sum of what rounds found not arrived
    curve: np.ndarray  # by checkpoint: LOSS, RATE, BOOKS
    reached: np.ndarray  # the number of checkpoints
    reactions: Reactions


class Log(NamedTuple):
    """Everything that happened, for audits: events (t, kind, s, weight), plays, losses, weights."""

    t: np.ndarray
    kind: np.ndarray
    s: np.ndarray
    weight: np.ndarray
    plays: np.ndarray
    losses: np.ndarray
    weights: np.ndarray
    written: np.ndarray


def make_world(widths: tuple[int, int], slots: int, queue: Any, curve: tuple[int, int], reactions: Reactions) -> World:
    """Return a world before the first round, with room for this many tracked rounds, and a queue of arrivals.

    ``widths`` are those of a row and of feedback; ``curve`` is the shape of what checkpoints leave.
    """
    width, feedback = widths
    return World(
        wheel=queue,
        row=np.zeros(width),
        feedback=np.zeros((slots, feedback)),
        loss=np.zeros(2),
        held=np.zeros(2),
        curve=np.zeros(curve),
        reached=np.zeros(1, np.int64),
        reactions=reactions,
    )


class NoLog(NamedTuple):
    """Keep nothing, which is the normal case, and let compiled code know it."""

    def note(self, t: int, kind: int, s: int, weight: float) -> None:
        pass

    def note_round(self, t: int, slot: int, play: Array, loss: float, table: Any) -> None:
        pass


def make_log(horizon: int, dimension: int) -> Log:
    """Return a log with room for the events of this many rounds, at most five in each."""
    most = 5 * horizon
    return Log(
        t=np.zeros(most, np.int64),
        kind=np.zeros(most, np.int64),
        s=np.zeros(most, np.int64),
        weight=np.zeros(most),
        plays=np.zeros((horizon, dimension)),
        losses=np.zeros(horizon),
        weights=np.zeros(horizon),
        written=np.zeros(1, np.int64),
    )


@verb_with_default
def note(log: Any, t: int, kind: int, s: int, weight: float) -> None:
    """Write an event down."""
    i = log.written[0]
    log.written[0] = i + 1
    log.t[i] = t
    log.kind[i] = kind
    log.s[i] = s
    log.weight[i] = weight
    if kind == FEEDBACK:
        log.weights[s - 1] = weight


@verb_with_default
def note_round(log: Any, t: int, slot: int, play: Array, loss: float, table: Any) -> None:
    """Write down a round's play and loss, the rounds it preempted and whether it entered."""
    log.losses[t - 1] = loss
    for i in range(play.size):
        log.plays[t - 1, i] = play[i]
    for i in range(table.counts[RELEASED]):
        note(log, t, PREEMPTED, table.released[i], 0.0)
    if slot >= 0:
        note(log, t, ENTERED, t, 0.0)


register_methods(NoLog, (note, note_round))


@verb_with_default
def suffer(kind: Any, player: Player, draws: Draws, losses: Any, t: int, row: Array, play: Array) -> float:
    """Return the loss of round t: at the play, or the mean over the points around it."""
    return value_in(losses.rows, losses, t, row, play)  # type: ignore[no-any-return]


@verb_with_default
def give(kind: Any, losses: Any, t: int, row: Array, play: Array, loss: float, out: Array) -> None:
    """Write the feedback that will arrive for this play; by default none."""


@verb_with_default
def recall(kind: Any, losses: Any, s: int, row: Array, kept: Array) -> Array:
    """Return the feedback of round s, which arrives: what was kept of it."""
    return kept


@verb_with_default
def size_in(sizes: Any, t: int) -> float:
    """Return the size of round t."""
    return sizes[t - 1] if sizes.size > 0 else 1.0


class AllOne(NamedTuple):
    """Let all rounds have size 1, and compiled code know it."""

    def size_in(self, t: int) -> float:
        return 1.0


register_methods(AllOne, (size_in,))


class Gradients(NamedTuple):
    """Tell the gradient at the play."""

    def give(self, losses: Any, t: int, row: Array, play: Array, loss: float, out: Array) -> None:
        gradient_in(losses.rows, losses, t, row, play, out)


class Values(NamedTuple):
    """Tell the loss of the play."""

    def give(self, losses: Any, t: int, row: Array, play: Array, loss: float, out: Array) -> None:
        out[0] = loss


class Examples(NamedTuple):
    """Tell the whole example: features and label."""

    def give(self, losses: Any, t: int, row: Array, play: Array, loss: float, out: Array) -> None:
        row_in(losses.rows, t, row, out)


class Rows(NamedTuple):
    """Tell the round's row, the example or a gradient that no play changes: nothing is kept, it is found again."""

    def recall(self, losses: Any, s: int, row: Array, kept: Array) -> Array:
        fetch(losses.rows, s, row)
        return row


class Nothing(NamedTuple):
    """Tell nothing: only which rounds are heard, and with what weight, is of interest."""


class Points(NamedTuple):
    """Tell the losses at several points around the play; the arrays are room for both."""

    points: Array
    values: Array

    def suffer(self, player: Player, draws: Draws, losses: Any, t: int, row: Array, play: Array) -> float:
        query(player.learner, draws.directions, t, play, self.points)
        total = 0.0
        for j in range(self.values.size):
            self.values[j] = value_in(losses.rows, losses, t, row, self.points[j])
            total += self.values[j]
        return total / self.values.size

    def give(self, losses: Any, t: int, row: Array, play: Array, loss: float, out: Array) -> None:
        for j in range(self.values.size):
            out[j] = self.values[j]


for _told in (Gradients, Values, Examples, Points, Rows):
    register_methods(_told, (suffer, give, recall))

Kind = Gradients | Values | Points | Examples | Rows | Nothing
KINDS: dict[str, Kind] = {"gradient": Gradients(), "value": Values(), "example": Examples(), "label": Nothing()}


class Buffers(NamedTuple):
    """Everything that changes while a seed is played, and the draws that its seed keys; of many seeds, stacked."""

    draws: Draws
    state: State
    world: World
    log: Any
    kind: Kind  # several queries have room in it


class Fixed(NamedTuple):
    """What all seeds share: losses, delays, sizes of all rounds (none are all 1), and the checkpoints."""

    losses: Any
    delays: Any
    sizes: Any  # an array, or AllOne
    checkpoints: Array


class Cell(NamedTuple):
    """A player, the rules of play, and what the world has in store for it: all that a replica plays by."""

    player: Player
    setting: Setting
    fixed: Fixed


class Cells(NamedTuple):
    """Several cells of one type, in words, and which of them each replica plays."""

    like: Cell  # one of them, for its type
    words: Any
    which: Array


@entry
def run_rounds(cells: Cells, buffers: Packed, stop: Array, first: int, last: int) -> int:
    """Play rounds first..last of packed replicas, unless another thread sets ``stop``; return the last one played.

    It is an earlier one where a wheel has no room for the rounds after it: the caller makes room and calls again.
    """
    for start in range(first, last + 1, TURN):
        end = min(start + TURN - 1, last)
        for i in range(buffers.count):
            if not has_room(unpack(buffers, i).world.wheel, end + 1 - start):
                return start - 1
        for i in range(buffers.count):
            player, setting, fixed = read(cells.like, cells.words, cells.which[i])
            play_rounds(player, setting, fixed, unpack(buffers, i), stop, start, end)
    return last


@long_step
def play_rounds(
    player: Player, setting: Setting, fixed: Fixed, buffers: Buffers, stop: Array, first: int, last: int
) -> None:
    """Play rounds first..last of one replica."""
    draws, state, world, log, kind = buffers
    losses, delays, sizes, rounds = fixed
    foe = world.reactions
    total = world.loss[0]
    if stop[0] != 0 or not abs(total) < np.inf:
        return
    checkpoint = rounds[world.reached[0]]
    end = last_arrival(delays, rounds[rounds.size - 1])  # delays of a user's may reach beyond it
    t: Any = np.int64(first) - 1  # in plain Python too, so that arithmetic of users' members is the same
    while t < last:
        t += 1
        turn(world.wheel, t)
        disclosed = -1
        if setting.information == CLAIRVOYANT:
            disclosed = min(delay(delays, t), end - t)
            note(log, t, DELAY, t, float(disclosed))
        size = size_in(sizes, t)
        world.held[1] += held_before(state.tally, t)
        slot = begin(player, setting, draws, state, t, disclosed, size)
        is_heard = slot >= 0 or setting.hears != 0
        wait = decide(delays, foe.delays, t, state.play, slot, state.table.rounds, foe.waits, is_heard)
        if is_heard:
            expect(world.wheel, t, min(t + wait, end), t, slot)
        face(losses.rows, foe.losses, t, world.row, foe.rows)
        loss = suffer(kind, player, draws, losses, t, world.row, state.play)
        total += loss
        weight = given_weight(player.scheduler, t)
        if weight > 0.0:
            world.loss[1] += weight * loss
        if t & _CHECKED == 0 and (stop[0] != 0 or not abs(total) < np.inf):
            break
        note_round(log, t, slot, state.play, loss, state.table)
        if slot >= 0:
            # Losses are fixed when a round is played, so feedback is evaluated now and no play need be kept.
            give(kind, losses, t, world.row, state.play, loss, world.feedback[slot])
        see(losses.rows, foe.losses, t, state.play, slot)
        while True:
            item = take_next(world.wheel, t, state.table.rounds)
            if item < 0:
                break
            s = origin_of(world.wheel, item, state.table.rounds)
            slot = slot_of(world.wheel, item, state.table.rounds)
            if slot >= 0:
                feedback = recall(kind, losses, s, world.row, world.feedback[slot])
                weight = deliver(player, setting, draws, state, s, t, slot, feedback)
                note(log, t, FEEDBACK, s, weight)
            else:
                if setting.information == SEMI:
                    note(log, t, EXPIRED, s, 0.0)
                acknowledge(state)
        if t == checkpoint:
            at = world.reached[0]
            world.reached[0] = at + 1
            world.curve[at, LOSS] = total
            world.curve[at, RATE] = closing_rate(player.learner, state.learner, t)
            if world.curve.shape[1] > BOOKS:
                for i in range(SUMS):
                    world.curve[at, BOOKS + i] = state.tally.sums[i]
            checkpoint = rounds[min(at + 1, rounds.size - 1)]
    world.loss[0] = total
    world.held[0] = held(player.scheduler, state.scheduler)
