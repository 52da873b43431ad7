"""Ids, fates and answers around the slots: what becomes of rounds that begin now and are answered whenever.

A tracker lives in memory and knows no store and no lock: it keeps at most C tracked rounds with what belongs to them,
three bits for each of the last ``memory`` rounds, and the plays of the last few. ``live.transactions`` makes its
changes durable and lets one call at a time change it.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import Any

import numpy as np

from tarry.errors import StoreError
from tarry.learners.base import points_of
from tarry.live import buffers
from tarry.live.batches import Receipt
from tarry.live.buffers import Fates, Ids
from tarry.live.configuration import Configuration, check_naming, disclosed_delay, terms_for
from tarry.live.core import ANSWERED, ANSWERS, MALFORMED, NAMING, RELEASED, ROUNDS, Slots, is_malformed
from tarry.live.encoding import Item, Objects, Unreadable, as_id
from tarry.live.estimates import book_label
from tarry.outcomes import Answer
from tarry.schedulers.base import SATURATED
from tarry.tracking import keyed_draws
from tarry.tracking.tally import UNCERTIFIED

UNDECIDED, OURS, CALLERS = range(3)  # whether rounds go by our numbers or by the caller's ids
RECENT = 256  # rounds that are kept with their plays whether tracked or not; fewer where fewer are remembered
UNLABELLED: Any = object()
_DECLINED = ((buffers.UNTRACKED, Answer.UNTRACKED), (buffers.SATURATED, Answer.SATURATED))
_ENDED = ((buffers.USED, Answer.USED), (buffers.EXPIRED, Answer.EXPIRED))
_NOWHERE = np.zeros(0)
# A named tuple's own constructor is a Python function; this one costs half as much, twice a call.
_new_item = partial(tuple.__new__, Item)


class Tracker:
    """The rounds of a configuration that was checked before; ``items`` is where what is kept of them goes."""

    def __init__(self, configuration: Configuration, items: Any = None) -> None:
        self.configuration, self.memory = configuration, configuration.memory
        self.recent = min(RECENT, self.memory)
        self.terms = terms_for(configuration)
        player = configuration.player
        self.slots = Slots(
            player,
            configuration.capacity,
            configuration.information,
            seed=configuration.seed,
            certify=UNCERTIFIED if self.terms is None else self.terms.sizes,
        )
        self.fates = Fates(self.memory)
        self.ids: Ids | None = None  # made when the first one comes
        self.items: Any = Objects() if items is None else items
        self.tracked: set[int] = set()
        self._is_clairvoyant = configuration.information == "clairvoyant"
        self._plays = player.learner.dimension > 0

    @property
    def rounds(self) -> int:
        """Rounds begun so far."""
        return self.slots.counts[ROUNDS]

    @property
    def is_numbered(self) -> bool | None:
        """Whether rounds go by their numbers; None before the first."""
        naming = self.slots.counts[NAMING]
        return naming == OURS if naming else None

    def open(self, id: Hashable, delay: int | None, payload: Any) -> Item:
        """Begin a round, or return the round that already has this id. Bad arguments begin nothing."""
        disclosed = -1 if delay is None and not self._is_clairvoyant else disclosed_delay(self.configuration, delay)
        if payload is not None:
            payload = self.items.pack(payload)  # refused whether or not the round will be tracked
        naming = self.slots.counts[NAMING]
        if id is not None:
            id = as_id(id)
            known = self.find(id)
            if known is not None:
                return self._again(known, id)
            if naming == OURS:
                check_naming(self.configuration, is_named=True)
        elif naming == CALLERS:
            check_naming(self.configuration, is_named=False)
        return self._begin(id, disclosed, payload)

    def open_many(self, ids: list[Any], delays: list[Any], payloads: list[Any]) -> list[Item]:
        """Begin rounds one after the other; bad arguments begin none of them."""
        if len(delays) != len(ids):
            raise ValueError(f"there are {len(ids)} rounds and {len(delays)} delays: give one each")
        named = [as_id(id) for id in ids if id is not None]
        if len(named) not in (0, len(ids)):
            raise ValueError("some rounds have an id and some have none: give ids always or never")
        for delay in delays:
            disclosed_delay(self.configuration, delay)
        naming = self.slots.counts[NAMING]
        other = bool(ids) and naming not in (UNDECIDED, CALLERS if named else OURS)
        if other and not (named and all(self.find(id) is not None for id in named)):
            check_naming(self.configuration, is_named=bool(named))
        return [self.open(*row) for row in zip(ids, delays, payloads, strict=True)]

    def _begin(self, id: Hashable, delay: int, payload: Any) -> Item:
        slots = self.slots
        slot = slots.open(delay)
        counts = slots.counts
        t = counts[ROUNDS]
        if t == 1:
            counts[NAMING] = OURS if id is None else CALLERS
        released = tuple(map(self._retire, slots.released())) if slots.table[RELEASED] else ()
        play = _read_only(slots.state.play) if self._plays else _NOWHERE
        if id is None:
            id = t
        else:
            if self.ids is None:
                self.ids = Ids(self.memory, self.configuration.seed)
            self.ids.add(id, t, self.tracked)
        if slot >= 0:
            self.tracked.add(t)
            item = _new_item((id, True, released, Answer.PENDING, play, payload, (), ()))
            self.fates.write(t, buffers.PENDING)
        else:
            code, answer = _DECLINED[slot == SATURATED]
            item = _new_item((id, False, released, answer, play, None, (), ()))
            self.fates.write(t, code)
        self.items[t] = item
        past = t - self.recent
        if past > 0 and past not in self.tracked:
            self.items.pop(past, None)
        slots.is_midway = False
        return item

    def _retire(self, t: int) -> Hashable:
        """Forget what belonged to a round that has lost its slot, unless it is recent; return its id."""
        item = self._readable(t)
        self._forget(t, item)
        return t if item is None else item.id  # of a row that cannot be read the number stands for the id

    def _forget(self, t: int, item: Item | None) -> None:
        rounds = self.rounds
        self.tracked.discard(t)
        if item is not None and t <= rounds - self.memory and self.ids is not None:
            self.ids.forget(item.id)
        if t <= rounds - self.recent:
            self.items.pop(t, None)
        elif item is not None and (item.payload is not None or item.gathered):
            self.items[t] = _new_item((*item[:5], None, (), ()))

    def answer(self, id: Hashable, feedback: np.ndarray | None, label: Any = UNLABELLED) -> tuple[Receipt, Item | None]:
        """Answer a round with feedback, or with nothing (None: it expired).

        Return a receipt, and what was kept of the round if it was tracked; then a label is counted too.
        """
        t = self.find(as_id(id))
        slots, is_tracked = self.slots, t in self.tracked
        counts = slots.counts
        refused = None if is_tracked else self.refusal(t)
        if refused is not None or t is None:
            if feedback is not None and is_malformed(feedback):
                raise _malformed(feedback)
            answer = refused or Answer.UNKNOWN
            counts[ANSWERS + answer] += 1
            return Receipt(answer, 0.0), None
        kept, weight = None, 0.0
        if feedback is None:
            slots.expire(t)
        else:
            weight = slots.answer(t, feedback)
            if weight == MALFORMED:
                slots.is_midway = False
                raise _malformed(feedback)
        if is_tracked:
            kept = self._readable(t) if feedback is None else self.item(t)
            self._forget(t, kept)
            code, answer = _ENDED[feedback is None]
            if label is not UNLABELLED:
                book_label(slots.sums, weight, label)
        else:
            code = self.fates.read(t) + 1
            answer = Answer(self.fates.fate(t))
        if t > counts[ROUNDS] - self.memory:
            self.fates.write(t, code)
        counts[ANSWERED] += 1
        counts[ANSWERS + answer] += 1
        slots.is_midway = False
        return Receipt(answer, weight), kept

    def answer_many(self, ids: list[Hashable], feedback: Any, _: Any = None) -> list[Receipt]:
        """Answer several rounds with feedback, a row each, or with nothing (None: they expired)."""
        rows = [None] * len(ids) if feedback is None else feedback
        return [self.answer(id, row)[0] for id, row in zip(ids, rows, strict=True)]

    def item(self, t: int) -> Item | None:
        """Return what is kept of round t, if it is tracked or recent."""
        kept: Item | None = self.items.get(t)
        if kept is None and (t in self.tracked or self.rounds - self.recent < t <= self.rounds):
            raise StoreError(f"the store has lost the row of round {t}: restore a copy of it")
        return kept

    def _readable(self, t: int) -> Item | None:
        """Return what is kept of round t, or None if this process cannot read it: that harms the round alone."""
        try:
            return self.item(t)
        except Unreadable:
            return None

    def id_of(self, t: int) -> Hashable:
        """Return the id of round t, or None if it is not kept or cannot be read."""
        item = self._readable(t)
        return None if item is None else item.id

    def points(self, id: Hashable) -> np.ndarray | None:
        """Return the points at which a round is evaluated, made again from its play; None where that is not kept."""
        t = self.find(as_id(id))
        item = None if t is None else self.item(t)
        if t is None or item is None or item.play is None:
            return None
        directions = keyed_draws(self.configuration.seed).directions
        return points_of(self.configuration.player.learner, directions, t, item.play)

    def fate(self, id: Hashable) -> Answer:
        """Return what became of a round, as far as it is remembered."""
        t = self.find(as_id(id))
        if t in self.tracked:
            return Answer.PENDING
        if t is None or t <= self.rounds - self.memory:
            return self._absence(t)
        return Answer(self.fates.fate(t))

    def ledger(self) -> dict[str, int]:
        """Return the rounds by fate; they sum to the rounds begun."""
        return self.slots.fates()

    def find(self, id: Hashable) -> int | None:
        """Return the round of an id, as far as it is remembered; raise ValueError if two ids have one hash."""
        rounds, naming = self.slots.counts[ROUNDS], self.slots.counts[NAMING]
        if naming != CALLERS:
            return id if type(id) is int and 0 < id <= rounds else None
        if self.ids is None:
            return None
        t = self.ids.find(id, rounds)
        if t is not None and (t > rounds - self.recent or t in self.tracked):
            try:
                item = self.items.get(t)
            except Unreadable:
                return t
            if item is not None and item.id != id:
                raise ValueError(
                    f"the ids {item.id!r} and {id!r} cannot be told apart here, since they have the same 64-bit hash: "
                    "give this decision another id; nothing was changed"
                )
        return t

    def _absence(self, t: int | None) -> Answer:
        """Return why nothing is known: forgotten, or never there. Of callers' ids nobody can tell once some are."""
        if t is not None or (self.slots.counts[NAMING] == CALLERS and self.rounds > self.memory):
            return Answer.LATE
        return Answer.UNKNOWN

    def refusal(self, t: int | None) -> Answer | None:
        """Return why nothing can be done with a round any more; None where something can."""
        if t in self.tracked:
            return None
        if t is None or t <= self.rounds - self.memory:
            return self._absence(t)
        return Answer.DUPLICATE if self.fates.was_answered(t) else None

    def count(self, answer: Answer) -> None:
        """Count a call that was answered so."""
        self.slots.counts[ANSWERS + answer] += 1

    def _again(self, t: int, id: Hashable) -> Item:
        """Return a round that began before: as it was (REPEATED), or LATE with no play where that is forgotten.

        Whether it was tracked at first is known for as long as its fate is.
        """
        before = self.item(t)
        answer = Answer.LATE if before is None else Answer.REPEATED
        self.count(answer)
        if before is not None:
            return before._replace(answer=answer)
        was_tracked = t > self.rounds - self.memory and self.fates.was_tracked(t)
        return Item(id, was_tracked, (), answer, None)


def _read_only(play: np.ndarray) -> np.ndarray:
    """Return a copy that its reader cannot change."""
    copy = play.copy()
    copy.flags.writeable = False
    return copy


def _malformed(feedback: Any) -> ValueError:
    return ValueError(f"feedback must be finite and below 1e100, got {feedback}: nothing was changed")
