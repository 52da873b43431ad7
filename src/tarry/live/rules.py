"""The machine of a join: a tracker that gathers labels, ends windows and hands out rows by the rules of its join."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from tarry.live.configuration import LABELS, MISSING, OUTBOX, RELEASE, Configuration
from tarry.live.core import ACKED, NOW
from tarry.live.encoding import Item, Packed, Unreadable, as_id, resolved, unpack
from tarry.live.labels import ALL, FIRST, RULES
from tarry.live.outbox import Row, new_row
from tarry.live.tracker import Tracker
from tarry.live.values import brief, to_json
from tarry.outcomes import Answer
from tarry.times import AT_END_OF_WINDOW

_NOTHING = np.zeros(1)
Result = tuple[Answer, Row | None]


class Outcome(NamedTuple):
    """What a call has made of a decision: its fate after it, the row that came out, if one did, and the answer.

    The answer is the call's own: of a label that comes again DUPLICATE, where the fate is still USED; PENDING where a
    label is kept until the row comes out; OUTSIDE of one that comes after the decision's window.
    """

    id: Hashable
    fate: Answer
    row: Row | None
    answer: Answer


class Joined(Tracker):
    """The rounds of a join: decisions that wait for labels."""

    def start(self, configuration: Configuration) -> None:
        super().start(configuration)
        options = configuration.options
        self.rule, self.missing = options[LABELS], options.get(MISSING)
        # Labels are kept with their decision until its row comes out; else the first one gives the row.
        self.gathers = self.rule != FIRST or options.get(RELEASE) == AT_END_OF_WINDOW
        self.has_outbox = OUTBOX in options

    def label(self, id: Hashable, label: Any, key: Hashable = None, moment: int | None = None) -> Result:
        """Use a label, or keep it with others, unless its moment lies after the window of its decision."""
        result: Result
        if self.gathers:
            result = self.gather(id, label, key, several=self.rule != FIRST, moment=moment), None
        elif moment is not None and self.refuse_outside(id, moment):
            result = Answer.OUTSIDE, None
        else:
            result = self.end(id, label)
        if moment is not None and result[0] is not Answer.UNKNOWN:  # else a slip in an id and a year would be time
            self.note(moment)
        return result

    def note(self, moment: int) -> None:
        """Remember the latest moment that was told."""
        if moment > self.slots.marks[NOW]:
            self.slots.marks[NOW] = moment
            if self.trail is not None:
                self.trail.append(("now", moment))

    def label_many(
        self, ids: list[Hashable], labels: list[Any], keys: list[Hashable], moments: list[int] | None
    ) -> list[Outcome]:
        """Use several labels, one after the other."""
        each = zip(ids, labels, keys, [None] * len(ids) if moments is None else moments, strict=True)
        return self._outcomes(ids, [self.label(*given) for given in each])

    def finish_many(self, ids: list[Hashable], missing: Any) -> list[Outcome]:
        """End decisions with the labels that have gathered, or with what stands for none."""
        return self._outcomes(ids, [self.end(id, self._gathered(id, missing)) for id in ids])

    def _gathered(self, id: Hashable, missing: Any) -> Any:
        """Return what the labels of a decision come to."""
        t = self.find(id)
        item = self.items.get(t) if t in self.tracked else None
        return missing if item is None else self._result(item, missing)

    def _result(self, item: Item, missing: Any) -> Any:
        """Return what labels come to; packed where one of them is, for a replay needs to read none."""
        labels = item.gathered
        if self.trail is None:
            labels = tuple(map(unpack, labels))
        elif self.rule == ALL and any(type(label) is Packed for label in labels):
            texts = (label if type(label) is Packed else to_json(label) for label in labels)
            return Packed(f"[{', '.join(texts)}]")
        return RULES[self.rule](labels) if labels else missing

    def _outcomes(self, ids: Sequence[Hashable], results: Sequence[Result]) -> list[Outcome]:
        # The fates are those when all of it is done.
        return [Outcome(id, self.fate(id), row, answer) for id, (answer, row) in zip(ids, results, strict=True)]

    def end(self, id: Hashable, label: Any, *, ended: bool = False) -> Result:
        """End a decision with a label; return the answer, and its row if it is tracked."""
        t, read = self.find(as_id(id)), self._read_again if self.is_replayed else unpack
        value = read(label)
        features = read(self.items[t].payload) if t in self.tracked else None  # first: it may be unreadable
        (status, weight), item = self.answer_at(t, id, _NOTHING, resolved(value), ended=ended)
        if status is not Answer.USED or item is None:
            return status, None
        row = new_row((features, value, weight, item.id, *self.slots.place_of(weight)))
        if self.has_outbox:
            kept = (label if type(label) is Packed else self.pack_label(label), weight, row.relative)
            self.items[-row.number] = Item(item.id, True, (), Answer.USED, None, item.payload, kept)
        return status, row

    def _read_again(self, value: Any) -> Any:
        """Return what was packed as far as a replay needs it: numbers, which everybody can read."""
        with suppress(Unreadable):
            return unpack(value)
        return None

    def due(self, moment: int) -> list[Hashable]:
        """Return the ids of tracked decisions whose windows have ended, in that order."""
        return [self.items[t].id for t in self.slots.ended(moment)]

    def advance(self, moment: int, limit: int | None = None, waiting: Collection[Hashable] = ()) -> list[Row]:
        """Return the rows of tracked decisions whose windows have ended, but for those that are ``waiting``.

        With a limit at most so many. Those that cannot be read here wait on too, so that they keep no others waiting;
        a replay is told which.
        """
        rows: list[Row] = []
        for t in self.slots.ended(moment):
            if len(rows) == limit:
                break
            item = self.items[t]
            if item.id in waiting:
                if self.trail is not None:
                    self.trail.append(("waiting", item.id))
                continue
            try:
                row = self.end(item.id, self._result(item, self.missing), ended=True)[1]
            except Unreadable:
                if self.trail is not None:
                    self.trail.append(("waiting", item.id))
                continue
            assert row is not None  # its round is tracked
            rows.append(row)
        self.note(moment)
        return rows

    def rows(self, after: int | None, limit: int | None) -> list[Row]:
        """Return the rows kept after a number, or after those acknowledged, and at most so many."""
        acked, given = self.slots.marks[ACKED], self.slots.given
        first = acked if after is None else after
        if not acked <= first <= given:
            known = f"rows up to {acked} were acknowledged and are gone, and {given} were given out"
            raise ValueError(f"after is {first}, but {known}: give a number from {acked} to {given}")
        rows: list[Row] = []
        for number in range(first + 1, 1 + (given if limit is None else min(given, first + limit))):
            try:
                rows.append(self._kept(number))
            except Unreadable:
                if rows:  # those before it come first
                    break
                raise
        return rows

    def _kept(self, number: int) -> Row:
        item = self.items[-number]
        label, weight, relative = item.gathered
        try:
            return new_row((unpack(item.payload), unpack(label), weight, item.id, relative, number))
        except Unreadable as error:
            problem = f"row {number} of the outbox cannot be read by this process ({brief(str(error.__cause__))})"
            raise Unreadable(f"{problem}: read it where it was written, or give it up with ack({number})") from error

    def acknowledge(self, number: int) -> int:
        """Forget the rows up to a number; return how many are left."""
        marks, given = self.slots.marks, self.slots.given
        if number > given:
            raise ValueError(f"row {number} was not given out yet, only {given} were: acknowledge those you have")
        if number > marks[ACKED]:
            for done in range(marks[ACKED] + 1, number + 1):
                del self.items[-done]
            marks[ACKED] = number
            if self.trail is not None:
                self.trail.append(("acked", number))
        return self.left

    @property
    def left(self) -> int:
        """How many rows are kept."""
        return int(self.slots.given - self.slots.marks[ACKED])
