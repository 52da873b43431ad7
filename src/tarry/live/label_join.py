"""LabelJoin: a bounded, weighted join of decisions with late labels, for any model."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from functools import partial
from math import isfinite
from typing import Any, NamedTuple

from tarry.checks import as_choice, as_int
from tarry.errors import Missing
from tarry.live import batches, outbox
from tarry.live.base import StoredObject, make_or_open
from tarry.live.configuration import JOIN, WINDOW
from tarry.live.encoding import as_id
from tarry.live.labels import UNSAID, as_gathered, as_missing, check_label
from tarry.live.logs import AT_END, DELIVER, DROP, Log, check_features, read_log
from tarry.live.outbox import Row
from tarry.live.rules import Joined, Outcome
from tarry.live.status import ALL, PER_SIZE, Estimate, estimate_now
from tarry.live.stores import MAIN, POWER, Store, open_store, shard_name
from tarry.live.turns import Turns
from tarry.live.weighing import Weighing
from tarry.live.windows import Clock, configuration_of, moment_of
from tarry.times import PER_SECOND, Micros, as_length, as_moment

_WEIGHING = Weighing()


class Ticket(NamedTuple):
    """A decision on its way: ``released`` ids were tracked until now and need no label any more.

    Decided again, ``tracked`` is what it was at first; :meth:`LabelJoin.fate` tells what has become of it since.
    """

    id: Hashable
    tracked: bool
    released: tuple[Hashable, ...]


new_ticket = partial(tuple.__new__, Ticket)  # the first three fields of an item, without a Python call


class LabelJoin(StoredObject):
    """Keep at most ``capacity`` decisions waiting for labels; return each label with its weight.

    The weight has mean 1, given all that came before the decision, so weighted sums, means and
    gradients over the rows that come out are unbiased for all decisions, also when the delay depends
    on the label. ``decide(size=…)`` says what a decision counts for, such as the value of a basket: sums of labels of
    about that size come out with less variance. Features are stored for tracked decisions only: anything in memory,
    what docs/live.md lists in a durable ``store`` (:class:`tarry.Session` explains ``store``, ``name``,
    ``durability`` and ``patience``).

    ``labels`` says what happens when a decision may have several: ``"first"`` ends it (default); with ``"last"``,
    ``"sum"`` or ``"all"`` labels gather until :meth:`finish`, or the end of a window, gives the row.

    ``window`` is how long a decision waits: seconds, a timedelta, or a text such as ``"30d"``. Its row comes out of
    :meth:`advance` when the window has ended, with ``missing`` as the label where none came. With
    ``release="arrival"`` a label gives its row at once, and what has come out leans to quick outcomes.

    ``outbox=True`` keeps every row until :meth:`ack`: :meth:`rows` hands them out again after a crash.

    ``shards=16`` makes sixteen joins of it, each with its part of the capacity, a lock and rows of its own, in
    PostgreSQL or in memory. The id of a decision names its shard, so every decision needs one.

    ``keep="30d"`` (or ``"all"``) keeps what :meth:`journal` tells so long, in a store.

    >>> join = LabelJoin(capacity=64, rng=1)
    >>> ticket = join.decide({"age": 41})
    >>> join.label(ticket.id, 1)
    Row(features={'age': 41}, label=1, weight=1.0, id=1, relative=1.0, number=1)
    """

    _kind = JOIN
    _tracker: Joined

    def __init__(
        self,
        capacity: int | None,
        *,
        scheduler: Any = None,
        information: str = "non-clairvoyant",
        preemption: bool = True,
        labels: str = "first",
        window: Any = None,
        missing: Any = UNSAID,
        release: str | None = None,
        outbox: bool = False,
        store: str | Store = "memory:",
        name: str = MAIN,
        durability: str = POWER,
        patience: float = 0.0,
        rng: Any = None,
        memory: int = 1_000_000,
        keep: str | None = None,
        shards: int = 1,
    ) -> None:
        rules = {"scheduler": scheduler, "information": information, "preemption": preemption, "memory": memory}
        rules |= {"keep": keep}
        windows = {"window": window, "missing": missing, "release": release}
        wanted = configuration_of(capacity, labels=labels, outbox=outbox, **rules, **windows)
        self._take(make_or_open(wanted, rng, store=store, name=name, durability=durability, patience=patience))

    def __new__(cls, *arguments: Any, shards: int = 1, **rules: Any) -> Any:
        """Return a join to be made; with shards, a router over several."""
        if shards == 1:
            return object.__new__(cls)
        from tarry.live.sharded import ShardedJoin  # which is made of joins

        return ShardedJoin.make(*arguments, shards=shards, **rules)

    @classmethod
    def open(cls, store: str | Store, *, name: str = MAIN, **how: Any) -> Any:
        """Continue what is in a store; where parts of it are not Tarry's own, pass the same player, or their classes.

        ``members`` are classes by name, which fields are put into as they were stored; ``durability`` and
        ``patience`` are as in the constructor.
        """
        try:
            return super().open(store, name=name, **how)
        except Missing:
            if not isinstance(store, str) or shard_name(name, 0) not in _names_in(store):
                raise
        from tarry.live.sharded import ShardedJoin

        return ShardedJoin.open(store, name=name, **how)

    @classmethod
    def _open_alone(cls, store: str | Store, **how: Any) -> LabelJoin:
        return super().open(store, **how)

    def _take(self, turns: Turns) -> None:
        self._clock = Clock()
        super()._take(turns)

    def _look_up(self) -> None:
        tracker = self._tracker
        self._rule, self._gathers, self._window = tracker.rule, tracker.gathers, tracker.window
        # What is kept is put as others will read it, before anything is changed.
        self._packs, self._keeps = tracker.trail is not None, tracker.gathers or tracker.has_outbox

    def decide(
        self,
        features: Any = None,
        id: Hashable = None,
        *,
        delay: int | None = None,
        size: float | None = None,
        at: Any = None,
    ) -> Ticket:
        """Register a decision; whether it is tracked is known at once.

        An id decided before gives its ticket again and leaves the features and the size first given. ``size`` is a
        positive number, for VarOpt alone; a decision without one counts 1. ``at`` is when the decision was made, the
        beginning of its window (now, if it is not said): seconds, a datetime, or a text in ISO 8601.
        """
        tracker = self._tracker
        if self._packs and features is not None:
            features = tracker.pack(features)
        if self._window or at is not None:
            item = self._turns.change(tracker.open, id, delay, features, self._moment(at), size)
            if not self._clock.is_said:
                self._clock.note(at)
        elif size is None:
            item = self._turns.change(tracker.open, id, delay, features)
        else:
            item = self._turns.change(tracker.open, id, delay, features, None, size)
        return new_ticket(item[:3])

    def _moment(self, at: Any, name: str = "at") -> int:
        """Return the moment of an event in a join with windows; refuse one elsewhere."""
        if at is not None and self._window:
            return as_moment(at, name)  # at once: each call in Python is 2 % of a decision
        return moment_of(at, self._window, "this join", name, self._clock)

    def decide_many(
        self,
        features: Any,
        *,
        ids: Iterable[Any] | None = None,
        delays: Iterable[Any] | None = None,
        sizes: Iterable[Any] | None = None,
        at: Any = None,
    ) -> list[Ticket]:
        """Register several decisions in one transaction.

        ``features`` is a frame, whose rows become dictionaries (a column id gives the ids), or a list. ``delays``
        are required in the clairvoyant model and refused elsewhere; ``sizes`` are one for each decision. ``at`` is one
        moment for all of them, or one for each.
        """
        rows, names = batches.decisions_of(features, ids)
        waits = [None] * len(rows) if delays is None else batches.as_list(delays, "delays")
        listed = None if sizes is None else batches.as_list(sizes, "sizes")
        moments = self._moments(at, len(rows)) if self._window or at is not None else None
        packed = check_features(rows, self._tracker.pack) if self._packs else rows
        opened = self._turns.change(self._tracker.open_many, names, waits, packed, listed, moments)
        if opened and self._window:
            self._clock.note(at)
        return [new_ticket(item[:3]) for item in opened]

    def _moments(self, at: Any, count: int) -> list[int]:
        """Return a moment for each of several events, from one for all of them or a list."""
        if isinstance(at, str) or not hasattr(at, "__iter__"):
            return [self._moment(at)] * count
        listed = batches.as_list(at, "moments")
        if len(listed) != count:
            raise ValueError(f"there are {count} events and {len(listed)} moments: give one for all, or one each")
        return [self._moment(None if batches.is_missing(one) else one) for one in listed]

    def label(self, id: Hashable, label: Any, *, key: Hashable = None, at: Any = None) -> Row | None:
        """Return the decision's row with its weight, or None if it is not tracked (any more); :meth:`fate` tells why.

        Where labels are kept for :meth:`finish` or :meth:`advance`, always None. There a label given twice counts
        twice, unless it has a ``key`` (a text, a whole number or bytes): of each key a decision takes one label. ``at``
        is when the label came to be, now if it is not said: after the decision's window it counts no more. A number
        that is not finite is refused, and where labels are added up, whatever is no number.
        """
        kind = type(label)
        if self._keeps or (kind is not int and (kind is not float or not isfinite(label))):
            label = self._checked(id, label)
        key = None if key is None else as_id(key)
        if self._window or at is not None:
            return self._turns.change(self._tracker.label, id, label, key, self._moment(at))[1]
        return self._turns.change(self._tracker.label, id, label, key)[1]

    def label_many(
        self, ids: Any, labels: Iterable[Any] | None = None, *, keys: Iterable[Any] | None = None, at: Any = None
    ) -> list[Outcome]:
        """Return what several labels, in one transaction, have made of their decisions: an outcome for each.

        ``ids`` may be a frame with id, label, key and at. The row that a label completes is its outcome's ``row``, None
        where the decision is not tracked; the fate is the one when all labels are in. ``at`` is one moment for all
        labels, or one for each.
        """
        names, values, marks, at = batches.labels_of(ids, labels, keys, at)
        checked = [self._checked(*pair) for pair in zip(names, values, strict=True)]
        moments = self._moments(at, len(names)) if self._window or at is not None else None
        return self._turns.change(self._tracker.label_many, names, checked, marks, moments)

    def _checked(self, id: Hashable, label: Any) -> Any:
        """Return a label that can be used, or kept with others, before anything is changed."""
        if self._keeps:
            return as_gathered(id, label, self._rule, self._tracker.pack_label)
        check_label(id, label)
        return label

    def finish(self, id: Hashable, missing: Any = UNSAID) -> Row | None:
        """End the window of a decision now; return its row, with the labels gathered.

        If there are none the label is ``missing``; unsaid, that of the join's window, else 0 where labels are added up,
        [] where all are kept, None where one counts.
        """
        return self.finish_many([id], missing)[0].row

    def finish_many(self, ids: Any, missing: Any = UNSAID) -> list[Outcome]:
        """End the windows of several decisions (a list, a frame with id) in one transaction: an outcome for each."""
        if not self._gathers:
            raise ValueError("this join ends a decision with its first label: call label(id, …), or expire(id)")
        names = batches.as_ids(ids)
        if missing is UNSAID and self._window:
            missing = self._tracker.missing
        for id in names[:1]:  # which a refusal speaks of
            missing = as_missing(id, missing, self._rule, self._tracker.pack_label)  # an outbox keeps it
        return self._turns.change(self._tracker.finish_many, names, missing)

    def due(self, now: Any = None) -> list[Hashable]:
        """Return the ids of tracked decisions whose windows have ended, in that order; :meth:`advance` ends them."""
        return self._turns.look(self._tracker.due, self._moment(now, "now"))

    def next_due(self) -> float | None:
        """Return when the next window of a tracked decision ends, in seconds: the moment of a timer. None: never."""
        end = self._next_end()
        return None if end is None else end / PER_SECOND

    def _next_end(self) -> int | None:
        """Return what :meth:`next_due` does in microseconds, which are exact."""
        return self._turns.look(self._tracker.slots.next_end) if self._window else None

    def advance(self, now: Any = None, limit: int | None = None) -> list[Row]:
        """Return the rows of all tracked decisions whose windows have ended by a moment, now if it is not said.

        With a ``limit`` at most so many come out, and the others with the next call. They come in the order in which
        their windows ended, with ``missing`` as the label where none came. Those that this process cannot read wait
        on, for :meth:`due` and for one that can.
        """
        most = None if limit is None else as_int(limit, "limit")
        return self._turns.change(self._tracker.advance, self._moment(now, "now"), most)

    def rows(self, after: int | Iterable[int] | None = None, limit: int | None = None) -> list[Row]:
        """Return the rows given out and not acknowledged, by number: those after a number, and at most ``limit``.

        Every row is here from the transaction that gave it out until :meth:`ack`, also after a crash. Whoever stores
        the number of the last row together with what was made of it, and asks for those after it, gets each row once.
        Numbers of a join with shards count in each shard: there ``after`` may be several.
        """
        self._check_outbox()
        most = None if limit is None else as_int(limit, "limit")
        first = max(outbox.row_numbers(after, "after"), default=None)
        return self._turns.look(self._tracker.rows, first, most)

    def rebalance(self) -> list[Hashable]:
        """Divide the capacity among shards by their loads, where a join has shards; return the ids that lost slots."""
        raise ValueError("this join has no shards to divide its capacity among: make another with shards")

    def ack(self, number: int | Iterable[int]) -> int:
        """Let go of all rows up to a number, the largest of several; return how many are left."""
        self._check_outbox()
        last = max(outbox.row_numbers(number, "number"), default=0)
        return self._turns.change(self._tracker.acknowledge, last)

    def _check_outbox(self) -> None:
        if not self._tracker.has_outbox:
            raise ValueError("this join keeps no rows once they are given out: make it with outbox=True (--outbox)")

    def steps(self, row: Row) -> list[float]:
        """Return the weights with which to tell a row to a model that takes steps, a call for each.

        They are tempered: ``row.weight`` over √(Σw²/Σw) of the rows given out so far, in parts of weight 1 to 2. So do
        the adapters, and docs/adapters.md says why. Models fitted anew take the weights of all rows over their mean.

        >>> join = LabelJoin(capacity=1, rng=1)
        >>> ids = [join.decide({"age": age}).id for age in range(36)]
        >>> [join.steps(row) for id in ids if (row := join.label(id, 1))]  # of weight 36: 36/√36
        [[1.0, 1.0, 1.0, 1.0, 1.0, 1.0]]
        """
        return self._turns.look(self._steps, row.weight)

    def _steps(self, weight: float) -> list[float]:
        if not self._tracker.slots.given:
            raise ValueError("this join has given out no row yet: ask the join that gave this one")
        return _WEIGHING.steps(self._tracker.slots, weight)

    def resize(self, *, capacity: int | None = UNSAID, memory: int = UNSAID, window: Any = UNSAID) -> list[Hashable]:
        """Change the capacity (None: no limit), memory or window while decisions wait; return the ids that lost slots.

        A window is that of decisions from now on; those that wait keep theirs.
        VarOpt gives slots up by its own step, so that weights stay unbiased and add up. With other schedulers a
        capacity may only rise, with some not at all (NotGranted). In a store all of it is one transaction, and other
        processes go on under the new rules with their next call.

        >>> join = LabelJoin(capacity=4, rng=1)
        >>> tickets = [join.decide() for _ in range(4)]
        >>> len(join.resize(capacity=2)), sum(row.weight for row in map(join.label, range(1, 5), [0] * 4) if row)
        (2, 4.0)
        """
        given = {"capacity": capacity, "memory": memory}
        changes: dict[str, Any] = {name: value for name, value in given.items() if value is not UNSAID}
        if window is not UNSAID:
            changes[WINDOW] = as_length(window, WINDOW) / PER_SECOND
            if not self._window:
                problem = "this join has no window, and cannot get one while it lives"
                raise ValueError(f"{problem}: make another with a window")
        if not changes:
            raise ValueError(f"say what is to change: {', '.join(f'{name}=…' for name in (*given, WINDOW))}")
        released: list[Hashable] = self._turns.change(self._tracker.reconfigure, changes)
        self._look_up()
        return released

    def estimate(
        self,
        level: float = 0.95,
        *,
        low: float = 0.0,
        high: float = 1.0,
        among: str = ALL,
        per: str = PER_SIZE,
    ) -> Estimate:
        """Return the mean label of all decisions so far, with confidence intervals, and the naive mean beside it.

        While labels are awaited the mean leans towards the quick ones; ``outstanding`` says how many are. All labels,
        heard or not, must lie between ``low`` and ``high``: of decisions with sizes for each unit of size, or, with
        ``per="decision"``, themselves, whatever their sizes. Then the intervals cover the mean of all decisions so far,
        whatever is awaited: ``low`` to ``high`` for one look, ``anytime_low`` to ``anytime_high`` however often one
        looks. ``among="labelled"`` asks for the mean label of those decisions alone that have got one by now, in their
        windows if there are any; a join whose ``missing`` is a number cannot tell.
        """
        return self._turns.look(partial(estimate_now, among=among, per=per), self._tracker, level, low, high)

    def stream(
        self,
        frame: Any,
        *,
        decided_at: str | None = None,
        labelled_at: str | None = None,
        label: str = "label",
        at_end: str = DROP,
        id: str | None = None,
        size: str | None = None,
    ) -> Iterator[Row]:
        """Go through a log in the order of time and yield the rows as labels come.

        Columns of times that are not named are found by their usual names, as ``tarry plan`` finds them.
        A label comes after all decisions up to its time; an empty time means never. Labels that come after the last
        decision are dropped, or delivered with ``at_end="deliver"``; windows that end later likewise. ``id`` names
        the column of ids (default: id, if there is one), ``size`` one of sizes; that one, and the columns that are not
        named here, are the features.
        Labels that gather need a window: else a log does not say when they are complete. A log that makes no sense
        somewhere is refused before its first decision.
        """
        if self._gathers and not self._window:
            raise ValueError(
                "this join gathers labels until finish(id), and a log does not say when that is: "
                "stream with a window or labels='first', or call decide, label and finish"
            )
        as_choice(at_end, "at_end", AT_END)
        missing = self._tracker.missing if self._window else None
        log = read_log(frame, decided_at, labelled_at, label, at_end, id, timed=self._window > 0, missing=missing)
        check_features(log.features, self._tracker.pack)
        sizes: list[Any] = [None] * len(log.ids) if size is None else batches.column(frame, size)
        for i, one in enumerate(sizes if size is not None else ()):
            self._tracker.slots.as_size(one, f"row {i}: size")
        return self._stream(log, sizes, at_end)

    def _stream(self, log: Log, sizes: list[Any], at_end: str) -> Iterator[Row]:
        ids: dict[int, Hashable] = {}
        ends: deque[int] = deque()  # of tracked decisions, in the order of time
        for i, is_label, moment in log.events:
            at = Micros(moment) if self._window else None
            if at is not None:
                yield from self._ended(ends, at - 1)  # a label may come in the last moment of its window
            if is_label:
                checked = self._checked(ids[i], log.labels[i])
                row = self._turns.change(self._tracker.label, ids.pop(i), checked, None, at)[1]
                if row is not None:
                    yield row
            else:
                ticket = self.decide(log.features[i], log.ids[i], size=sizes[i], at=at)
                ids[i] = ticket.id
                if ticket.tracked and at is not None:
                    ends.append(at + self._window)
        if self._window and log.events:
            yield from self._ended(ends, ends[-1] if at_end == DELIVER and ends else log.events[-1][2])

    def _ended(self, ends: deque[int], moment: int) -> Iterator[Row]:
        if ends and ends[0] <= moment:
            while ends and ends[0] <= moment:
                ends.popleft()
            yield from self._turns.change(self._tracker.advance, moment)


def _names_in(store: str) -> dict[str, str]:
    """Return the names in a store, those of shards among them."""
    place = open_store(store, must_exist=True)
    if place is None:
        return {}
    try:
        return place.names()
    finally:
        place.close()
