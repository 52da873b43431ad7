"""A join in shards: several joins, each with its part of the capacity, a lock and rows of its own.

The id of a decision names its shard, by a hash that is the same everywhere. Weights of every shard are unbiased given
all that came before, and shards draw independently: so sums over all of them are unbiased too, and variances add.

A record under the join's own name holds its rules and its capacity, and is the lock of those who resize or rebalance:
shards shrink before others grow, so that their capacities never sum to more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext, suppress
from functools import partial
from math import inf, nan
from typing import Any, Self, TypeVar, cast
from zlib import crc32

from tarry._version import __version__
from tarry.checks import as_int
from tarry.errors import StoreError, TarryError, Uncertain
from tarry.kernel import make_seed
from tarry.live import batches, outbox
from tarry.live.base import Found, StoredObject, closed_on_failure, erase, make_or_open
from tarry.live.batches import Receipt, Receipts, receipts_of
from tarry.live.books import Books, books_of, merged
from tarry.live.configuration import SHARDS, WINDOW, Configuration, check_same, encode, parse, settled
from tarry.live.copies import Copy, copy_of, lines_of
from tarry.live.encoding import as_id
from tarry.live.label_join import LabelJoin, Outcome, Ticket
from tarry.live.labels import UNSAID
from tarry.live.logs import check_features
from tarry.live.outbox import Row
from tarry.live.register import (
    Register,
    check_capacity,
    checked_count,
    divided,
    part_of,
    seed_of,
    shard_of,
    shares_by_load,
)
from tarry.live.status import ALL, Estimate, Load, Status, Waiting, estimate_of, ledger_of, status_from
from tarry.live.stores import MAIN, POWER, Store, open_store, shard_name
from tarry.live.transactions import outcome_of
from tarry.live.windows import configuration_of
from tarry.outcomes import Answer
from tarry.times import PER_SECOND, as_length

T = TypeVar("T")
AT_ONCE = 16  # transactions of a call: as many as a process has connections
SHOWN = 20  # ids in a sentence
CLOSE = 0.05  # of its capacity: a shard that is as near to its share keeps what it has


class ShardedJoin(LabelJoin):
    """A :class:`LabelJoin` in shards, with the same calls; ``LabelJoin(capacity, shards=16)`` makes it.

    A call about one id is one transaction of its shard. A batch is one transaction for each shard that it meets, all at
    once; whatever is malformed is refused before the first. Capacity and ``memory`` are divided among the shards.
    ``Row.relative`` and :meth:`steps` are by the rows of the row's own shard; rows, ids and rounds of several
    shards come in the order of the shards' own numbers.

    >>> join = LabelJoin(capacity=8, shards=4, rng=1)
    >>> rows = [join.decide({"age": 41}, id=f"visit-{i}").id for i in range(100)]
    >>> sum(row.weight for id in rows if (row := join.label(id, 1)))
    100.0
    """

    def __init__(
        self,
        capacity: int | None,
        *,
        shards: int,
        store: str | Store = "memory:",
        name: str = MAIN,
        durability: str = POWER,
        rng: Any = None,
        **rules: Any,
    ) -> None:
        whole = settled(configuration_of(capacity, **rules))
        count = checked_count(shards, whole, store)
        whole = whole._replace(seed=make_seed(rng), options=whole.options | {SHARDS: count})
        place = open_store(store, name, durability=durability)
        beside = partial(LabelJoin._find, store, player=whole.player, members=None, durability=durability)

        def is_there() -> bool:
            """Open the join if there is one of this name; raise Mismatch about another."""
            found = None if place is None else place.configuration()
            if place is None or found is None:
                return False
            plain, stored = parse(found, place.where, whole.player)
            check_same(plain, whole, with_seed=rng is not None)
            self._open_shards(Found(name, plain, stored, place, found, beside))
            return True

        with nullcontext() if place is None else closed_on_failure(place):
            if is_there():
                return
            register = Register(whole, place)
            with register.making() as taken, ExitStack() as opened:
                if is_there():  # somebody was faster
                    return
                made: list[LabelJoin] = []
                for k in range(count):
                    seed, own = None if rng is None else seed_of(whole.seed, k), shard_name(name, k, count)
                    turns = make_or_open(part_of(whole, k), seed, store=store, name=own, durability=durability)
                    made.append(LabelJoin._of(turns))
                    if own not in taken:
                        opened.callback(_undo, store, own)
                    opened.callback(made[-1].close)
                # Last, so that whoever finds it finds its shards; joins without shards do not wait for this lock.
                if register.create():
                    self._hold(register, made)
                elif is_there():
                    for one in made:
                        one.close()
                else:
                    raise StoreError(f"{name!r} was made and removed by another process meanwhile: call again")
                opened.pop_all()

    @classmethod
    def _continue(cls, found: Found) -> Self:
        opened = cls.__new__(cls)
        with closed_on_failure(found.place):
            opened._open_shards(found)
        return opened

    def _open_shards(self, found: Found) -> None:
        count, shards = found.configuration.options[SHARDS], list[LabelJoin]()
        with ExitStack() as opened:
            for k in range(count):
                try:
                    shards.append(LabelJoin._continue_alone(found.beside(shard_name(found.name, k, count))))
                except StoreError as error:
                    raise StoreError(f"shard {k} of {found.name!r} cannot be opened: {error}") from error
                opened.callback(shards[-1].close)
            opened.pop_all()
        self._hold(Register(found.configuration, found.place), shards)

    def _hold(self, register: Register, shards: list[LabelJoin]) -> None:
        self._register, self._shards = register, shards
        for shard in shards:
            shard._clock = shards[0]._clock
        self._is_waiting = register.place is not None  # for a disk: then threads wait side by side

    # Calls about one id.

    def shard_of(self, id: Hashable) -> int:
        """Return which of the shards, from 0, has the decisions of an id."""
        return shard_of(as_id(id), len(self._shards))

    def _at(self, id: Hashable) -> tuple[int, LabelJoin]:
        k = self.shard_of(id)
        return k, self._shards[k]

    @property
    def lanes(self) -> Sequence[StoredObject]:
        return [self, *self._shards]

    def lane_of(self, id: Hashable) -> int:
        return 1 + self.shard_of(id)

    def decide(
        self,
        features: Any = None,
        id: Hashable = None,
        *,
        delay: int | None = None,
        size: float | None = None,
        at: Any = None,
    ) -> Ticket:
        if id is None:
            raise ValueError("the id of a decision names its shard, got none: give id=…, or make the join unsharded")
        return self._at(id)[1].decide(features, id, delay=delay, size=size, at=at)

    def label(self, id: Hashable, label: Any, *, key: Hashable = None, at: Any = None) -> Row | None:
        k, shard = self._at(id)
        return self._numbered(k, shard.label(id, label, key=key, at=at))

    def finish(self, id: Hashable, missing: Any = UNSAID) -> Row | None:
        k, shard = self._at(id)
        return self._numbered(k, shard.finish(id, missing))

    def expire(self, id: Hashable) -> Receipt:
        return self._at(id)[1].expire(id)

    def fate(self, id: Hashable) -> Answer:
        return self._at(id)[1].fate(id)

    def fates(self, ids: Any) -> list[Answer]:
        names = batches.as_ids(ids)
        return self._spread(names, lambda _, shard, places: shard.fates(_picked(places, names)))

    def steps(self, row: Row) -> list[float]:
        return self._at(row.id)[1].steps(row)

    def _numbered(self, k: int, row: Row | None) -> Row | None:
        """Return a row under a number that tells its shard."""
        return None if row is None else row._replace(number=row.number * len(self._shards) + k)

    # Batches, a transaction for each shard.

    def decide_many(
        self,
        features: Any,
        *,
        ids: Iterable[Any] | None = None,
        delays: Iterable[Any] | None = None,
        sizes: Iterable[Any] | None = None,
        at: Any = None,
    ) -> list[Ticket]:
        rows, names = batches.decisions_of(features, ids)
        if any(name is None for name in names):
            raise ValueError("the ids of decisions name their shards, and some have none: give ids=…")
        nothing = [None] * len(rows)
        waits = nothing if delays is None else batches.as_list(delays, "delays")
        listed = nothing if sizes is None else batches.as_list(sizes, "sizes")
        first, moments = self._shards[0], self._moments_of(at, len(rows))
        named = first._tracker.check_many(names, delays=waits, sizes=listed)
        check_features(rows, first._tracker.items.pack)

        def work(_: int, shard: LabelJoin, places: list[int]) -> list[Ticket]:
            part = partial(_picked, places)
            rest = {"delays": part(waits), "sizes": part(listed), "at": moments(places)}
            return shard.decide_many(part(rows), ids=part(named), **rest)

        return self._spread(named, work)

    def _moments_of(self, at: Any, count: int) -> Callable[[list[int]], Any]:
        """Return a function that gives the moments of some events, as they were said, once all were looked at."""
        if at is not None:
            self._shards[0]._moments(at, count)
        if isinstance(at, str) or not hasattr(at, "__iter__"):
            return lambda _: at
        listed = batches.as_list(at, "moments")
        return lambda places: _picked(places, listed)

    def label_many(
        self, ids: Any, labels: Iterable[Any] | None = None, *, keys: Iterable[Any] | None = None, at: Any = None
    ) -> list[Outcome]:
        names, values, marks, at = batches.labels_of(ids, labels, keys, at)
        for pair in zip(names, values, strict=True):
            self._shards[0]._checked(*pair)
        moments = self._moments_of(at, len(names))

        def work(k: int, shard: LabelJoin, places: list[int]) -> list[Outcome]:
            part = partial(_picked, places)
            told = shard.label_many(part(names), part(values), keys=part(marks), at=moments(places))
            return self._outcomes(k, told)

        return self._spread(names, work)

    def finish_many(self, ids: Any, missing: Any = UNSAID) -> list[Outcome]:
        names = batches.as_ids(ids)
        return self._spread(
            names, lambda k, shard, places: self._outcomes(k, shard.finish_many(_picked(places, names), missing))
        )

    def _outcomes(self, k: int, told: list[Outcome]) -> list[Outcome]:
        return [outcome._replace(row=self._numbered(k, outcome.row)) for outcome in told]

    def expire_many(self, ids: Any) -> Receipts:
        names = batches.as_ids(ids)

        def work(_: int, shard: LabelJoin, places: list[int]) -> list[Receipt]:
            told = shard.expire_many(_picked(places, names))
            return [Receipt(*one) for one in zip(told.statuses, told.weights.tolist(), strict=True)]

        return receipts_of(names, self._spread(names, work))

    def _spread(self, names: list[Hashable], work: Callable[[int, LabelJoin, list[int]], list[T]]) -> list[T]:
        """Return what work on each shard's part of a batch gives, in the order of the batch."""
        places: dict[int, list[int]] = {}
        for i, name in enumerate(names):
            places.setdefault(self.shard_of(name), []).append(i)
        found = self._all([partial(work, k, self._shards[k], listed) for k, listed in places.items()])
        order = [i for listed in places.values() for i in listed]
        told = dict(zip(order, (one for part in found for one in part), strict=True))
        return [told[i] for i in range(len(names))]

    def _all(self, calls: Sequence[Callable[[], T]]) -> list[T]:
        """Return what calls on different shards return; they wait for the disk side by side."""
        if len(calls) > 1 and self._is_waiting:
            with ThreadPoolExecutor(min(len(calls), AT_ONCE)) as pool:
                found = list(pool.map(outcome_of, calls))
        else:
            found = [outcome_of(call) for call in calls]
        failed = [one for one in found if isinstance(one, Exception)]
        if not failed:
            return cast(list[T], found)
        unknown = [one for one in failed if isinstance(one, Uncertain)]
        if len(failed) < len(found) and all(isinstance(one, StoreError) for one in failed):
            # Not to be made again by whoever hands out rows: those of the others would be missed.
            raise Uncertain(
                f"{failed[0]}. That was {len(failed)} of {len(found)} shards, and the others have done their part: "
                "call again, which ids and keys make safe; rows that they gave out are in an outbox, if there is one"
            ) from failed[0]
        raise (unknown or failed)[0]

    def together(self, calls: Sequence[Callable[[], T]]) -> list[T | Exception]:
        """Make calls one after the other, each in its own transaction; return the result or exception of each."""
        return [outcome_of(call) for call in calls]

    # Windows and the outbox.

    def due(self, now: Any = None) -> list[Hashable]:
        return [id for part in self._all([partial(shard.due, now) for shard in self._shards]) for id in part]

    def next_due(self) -> float | None:
        ends = self._all([shard.next_due for shard in self._shards])
        return min((end for end in ends if end is not None), default=None)

    def advance(self, now: Any = None, limit: int | None = None) -> list[Row]:
        if limit is None:
            return self._rows_of(self._all([partial(shard.advance, now) for shard in self._shards]))
        rows: list[Row] = []
        for k, shard in enumerate(self._shards):
            rows += [cast(Row, self._numbered(k, row)) for row in shard.advance(now, limit - len(rows))]
        return rows

    def _rows_of(self, found: Sequence[Sequence[Row]]) -> list[Row]:
        return [cast(Row, self._numbered(k, row)) for k, part in enumerate(found) for row in part]

    def rows(self, after: int | Iterable[int] | None = None, limit: int | None = None) -> list[Row]:
        most = None if limit is None else as_int(limit, "limit")
        last = self._by_shard(outbox.row_numbers(after, "after"))
        try:
            found = self._all([partial(shard.rows, last.get(k), most) for k, shard in enumerate(self._shards)])
        except ValueError as error:  # which speaks of a shard's own count
            raise ValueError(
                f"after={after!r} is before rows that were acknowledged, or after all that were given out: give the "
                "numbers of your last rows, one of each shard, or nothing, for all that are not acknowledged"
            ) from error
        return sorted(self._rows_of(found), key=lambda row: row.number)[:most]

    def ack(self, number: int | Iterable[int]) -> int:
        last = self._by_shard(outbox.row_numbers(number, "number"))
        self._shards[0]._check_outbox()
        given = self._look(lambda tracker: tracker.slots.given)
        for k, own in last.items():
            if own > given[k]:
                asked = own * len(given) + k
                raise ValueError(
                    f"row {asked} was not given out yet, so none was acknowledged: acknowledge those you have"
                )
        self._all([partial(self._shards[k].ack, own) for k, own in last.items()])
        return sum(self._look(outbox.left))

    def _by_shard(self, numbers: Iterable[int]) -> dict[int, int]:
        """Return the largest of the rows' numbers in each shard, as the shard counts them."""
        count = len(self._shards)
        return {number % count: number // count for number in sorted(numbers)}

    def stream(self, *_: Any, **__: Any) -> Iterator[Row]:
        raise ValueError("a log has one order of time, and shards have none in common: use a join without shards")

    # All shards taken together.

    def _look(self, work: Callable[..., T]) -> list[T]:
        return self._all([partial(shard._turns.look, work, shard._tracker) for shard in self._shards])

    def _books(self) -> tuple[Books, list[Books]]:
        """Return the books of all shards together, and of each; shards are looked at one after the other."""
        parts = self._look(books_of)
        return merged(parts, self._register.configuration), parts

    def status(self) -> Status:
        whole, parts = self._books()
        loads = tuple(_load(part) for part in parts)
        slots = None if any(load.capacity is None for load in loads) else sum(load.capacity or 0 for load in loads)
        return status_from(whole)._replace(shards=loads, capacity=slots, is_numbered=False)

    def estimate(self, level: float = 0.95, *, low: float = 0.0, high: float = 1.0, among: str = ALL) -> Estimate:
        return estimate_of(self._books()[0], level, low, high, among)

    def ledger(self, last: int = 0) -> dict[str, Any]:
        """Return rounds by fate and their sum; under ``last``, so many of each shard, which are told by ``shard``."""
        most = as_int(last, "last")
        parts = self._look(partial(ledger_of, last=most))
        fates = {name: sum(part["fates"][name] for part in parts) for name in parts[0]["fates"]}
        told: dict[str, Any] = {"rounds": sum(part["rounds"] for part in parts), "fates": fates}
        told["sum"] = sum(fates.values())
        if most:
            told["last"] = [{"shard": k, **line} for k, part in enumerate(parts) for line in part["last"]]
        return told

    def export(self, *, payloads: bool = False, after: int = 0, limit: int | None = None) -> dict[str, Any]:
        if after or limit == 0:  # rounds of several shards have the same numbers, so all of them come at once
            return self.export(payloads=payloads) | {"tracked": []}
        parts = self._all([partial(shard.export, payloads=payloads) for shard in self._shards])
        status = self.status()._asdict().items()
        configuration = json.loads(encode(self._register.read()))
        del configuration["seed"]
        return {
            "version": __version__,
            "configuration": configuration,
            "is_numbered": False,
            "status": {name: part._asdict() if hasattr(part, "_asdict") else part for name, part in status},
            "tracked": [{"shard": k, **one} for k, part in enumerate(parts) for one in part["tracked"]],
        }

    def tracked(self) -> list[Waiting]:
        found = self._all([shard.tracked for shard in self._shards])
        return sorted((one for part in found for one in part), key=lambda one: one.round)

    @property
    def capacity(self) -> int | None:
        parts = [shard.capacity for shard in self._shards]
        return None if None in parts else sum(cast(list[int], parts))

    @property
    def is_numbered(self) -> bool:
        return False

    # Changes of capacity, under the lock of the record.

    def resize(self, *, capacity: int | None = UNSAID, memory: int = UNSAID, window: Any = UNSAID) -> list[Hashable]:
        first, changes, options = self._shards[0], dict[str, Any](), dict[str, Any]()
        is_nothing = capacity is UNSAID and memory is UNSAID and window is UNSAID
        if is_nothing or (window is not UNSAID and not first._window):
            return first.resize(window=window)  # which says what is wrong
        if memory is not UNSAID:
            changes["memory"] = as_int(memory, "memory", 1)
        if window is not UNSAID:
            options[WINDOW] = as_length(window, WINDOW) / PER_SECOND
        if capacity is not UNSAID:
            check_capacity(capacity, len(self._shards))
            changes["capacity"] = capacity

        def work(was: Configuration) -> tuple[Configuration, list[Hashable] | None]:
            wanted = settled(was._replace(**changes, options=was.options | options))
            if _size(wanted.capacity) > _size(was.capacity):  # it is said before any shard grows
                return was._replace(capacity=wanted.capacity), None
            others = {} if memory is UNSAID else {"memory": part_of(wanted, 0).memory}
            now = self._look(lambda tracker: tracker.configuration.capacity)
            is_whole = capacity is UNSAID or sum(map(_size, now)) == _size(wanted.capacity)
            loads = [1.0 if part is None else float(part) for part in now]
            parts = now if is_whole else divided(wanted.capacity, loads)
            return wanted, self._reshape(now, parts, options, others)

        # Whoever has said a smaller one in between is overruled.
        while (released := self._register.change(work)) is None:
            pass
        return released

    def rebalance(self) -> list[Hashable]:
        """Divide the capacity among shards so that sums vary least; return the ids that lost their slots.

        A shard's share is as √(decisions so far × weight held), the weight being what its pending decisions come to,
        and no more than it holds while others lack. Slots go by VarOpt's own step, as in :meth:`resize`, and shrink
        before others grow. Shards within 5 % of their shares stay.
        """

        def work(was: Configuration) -> tuple[Configuration, list[Hashable]]:
            parts = self._look(books_of)
            now = [part.configuration.capacity for part in parts]
            if was.capacity is None:
                return was, []
            decided = [1.0 + part.sizes.get("total", float(part.rounds)) for part in parts]
            held = [1.0 + (part.held if part.held >= 0 else part.tracked) for part in parts]
            wanted = shares_by_load(was.capacity, decided, held)
            is_close = all(abs(one - (has or 0)) <= max(1.0, CLOSE * one) for one, has in zip(wanted, now, strict=True))
            is_whole = sum(map(_size, now)) == was.capacity
            return was, [] if is_close and is_whole else self._reshape(now, wanted, {}, {})

        return self._register.change(work)

    def _reshape(
        self, now: Sequence[int | None], wanted: Sequence[int | None], options: dict[str, Any], others: dict[str, Any]
    ) -> list[Hashable]:
        """Bring shards to other capacities: those that shrink first, so that the sum is never above the whole.

        Each makes sure, once it is its turn, that the record's lock is still held: else somebody may divide otherwise.
        """
        released, done = list[Hashable](), 0
        sizes = list(zip(range(len(now)), now, wanted, strict=True))
        for k, has, gets in sorted(sizes, key=lambda one: _size(one[1]) <= _size(one[2])):
            changes = others if has == gets else others | {"capacity": gets}
            if not changes and not options:
                continue
            try:
                released += self._shards[k]._reconfigure(options, self._register.keep, **changes)
            except Exception as error:
                if not done:
                    raise
                lost = ", ".join(map(repr, released[:SHOWN])) + (", …" if len(released) > SHOWN else "")
                why = str(error).replace("; nothing was changed", "")  # which is so of this shard alone
                # Not to be made again unseen: these ids would be missed.
                raise Uncertain(
                    f"{done} shards were changed, which took the slots of {len(released)} decisions ({lost or 'none'}; "
                    f"fate tells of each), and shard {k} and those after it were not: {why}. All together are within "
                    "the capacity; call again, or rebalance, to give out the rest"
                ) from error
            done += 1
        return released

    # Copies.

    def copy_to(self, store: str | Store, *, name: str = MAIN, durability: str = POWER) -> Self:
        copies = self._register.copies(partial(self._look, copy_of))
        return self._imported(copies, store, name, durability, self._register.configuration.player)

    def to_bytes(self) -> bytes:
        raise ValueError("a join with shards is several, each with its bytes: make it without shards=, or use copy_to")

    @classmethod
    def from_bytes(cls, *_: Any, **__: Any) -> Self:
        raise ValueError("bytes hold one join, not one with shards: call LabelJoin.from_bytes")

    def export_lines(self) -> Iterator[dict[str, Any]]:
        for copy in self._register.copies(partial(self._look, copy_of)):
            yield from lines_of(copy)

    @classmethod
    def _imported(
        cls, copies: Sequence[Copy], store: Any, name: str, durability: str, player: Any, members: Any = None
    ) -> Self:
        register, *parts = copies
        found = register.configuration, crc32(register.configuration.encode())
        _, whole = parse(found, "what was exported", player, members)
        if whole.options.get(SHARDS) != len(parts):
            raise StoreError("this is not all of a join with shards; nothing was changed: export it again")
        checked_count(len(parts), whole, store)
        place = open_store(store, name, durability=durability)
        if place is None:
            raise ValueError("a copy goes into a durable store, got 'memory:': give postgresql://")
        made, kept = list[LabelJoin](), Register(whole, place)
        with closed_on_failure(place), kept.making(), ExitStack() as opened:
            taken = StoreError(f"{place.where} has {name!r} already, so nothing was changed: give another name")
            if place.configuration() is not None:
                raise taken
            for k, part in enumerate(parts):
                own = shard_name(name, k, len(parts))
                made.append(LabelJoin._imported_alone(part, store, own, durability, player, members))
                opened.callback(_undo, store, own)
                opened.callback(made[-1].close)
            if not kept.create():
                raise taken
            opened.pop_all()
        join = cls.__new__(cls)
        join._hold(kept, made)
        return join

    def close(self) -> None:
        for shard in self._shards:
            shard.close()
        self._register.close()


def _undo(store: str | Store, name: str) -> None:
    """Remove a shard that was made for a join which could not be; what made it fail is told, not that this did too."""
    with suppress(TarryError):
        erase(store, name)


def _load(books: Books) -> Load:
    held = nan if books.held < 0 else books.held
    return Load(books.configuration.capacity, books.tracked, books.rounds, held)


def _picked(places: list[int], values: Sequence[T]) -> list[T]:
    return [values[i] for i in places]


def _size(capacity: int | None) -> float:
    return inf if capacity is None else capacity
