"""Ids, fates and answers around the slots: what becomes of rounds that begin now and are answered whenever.

A tracker is a machine: a state, and calls that change it. It knows no clock, no lock, no store and no chance but draws
keyed by seed and round, so the same calls in the same order give the same state. A call checks everything first and
changes something afterwards: a refusal has changed nothing.

It keeps at most C tracked rounds with what belongs to them, three bits for each of the last ``memory`` rounds, and the
plays of the last few. Where its calls are journaled it leaves a ``trail``: what each has changed, in a few words.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from math import isfinite
from typing import Any, Never

import numpy as np

from tarry.checks import as_int
from tarry.learners.base import points_of
from tarry.live import past
from tarry.live.batches import Receipt
from tarry.live.configuration import OUTBOX, WINDOW, Configuration, settled
from tarry.live.core import ANSWERED, ANSWERS, LARGEST, MALFORMED, NAMING, NOW, ROUNDS, Slots, book_label
from tarry.live.encoding import Item, as_id, pack, pack_label
from tarry.live.past import Fates, Ids
from tarry.outcomes import Answer
from tarry.schedulers.base import SATURATED
from tarry.times import as_length
from tarry.tracking import keyed_draws, terms_of
from tarry.tracking.table import RELEASED
from tarry.tracking.tally import LAST, UNCERTIFIED

UNDECIDED, OURS, CALLERS = range(3)  # whether rounds go by our numbers or by the caller's ids
SLOT_BYTES, ROUND_BYTES = 300, 26  # about what a slot takes with VarOpt, and a round that is remembered with its id
_MOST_BYTES = 1 << 42  # a machine with more is not known; what is less is taken only as far as it is used
RECENT = 256  # rounds that are kept with their plays whether tracked or not; fewer where fewer are remembered
UNLABELLED: Any = object()
_STATED = ("gradient_bound", "value_bound", "strong_convexity")  # what certificates can be told
_DECLINED = ((past.UNTRACKED, Answer.UNTRACKED), (past.SATURATED, Answer.SATURATED))
_ENDED = ((past.USED, Answer.USED), (past.EXPIRED, Answer.EXPIRED))
_AT_WINDOW_END = (past.RELEASED, Answer.USED)
_NOWHERE = np.zeros(0)
# A named tuple's own constructor is a Python function; these cost half as much, twice a call.
_new_item = partial(tuple.__new__, Item)
_new_receipt = partial(tuple.__new__, Receipt)


def _as_given(value: Any, _: str = "") -> Any:
    return value


class Tracker:
    """The rounds of a configuration that was checked before; ``is_stored`` says that its calls are journaled.

    ``items`` is what is kept of rounds, by number; rows of an outbox lie under minus theirs.
    """

    def __init__(self, configuration: Configuration, *, is_stored: bool = False) -> None:
        self.trail: list[tuple[Any, ...]] | None = [] if is_stored else None
        self.is_replayed = False  # whether a call is made again, whose answer nobody waits for
        self.pack: Callable[..., Any] = pack if is_stored else _as_given
        self.pack_label: Callable[..., Any] = pack_label if is_stored else _as_given
        self.start(configuration)

    def start(self, configuration: Configuration) -> None:
        """Go back to before the first round, under a configuration."""
        self.items: dict[int, Item] = {}
        self.configuration, self.memory = configuration, configuration.memory
        self.recent = min(RECENT, self.memory)
        player, stated = configuration.player, configuration.options
        self.window = _window_of(configuration)
        given = {name: stated[name] for name in _STATED if name in stated}
        withholds = player.scheduler.withholds_feedback
        self.terms = terms_of(player.learner, **given, restarts=player.epochs.needs_preemption, withholds=withholds)
        self.slots = Slots(
            player,
            configuration.capacity,
            configuration.information,
            seed=configuration.seed,
            certify=UNCERTIFIED if self.terms is None else self.terms.certify,
            timed=WINDOW in stated or OUTBOX in stated,
        )
        self.fates = Fates(self.memory, past.MANY_BITS if WINDOW in stated else past.FEW_BITS)
        self.ids: Ids | None = None  # made when the first one comes
        self.tracked: set[int] = set()
        self._is_clairvoyant = configuration.information == "clairvoyant"
        self._plays = player.learner.dimension > 0
        self._directions = np.sqrt(np.arange(1.0, player.learner.dimension + 1))

    @property
    def rounds(self) -> int:
        """Rounds begun so far."""
        return self.slots.counts[ROUNDS]

    @property
    def forgotten(self) -> int:
        """The first so many rounds are forgotten, but for those that are tracked."""
        return max(self.rounds - self.memory, self.configuration.forgotten)

    @property
    def is_numbered(self) -> bool | None:
        """Whether rounds go by their numbers; None before the first."""
        naming = self.slots.counts[NAMING]
        return naming == OURS if naming else None

    def open(
        self,
        id: Hashable = None,
        delay: int | None = None,
        payload: Any = None,
        moment: int | None = None,
        size: float | None = None,
    ) -> Item:
        """Begin a round, or return the round that already has this id. Bad arguments begin nothing.

        ``moment`` is when the window of the round begins, where rounds have windows.
        """
        if size is not None:
            size = self.slots.as_size(size)
        if delay is not None or self._is_clairvoyant:
            delay = self._disclosed(delay)
        naming = self.slots.counts[NAMING]
        if id is not None:
            id = as_id(id)
            known = self.find(id)
            if known is not None:
                if moment is not None:
                    self.slots.note(moment)
                return self._again(known, id)
            if naming == OURS:
                self._refuse_naming(naming)
        elif naming == CALLERS:
            self._refuse_naming(naming)
        return self._begin(id, -1 if delay is None else delay, payload, 1.0 if size is None else size, moment)

    def open_many(
        self,
        ids: list[Any],
        delays: list[Any],
        payloads: list[Any],
        sizes: list[Any] | None = None,
        moments: list[int] | None = None,
    ) -> list[Item]:
        """Begin rounds one after the other; bad arguments begin none of them."""
        listed = [None] * len(ids) if sizes is None else sizes
        begun = [None] * len(ids) if moments is None else moments
        named = self.check_many(ids, delays=delays, sizes=listed, moments=begun)
        naming = self.slots.counts[NAMING]
        other = bool(ids) and naming not in (UNDECIDED, CALLERS if named else OURS)
        if other and not (named and all(self.find(id) is not None for id in named)):
            self._refuse_naming(naming)
        return [self.open(*row) for row in zip(ids, delays, payloads, begun, listed, strict=True)]

    def check_many(self, ids: list[Any], *, delays: list[Any], sizes: list[Any], **others: list[Any]) -> list[Hashable]:
        """Return the ids of rounds that are to begin; raise an error about bad arguments, whoever has the turn."""
        for what, given in {"delays": delays, "sizes": sizes, **others}.items():
            if len(given) != len(ids):
                raise ValueError(f"there are {len(ids)} rounds and {len(given)} {what}: give one each")
        for i, size in enumerate(sizes):
            if size is not None:
                self.slots.as_size(size, f"row {i}: size")
        named = [as_id(id) for id in ids if id is not None]
        if len(named) not in (0, len(ids)):
            raise ValueError("some rounds have an id and some have none: give ids always or never")
        for delay in delays:
            self._disclosed(delay)
        return named

    def _disclosed(self, delay: int | None) -> int | None:
        """Return the delay that is told with a round, in the clairvoyant model only."""
        information, kind = self.configuration.information, self.configuration.kind
        if self._is_clairvoyant:
            return as_int(delay, f"the delay (a clairvoyant {kind} needs each round's)", 0)
        if delay is not None:
            raise ValueError(f"a {information} {kind} takes no delay, got {delay}: leave it out")
        return None

    def _refuse_naming(self, naming: int) -> Never:
        used = "round numbers" if naming == OURS else "your own ids"
        raise ValueError(f"this {self.configuration.kind} has used {used} so far: give ids always or never")

    def _begin(self, id: Hashable, delay: int, payload: Any, size: float, moment: int | None) -> Item:
        slots = self.slots
        slot = slots.open(delay, size)
        counts = slots.counts
        t, trail = counts[ROUNDS], self.trail
        if t == 1:
            counts[NAMING] = OURS if id is None else CALLERS
        released: tuple[Hashable, ...] = ()
        if slots.table[RELEASED]:
            for lost in slots.released():
                released += (self._release(lost),)
        play = _NOWHERE
        if self._plays:
            play = slots.state.play.copy()
            play.flags.writeable = False
            if trail is not None:  # one number of it, by which a learner that plays otherwise is told at a replay
                number = float(self._directions @ play)
                trail.append(("plays", number if isfinite(number) else repr(number)))
        if id is None:
            id = t
        else:
            if self.ids is None:
                self.ids = Ids(self.memory, self.configuration.seed)
            elif t > self.ids.room and self.ids.room < self.memory:
                self.ids = self.ids.grown(t - 1)
            self.ids.add(id, t, self.tracked)
        if t > self.fates.room and self.fates.room < self.memory:
            self.fates = self.fates.grown(t - 1)
        if moment is not None:
            if slot >= 0:
                slots.due[slot] = moment + self.window
            marks = slots.marks
            if moment > marks[NOW]:  # as slots.note does; a call more is 2 % of a decision
                marks[NOW] = moment
        if slot >= 0:
            self.tracked.add(t)
            item = _new_item((id, True, released, Answer.PENDING, play, payload, (), ()))
            self.fates.write(t, past.PENDING)
            if trail is not None:
                trail.append(("tracked", id, slot))
        else:
            code, answer = _DECLINED[slot == SATURATED]
            item = _new_item((id, False, released, answer, play, None, (), ()))
            self.fates.write(t, code)
            if trail is not None:
                trail.append((answer.name.lower(), id))
        self.items[t] = item
        old = t - self.recent
        if old > 0 and old not in self.tracked:
            self.items.pop(old, None)
        slots.is_midway = False
        return item

    def _release(self, t: int) -> Hashable:
        """Forget a round that was preempted, and return its id."""
        lost = self.items[t]
        self._forget(t, lost)
        if self.trail is not None:
            self.trail.append(("lost", lost.id))
        return lost.id

    def _forget(self, t: int, item: Item) -> None:
        """Forget what belonged to a round that has lost its slot, unless it is recent."""
        self.tracked.discard(t)
        if self.ids is not None and t <= self.forgotten:
            self.ids.forget(item.id)
        if t <= self.slots.counts[ROUNDS] - self.recent:
            self.items.pop(t, None)
        elif item.payload is not None or item.gathered:
            self.items[t] = _new_item((*item[:5], None, (), ()))

    def reconfigure(self, changes: dict[str, Any]) -> list[Hashable]:
        """Go on with another capacity, memory or window; return the ids of the rounds that lost their slots."""
        was, options = self.configuration, dict(self.configuration.options)
        if WINDOW in changes:
            options[WINDOW] = changes[WINDOW]
        fields = {name: value for name, value in changes.items() if name != WINDOW}
        wanted = settled(was._replace(**fields, options=options))
        if (wanted.capacity, wanted.memory, wanted.options) == (was.capacity, was.memory, was.options):
            return []
        check_room(wanted)
        slots, rounds = self.slots, self.rounds
        fates, ids, since = self.fates, self.ids, max(rounds - wanted.memory, self.forgotten)
        if wanted.memory != self.memory:
            fates = fates.remembering(wanted.memory, since, rounds)
            ids = None if ids is None else ids.remembering(wanted.memory, since, rounds)
        lost = slots.resize(wanted.capacity) if wanted.capacity != self.configuration.capacity else []
        slots.is_midway = True
        released = [self._release(t) for t in lost]
        recent = min(RECENT, wanted.memory)
        for t in range(max(1, rounds - self.recent + 1), rounds - recent + 1):
            if t not in self.tracked:
                self.items.pop(t, None)
        self.configuration = wanted._replace(forgotten=since if since > rounds - wanted.memory else 0)
        self.memory, self.recent, self.fates, self.ids = wanted.memory, recent, fates, ids
        self.window = _window_of(wanted)
        self.keep_old_ids()
        slots.is_midway = False
        if self.trail is not None:
            self.trail.append(("resized",))
        return released

    def vacuum(self) -> None:
        """Change nothing, but for an entry in the journal: those before it are then needed no more."""
        if self.trail is not None:
            self.trail.append(("vacuumed",))

    def keep_old_ids(self) -> None:
        """Keep the ids of tracked rounds that are older than the memory: only their rows have them."""
        if self.ids is not None:
            old = [t for t in self.tracked if t <= self.forgotten]
            self.ids.keep_aside((self.items[t].id, t) for t in old)

    def answer(self, id: Hashable, feedback: np.ndarray | None) -> Receipt:
        """Answer a round with feedback, or with nothing (None: it expired)."""
        return self.answer_at(self.find(as_id(id)), id, feedback)[0]

    def answer_at(
        self, t: int | None, id: Hashable, feedback: np.ndarray | None, label: Any = UNLABELLED, *, ended: bool = False
    ) -> tuple[Receipt, Item | None]:
        """Answer round t, which has this id, if there is one; ``ended`` says that its window has.

        Return a receipt, and what was kept of the round if it was tracked; then a label is counted too.
        """
        slots, is_tracked = self.slots, t in self.tracked
        counts = slots.counts
        answer = None if is_tracked else self._refusal(t)
        if answer is not None or t is None:
            if feedback is not None and not (np.abs(feedback) < LARGEST).all():
                raise _malformed(feedback)
            answer = answer or Answer.UNKNOWN
            self.count(answer, id)
            return _new_receipt((answer, 0.0)), None
        kept, weight = None, 0.0
        if feedback is None:
            slots.expire(t)
        else:
            weight = slots.answer(t, feedback)
            if weight == MALFORMED:
                slots.is_midway = False
                raise _malformed(feedback)
        if is_tracked:
            kept = self.items[t]
            self._forget(t, kept)
            code, answer = _AT_WINDOW_END if ended else _ENDED[feedback is None]
            if label is not UNLABELLED:
                size = slots.sized[LAST] if slots.sized else 1.0
                book_label(slots.sums, weight, label, slots.strays, size, slots.moments)
        else:
            code = self.fates.read(t) + 1
            answer = Answer(self.fates.fate(t))
        if t > counts[ROUNDS] - self.memory:
            self.fates.write(t, code)
        counts[ANSWERED] += 1
        counts[ANSWERS + answer] += 1
        slots.is_midway = False
        if self.trail is not None:
            self.trail.append((answer.name.lower(), id, weight))
        return _new_receipt((answer, weight)), kept

    def count(self, answer: Answer, id: Hashable) -> None:
        """Count an answer to a call that has changed nothing else."""
        self.slots.count(answer)
        if self.trail is not None:
            self.trail.append((answer.name.lower(), id))

    def answer_many(self, ids: list[Hashable], feedback: Any) -> list[Receipt]:
        """Answer several rounds with feedback, a row each, or with nothing (None: they expired)."""
        rows = [None] * len(ids) if feedback is None else feedback
        return [self.answer(id, row) for id, row in zip(ids, rows, strict=True)]

    def id_of(self, t: int) -> Hashable:
        """Return the id of round t, or None if it is not kept."""
        item = self.items.get(t)
        return None if item is None else item.id

    def points(self, id: Hashable) -> np.ndarray | None:
        """Return the points at which a round is evaluated, made again from its play; None where that is not kept."""
        t = self.find(as_id(id))
        item = None if t is None else self.items.get(t)
        if t is None or item is None or item.play is None:
            return None
        directions = keyed_draws(self.configuration.seed).directions
        return points_of(self.configuration.player.learner, directions, t, item.play)

    def fate(self, id: Hashable) -> Answer:
        """Return what became of a round, as far as it is remembered."""
        t = self.find(as_id(id))
        if t is not None and t in self.tracked:
            return Answer.PENDING
        return self._absence(t) or Answer(self.fates.fate(t or 0))

    def find(self, id: Hashable) -> int | None:
        """Return the round of an id, as far as it is remembered; raise ValueError if two ids have one hash."""
        rounds, naming = self.slots.counts[ROUNDS], self.slots.counts[NAMING]
        if naming != CALLERS:
            return id if type(id) is int and 0 < id <= rounds else None
        if self.ids is None:
            return None
        t = self.ids.find(id, rounds)
        if t is not None and (t > rounds - self.recent or t in self.tracked):
            item = self.items.get(t)
            if item is not None and item.id != id:
                problem = (
                    f"the ids {item.id!r} and {id!r} cannot be told apart here, since they have the same 64-bit hash"
                )
                raise ValueError(f"{problem}: give this decision another id; nothing was changed")
        return t

    def _absence(self, t: int | None) -> Answer | None:
        """Return why nothing is known of a round: forgotten, or never there; None where something is known."""
        if t is not None and t > self.forgotten:
            return None
        # Once ids of the caller's have been forgotten, nobody can tell whether an unknown one is among them.
        if t is not None or (self.slots.counts[NAMING] == CALLERS and self.forgotten > 0):
            return Answer.LATE
        return Answer.UNKNOWN

    def _refusal(self, t: int | None) -> Answer | None:
        """Return why nothing can be done with a round that is not tracked; None where something can."""
        answer = self._absence(t)
        if answer is None and self.fates.was_answered(t or 0):
            return Answer.OUTSIDE if self.fates.read(t or 0) == past.RELEASED else Answer.DUPLICATE
        return answer

    def refuse_outside(self, id: Hashable, moment: int) -> bool:
        """Return whether a moment lies after the window of a tracked round; if so, count the call as OUTSIDE."""
        t = self.find(as_id(id))
        is_outside = t is not None and t in self.tracked and moment > self.slots.end_of(t)
        if is_outside:
            self.count(Answer.OUTSIDE, id)
        return is_outside

    def gather(
        self, id: Hashable, label: Any, key: Hashable = None, *, several: bool = True, moment: int | None = None
    ) -> Answer:
        """Keep a label with a tracked round and let it wait on; return PENDING, or why it is not kept.

        One whose ``moment`` lies after the window of its round is OUTSIDE. A label whose key has come before is a
        duplicate, and unless there may be ``several``, so is every second one.
        Keys are kept as long as the labels.
        """
        t = self.find(as_id(id))
        item = self.items[t] if t is not None and t in self.tracked else None
        if t is None or item is None:
            answer = self._refusal(t) or Answer(self.fates.fate(t or 0))
        elif moment is not None and moment > self.slots.end_of(t):
            answer = Answer.OUTSIDE
        elif (key is not None and key in item.keys) or (item.gathered and not several):
            answer = Answer.DUPLICATE
        else:
            keys = item.keys if key is None else (*item.keys, key)
            self.items[t] = _new_item((*item[:6], (*item.gathered, label), keys))
            if self.trail is not None:
                self.trail.append(("gathered", id))
            return Answer.PENDING
        self.count(answer, id)
        return answer

    def _again(self, t: int, id: Hashable) -> Item:
        """Return a round that began before: as it was (REPEATED), or LATE with no play where that is forgotten."""
        before = self.items.get(t)
        answer = Answer.LATE if before is None else Answer.REPEATED
        self.count(answer, id)
        if before is not None:
            return before._replace(answer=answer)
        was_tracked = t > self.forgotten and self.fates.read(t) >= past.PREEMPTED
        return Item(id, was_tracked, (), answer, None)


def check_room(configuration: Configuration) -> None:
    """Refuse a capacity or memory that no machine has room for."""
    capacity, memory = configuration.capacity, configuration.memory
    needed = SLOT_BYTES * (capacity or 0) + ROUND_BYTES * memory
    if needed > _MOST_BYTES:
        wanted = f"a {configuration.kind} of capacity {capacity} that remembers memory={memory} rounds"
        raise ValueError(f"{wanted} takes up to {needed:.3g} bytes: give a smaller capacity or memory")


def _window_of(configuration: Configuration) -> int:
    """Return the length of windows in microseconds, 0 where there are none."""
    stated = configuration.options
    return as_length(stated[WINDOW], WINDOW) if WINDOW in stated else 0


def _malformed(feedback: Any) -> ValueError:
    return ValueError(f"feedback must be finite and below 1e100, got {feedback}: nothing was changed")
