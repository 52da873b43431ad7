"""A join in shards: a router over ordinary joins, each with its part of the capacity, a lock and rows of its own.

The id of a decision names its shard, by a hash that is the same everywhere. Weights of every shard are unbiased given
all that came before, and shards draw independently: so sums over all of them are unbiased too, and variances add.

Shard k of a join called ``clicks`` is an ordinary join called ``clicks#k``. The capacity is the sum of theirs: whoever
changes it shrinks shards before others grow, and should be the only one who does so at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from hashlib import blake2b
from math import inf, nan, sqrt
from typing import Any, Self, TypeVar, cast

from tarry._version import __version__
from tarry.checks import as_int
from tarry.errors import StoreError, Uncertain
from tarry.kernel import make_seed
from tarry.live import batches, outbox
from tarry.live.base import check_no_shards, erase, make_or_open
from tarry.live.batches import Receipt, Receipts, receipts_of
from tarry.live.books import Books, books_of, merged
from tarry.live.configuration import JOIN, SHARD, Configuration, check_same, plain_configuration, settled
from tarry.live.encoding import as_id
from tarry.live.label_join import LabelJoin, Ticket
from tarry.live.labels import UNSAID
from tarry.live.logs import check_features
from tarry.live.outbox import Row
from tarry.live.rules import Outcome
from tarry.live.status import ALL, PER_SIZE, Estimate, Load, Status, Waiting, estimate_of, ledger_of, status_from
from tarry.live.stores import MAIN, POWER, Store, is_postgres, shard_name
from tarry.live.turns import outcome_of
from tarry.live.windows import configuration_of
from tarry.outcomes import Answer, html_facts
from tarry.times import Micros

T = TypeVar("T")
AT_ONCE = 16  # transactions of a call: as many as a process has connections
MOST = 4096  # shards: each has state and a place in the store of its own
SHOWN = 20  # ids in a sentence
CLOSE = 0.05  # of its capacity: a shard that is as near to its share keeps what it has


def shard_of(id: Hashable, shards: int) -> int:
    """Return the shard of an id: the same in every process, and for every version.

    >>> shard_of("order-7", 16), shard_of(7, 16), shard_of(b"7", 16)
    (12, 14, 0)
    """
    kind = b"b" if isinstance(id, bytes) else b"i" if isinstance(id, int) else b"s"
    data = id if isinstance(id, bytes) else str(id).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8, person=kind).digest(), "little") % shards


def shares(capacity: int, loads: Sequence[float]) -> list[int]:
    """Return a capacity divided by loads, to the nearest whole numbers that sum to it, none below 1.

    >>> shares(10, [1.0, 1.0, 1.0]), shares(10, [8.0, 1.0, 0.0])
    ([4, 3, 3], [7, 2, 1])
    """
    total, spare = sum(loads), capacity - len(loads)
    exact = [spare * load / total if total > 0 else spare / len(loads) for load in loads]
    parts = [int(part) for part in exact]
    most_left = sorted(range(len(loads)), key=lambda k: parts[k] - exact[k])
    for k in most_left[: spare - sum(parts)]:
        parts[k] += 1
    return [part + 1 for part in parts]


def shares_by_load(capacity: int, decisions: Sequence[float], backlogs: Sequence[float]) -> list[int]:
    """Return a capacity divided so that sums over shards vary least: Σ p_k (B_k/C_k − 1)⁺, of decisions and backlogs.

    That is at C_k ∝ √(p_k B_k), but for shards that need no more than C_k = B_k. What nobody needs goes by backlogs.

    >>> shares_by_load(100, [0.1, 0.9], [900.0, 100.0]), shares_by_load(100, [0.5, 0.5], [900.0, 100.0])
    ([50, 50], [75, 25])
    >>> shares_by_load(100, [0.1, 0.9], [900.0, 10.0]), shares_by_load(1000, [0.1, 0.9], [450.0, 50.0])
    ([89, 11], [899, 101])
    """
    loads = [sqrt(p * b) for p, b in zip(decisions, backlogs, strict=True)]
    exact, short = list(backlogs), {k for k, load in enumerate(loads) if load > 0}
    while short:
        left = capacity - sum(exact[k] for k in range(len(exact)) if k not in short)
        each = left / sum(loads[k] for k in short)
        full = {k for k in short if each * loads[k] >= backlogs[k]}
        if not full:
            exact = [each * loads[k] if k in short else b for k, b in enumerate(backlogs)]
            break
        short -= full
    return shares(capacity, exact)


class ShardedJoin:
    """A join in shards, with the calls of :class:`LabelJoin`; ``LabelJoin(capacity, shards=16)`` makes it.

    A call about one id is one transaction of its shard. A batch is one transaction for each shard that it meets, all at
    once; whatever is malformed is refused before the first. Capacity and ``memory`` are divided among the shards.
    ``Row.relative`` and :meth:`steps` are by the rows of the row's own shard; rows, ids and rounds of several
    shards come in the order of the shards' own numbers.

    >>> join = LabelJoin(capacity=8, shards=4, rng=1)
    >>> rows = [join.decide({"age": 41}, id=f"visit-{i}").id for i in range(100)]
    >>> sum(row.weight for id in rows if (row := join.label(id, 1)))
    100.0
    """

    _kind = JOIN
    is_numbered = False

    def __init__(self, shards: Sequence[LabelJoin], *, is_waiting: bool) -> None:
        self._shards, self._is_waiting = list(shards), is_waiting  # for a disk: then threads wait side by side
        for shard in self._shards:
            shard._clock = self._shards[0]._clock

    @classmethod
    def make(
        cls,
        capacity: int | None,
        *,
        shards: int,
        store: str | Store = "memory:",
        name: str = MAIN,
        durability: str = POWER,
        patience: float = 0.0,
        rng: Any = None,
        **rules: Any,
    ) -> Self:
        """Return a join in shards, made or continued. The first shard is made last: whoever finds it finds all."""
        whole = settled(configuration_of(capacity, **rules))
        count, seed = checked_count(shards, whole, store), make_seed(rng)
        options = whole.options
        parts = [
            whole._replace(capacity=part, memory=-(-whole.memory // count), options=options | {SHARD: f"{k}/{count}"})
            for k, part in enumerate(_divided(whole.capacity, [1.0] * count))
        ]
        check_no_shards(store, name, durability, count)
        opened: dict[int, LabelJoin] = {}
        with ExitStack() as made:
            for k in reversed(range(count)):
                own = None if rng is None else _seed_of(seed, k)
                turns = make_or_open(
                    parts[k],
                    own,
                    store=store,
                    name=shard_name(name, k),
                    durability=durability,
                    patience=patience,
                    but=("capacity",),
                )
                opened[k] = LabelJoin._of(turns)
                if getattr(turns, "is_new", False):
                    made.callback(erase, store, shard_name(name, k))
                made.callback(opened[k].close)
            join = cls([opened[k] for k in range(count)], is_waiting=store != "memory:")
            stored = plain_configuration(parts[0]) | {"capacity": join.capacity}
            check_same(stored, parts[0]._replace(capacity=whole.capacity), with_seed=False)
            made.pop_all()
        return join

    @classmethod
    def open(cls, store: str | Store, *, name: str = MAIN, **how: Any) -> Self:
        """Continue what is in a store."""
        with ExitStack() as opened:
            shards = [LabelJoin._open_alone(store, name=shard_name(name, 0), **how)]
            opened.callback(shards[0].close)
            count = int(shards[0]._tracker.configuration.options[SHARD].partition("/")[2])
            for k in range(1, count):
                try:
                    shards.append(LabelJoin._open_alone(store, name=shard_name(name, k), **how))
                except StoreError as error:
                    raise StoreError(f"shard {k} of {name!r} cannot be opened: {error}") from error
                opened.callback(shards[-1].close)
            opened.pop_all()
        return cls(shards, is_waiting=True)

    # Calls about one id.

    def shard_of(self, id: Hashable) -> int:
        """Return which of the shards, from 0, has the decisions of an id."""
        return shard_of(as_id(id), len(self._shards))

    def _at(self, id: Hashable) -> tuple[int, LabelJoin]:
        k = self.shard_of(id)
        return k, self._shards[k]

    @property
    def lanes(self) -> Sequence[Any]:
        """What can make calls side by side: this object for those about several ids, and each shard."""
        return [self, *self._shards]

    def lane_of(self, id: Hashable) -> int:
        """Return the place among the lanes of the one that has an id's rounds."""
        return 1 + self.shard_of(id)

    def decide(self, features: Any = None, id: Hashable = None, **rest: Any) -> Ticket:
        """Register a decision, which needs an id."""
        if id is None:
            raise ValueError("the id of a decision names its shard, got none: give id=…, or make the join unsharded")
        return self._at(id)[1].decide(features, id, **rest)

    def label(self, id: Hashable, label: Any, *, key: Hashable = None, at: Any = None) -> Row | None:
        """Return the decision's row with its weight, or None if it is not tracked."""
        k, shard = self._at(id)
        return self._numbered(k, shard.label(id, label, key=key, at=at))

    def finish(self, id: Hashable, missing: Any = UNSAID) -> Row | None:
        """End the window of a decision now."""
        k, shard = self._at(id)
        return self._numbered(k, shard.finish(id, missing))

    def expire(self, id: Hashable) -> Receipt:
        """Say that no label will come."""
        return self._at(id)[1].expire(id)

    def fate(self, id: Hashable) -> Answer:
        """Return what became of a decision."""
        return self._at(id)[1].fate(id)

    def fates(self, ids: Any) -> list[Answer]:
        """Return what became of several decisions."""
        names = batches.as_ids(ids)
        return self._spread(names, lambda _, shard, places: shard.fates(_picked(places, names)))

    def steps(self, row: Row) -> list[float]:
        """Return the weights with which to tell a row to a model that takes steps."""
        return self._at(row.id)[1].steps(row)

    def _numbered(self, k: int, row: Row | None) -> Row | None:
        """Return a row under a number that tells its shard."""
        return None if row is None else row._replace(number=row.number * len(self._shards) + k)

    # Batches, a transaction for each shard.

    def decide_many(
        self, features: Any, *, ids: Any = None, delays: Any = None, sizes: Any = None, at: Any = None
    ) -> list[Ticket]:
        """Register several decisions."""
        rows, names = batches.decisions_of(features, ids)
        if any(name is None for name in names):
            raise ValueError("the ids of decisions name their shards, and some have none: give ids=…")
        nothing = [None] * len(rows)
        waits = nothing if delays is None else batches.as_list(delays, "delays")
        listed = nothing if sizes is None else batches.as_list(sizes, "sizes")
        first, moments = self._shards[0], self._moments_of(at, len(rows))
        named = first._tracker.check_many(names, delays=waits, sizes=listed)
        check_features(rows, first._tracker.pack)

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

    def label_many(self, ids: Any, labels: Any = None, *, keys: Any = None, at: Any = None) -> list[Outcome]:
        """Return what several labels have made of their decisions."""
        names, values, marks, at = batches.labels_of(ids, labels, keys, at)
        for pair in zip(names, values, strict=True):
            self._shards[0]._checked(*pair)
        moments = self._moments_of(at, len(names))

        def work(k: int, shard: LabelJoin, places: list[int]) -> list[Outcome]:
            part = partial(_picked, places)
            return self._outcomes(k, shard.label_many(part(names), part(values), keys=part(marks), at=moments(places)))

        return self._spread(names, work)

    def finish_many(self, ids: Any, missing: Any = UNSAID) -> list[Outcome]:
        """End the windows of several decisions."""
        names = batches.as_ids(ids)
        return self._spread(
            names, lambda k, shard, places: self._outcomes(k, shard.finish_many(_picked(places, names), missing))
        )

    def _outcomes(self, k: int, outcomes: list[Outcome]) -> list[Outcome]:
        return [outcome._replace(row=self._numbered(k, outcome.row)) for outcome in outcomes]

    def expire_many(self, ids: Any) -> Receipts:
        """Say of several decisions that no label will come."""
        names = batches.as_ids(ids)

        def work(_: int, shard: LabelJoin, places: list[int]) -> list[Receipt]:
            receipts = shard.expire_many(_picked(places, names))
            return [Receipt(*pair) for pair in zip(receipts.statuses, receipts.weights.tolist(), strict=True)]

        return receipts_of(names, self._spread(names, work))

    def _spread(self, names: list[Hashable], work: Callable[[int, LabelJoin, list[int]], list[T]]) -> list[T]:
        """Return what work on each shard's part of a batch gives, in the order of the batch."""
        places: dict[int, list[int]] = {}
        for i, name in enumerate(names):
            places.setdefault(self.shard_of(name), []).append(i)
        parts = self._all([partial(work, k, self._shards[k], listed) for k, listed in places.items()])
        order = [i for listed in places.values() for i in listed]
        answers = dict(zip(order, (answer for part in parts for answer in part), strict=True))
        return [answers[i] for i in range(len(names))]

    def _all(self, calls: Sequence[Callable[[], T]]) -> list[T]:
        """Return what calls on different shards return; they wait for the disk side by side."""
        if len(calls) > 1 and self._is_waiting:
            with ThreadPoolExecutor(min(len(calls), AT_ONCE)) as pool:
                results = list(pool.map(outcome_of, calls))
        else:
            results = [outcome_of(call) for call in calls]
        failed = [result for result in results if isinstance(result, Exception)]
        if not failed:
            return cast(list[T], results)
        unknown = [error for error in failed if isinstance(error, Uncertain)]
        if len(failed) < len(results) and all(isinstance(error, StoreError) for error in failed):
            # Not to be made again by whoever hands out rows: those of the others would be missed.
            raise Uncertain(
                f"{failed[0]}. That was {len(failed)} of {len(results)} shards, and the others have done their part: "
                "call again, which ids and keys make safe; rows that they gave out are in an outbox, if there is one"
            ) from failed[0]
        raise (unknown or failed)[0]

    def together(self, calls: Sequence[Callable[[], T]]) -> list[T | Exception]:
        """Make calls one after the other, each in its own transaction; return the result or exception of each."""
        return [outcome_of(call) for call in calls]

    # Windows and the outbox.

    def due(self, now: Any = None) -> list[Hashable]:
        """Return the ids of tracked decisions whose windows have ended."""
        return [id for part in self._all([partial(shard.due, now) for shard in self._shards]) for id in part]

    def next_due(self) -> float | None:
        """Return when the next window ends, in seconds."""
        ends = self._all([shard.next_due for shard in self._shards])
        return min((end for end in ends if end is not None), default=None)

    def advance(self, now: Any = None, limit: int | None = None) -> list[Row]:
        """Return the rows of tracked decisions whose windows have ended, at most ``limit``.

        They come one shard after the other, in each in the order in which windows ended. Shards after the one that
        fills the limit are not asked: calls until no rows come reach all.
        """
        if limit is None:
            return self._rows_of(self._all([partial(shard.advance, now) for shard in self._shards]))
        most, moment, rows = as_int(limit, "limit"), self._shards[0]._moment(now, "now"), list[Row]()
        for k, shard in enumerate(self._shards):
            if len(rows) == most:
                break
            rows += [cast(Row, self._numbered(k, row)) for row in shard.advance(Micros(moment), most - len(rows))]
        return rows

    def _rows_of(self, parts: Sequence[Sequence[Row]]) -> list[Row]:
        return [cast(Row, self._numbered(k, row)) for k, part in enumerate(parts) for row in part]

    def rows(self, after: int | Iterable[int] | None = None, limit: int | None = None) -> list[Row]:
        """Return the rows given out and not acknowledged; numbers count in each shard, so ``after`` may be several."""
        most = None if limit is None else as_int(limit, "limit")
        last = self._by_shard(outbox.row_numbers(after, "after"))
        try:
            parts = self._all([partial(shard.rows, last.get(k), most) for k, shard in enumerate(self._shards)])
        except ValueError as error:  # which speaks of a shard's own count
            raise ValueError(
                f"after={after!r} is before rows that were acknowledged, or after all that were given out: give the "
                "numbers of your last rows, one of each shard, or nothing, for all that are not acknowledged"
            ) from error
        return sorted(self._rows_of(parts), key=lambda row: row.number)[:most]

    def ack(self, number: int | Iterable[int]) -> int:
        """Let go of all rows of a number's shard up to it, for each of the numbers; return how many are left."""
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
        return sum(self._look(lambda tracker: tracker.left))

    def _by_shard(self, numbers: Iterable[int]) -> dict[int, int]:
        """Return the largest of the rows' numbers in each shard, as the shard counts them."""
        count = len(self._shards)
        return {number % count: number // count for number in sorted(numbers)}

    def stream(self, *_: Any, **__: Any) -> Iterator[Row]:
        """Refuse: a log has one order of time."""
        raise ValueError("a log has one order of time, and shards have none in common: use a join without shards")

    # All shards taken together.

    def _look(self, work: Callable[..., T]) -> list[T]:
        return self._all([partial(shard._turns.look, work, shard._tracker) for shard in self._shards])

    def _books(self) -> tuple[Books, list[Books]]:
        """Return the books of all shards together, and of each; shards are looked at one after the other."""
        parts = self._look(books_of)
        whole = parts[0].configuration
        sizes = [part.configuration.capacity for part in parts]
        capacity = None if None in sizes else sum(cast(list[int], sizes))
        return merged(parts, whole._replace(capacity=capacity)), parts

    def status(self) -> Status:
        """Return the status of all shards together, and the load of each."""
        whole, parts = self._books()
        return status_from(whole)._replace(shards=tuple(_load(part) for part in parts), is_numbered=False)

    def estimate(
        self,
        level: float = 0.95,
        *,
        low: float = 0.0,
        high: float = 1.0,
        among: str = ALL,
        per: str = PER_SIZE,
    ) -> Estimate:
        """Return the mean label of all decisions so far, with confidence intervals."""
        return estimate_of(self._books()[0], level, low, high, among, per)

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
        """Return configuration, status and tracked rounds as plain values, all of them at once."""
        if after or limit == 0:  # rounds of several shards have the same numbers
            return self.export(payloads=payloads) | {"tracked": []}
        parts = self._all([partial(shard.export, payloads=payloads) for shard in self._shards])
        status = self.status()
        return {
            "version": __version__,
            "configuration": parts[0]["configuration"] | {"capacity": status.capacity},
            "is_numbered": False,
            "status": {
                name: part._asdict() if hasattr(part, "_asdict") else part for name, part in status._asdict().items()
            },
            "tracked": [{"shard": k, **one} for k, part in enumerate(parts) for one in part["tracked"]],
        }

    def tracked(self) -> list[Waiting]:
        """Return the tracked rounds of all shards."""
        parts = self._all([shard.tracked for shard in self._shards])
        return sorted((waiting for part in parts for waiting in part), key=lambda waiting: waiting.round)

    @property
    def capacity(self) -> int | None:
        """How many rounds may be tracked at once; None for no limit."""
        parts = [shard.capacity for shard in self._shards]
        return None if None in parts else sum(cast(list[int], parts))

    # Changes of capacity.

    def resize(self, *, capacity: int | None = UNSAID, memory: int = UNSAID, window: Any = UNSAID) -> list[Hashable]:
        """Change the capacity, memory or window of all shards; return the ids that lost slots."""
        first, changes = self._shards[0], dict[str, Any]()
        is_nothing = capacity is UNSAID and memory is UNSAID and window is UNSAID
        if is_nothing or (window is not UNSAID and not first._window):
            return first.resize(window=window)  # which says what is wrong
        if memory is not UNSAID:
            changes["memory"] = -(-as_int(memory, "memory", 1) // len(self._shards))
        if window is not UNSAID:
            changes["window"] = window
        now = [shard.capacity for shard in self._shards]
        wanted = now
        if capacity is not UNSAID:
            _check_capacity(capacity, len(now))
            if sum(map(_size, now)) != _size(capacity):
                wanted = list(_divided(capacity, [1.0 if part is None else float(part) for part in now]))
        return self._reshape(now, wanted, changes)

    def rebalance(self) -> list[Hashable]:
        """Divide the capacity among shards so that sums vary least; return the ids that lost their slots.

        A shard's share is as √(decisions so far × weight held), the weight being what its pending decisions come to,
        and no more than it holds while others lack. Slots go by VarOpt's own step, as in :meth:`resize`, and shrink
        before others grow. Shards within 5 % of their shares stay.
        """
        whole, parts = self._books()
        now, capacity = [part.configuration.capacity for part in parts], whole.configuration.capacity
        if capacity is None:
            return []
        decided = [1.0 + part.sizes.get("total", float(part.rounds)) for part in parts]
        held = [1.0 + (part.held if part.held >= 0 else part.tracked) for part in parts]
        wanted = shares_by_load(capacity, decided, held)
        is_close = all(
            abs(share - (has or 0)) <= max(1.0, CLOSE * share) for share, has in zip(wanted, now, strict=True)
        )
        return [] if is_close else self._reshape(now, wanted, {})

    def _reshape(
        self, now: Sequence[int | None], wanted: Sequence[int | None], changes: dict[str, Any]
    ) -> list[Hashable]:
        """Bring shards to other capacities: those that shrink first, so that the sum is never above the whole."""
        released, done = list[Hashable](), 0
        sizes = list(zip(self._shards, now, wanted, strict=True))
        for shard, has, gets in sorted(sizes, key=lambda one: _size(one[1]) <= _size(one[2])):
            own = changes if has == gets else changes | {"capacity": gets}
            if not own:
                continue
            try:
                released += shard.resize(**own)
            except Exception as error:
                if not done:
                    raise
                lost = ", ".join(map(repr, released[:SHOWN])) + (", …" if len(released) > SHOWN else "")
                why = str(error).replace("; nothing was changed", "")  # which is so of this shard alone
                # Not to be made again unseen: these ids would be missed.
                raise Uncertain(
                    f"{done} shards were changed, which took the slots of {len(released)} decisions ({lost or 'none'}; "
                    f"fate tells of each), and the others were not: {why}. All together are within the capacity: "
                    "resize gives out the rest"
                ) from error
            done += 1
        return released

    # Copies.

    def copy_to(self, store: str | Store, *, name: str = MAIN, durability: str = POWER) -> Self:
        """Return a copy in another store: each shard as it is when its turn comes."""
        checked_count(len(self._shards), self._shards[0]._tracker.configuration, store)
        with ExitStack() as made:
            copies: list[LabelJoin] = []
            for k, shard in reversed(list(enumerate(self._shards))):
                copies.append(shard.copy_to(store, name=shard_name(name, k), durability=durability))
                made.callback(copies[-1].close)
            made.pop_all()
        return type(self)(copies[::-1], is_waiting=True)

    def to_bytes(self) -> bytes:
        """Refuse: a join with shards is several."""
        raise ValueError("a join with shards is several, each with its bytes: make it without shards=, or use copy_to")

    def journal(self, after: int = 0) -> Iterator[dict[str, Any]]:
        """Yield what the calls of each shard have done, one shard after the other."""
        for k, shard in enumerate(self._shards):
            yield from ({"shard": k} | line for line in shard.journal(after))

    def vacuum(self) -> None:
        """Leave a snapshot of each shard now."""
        self._all([shard.vacuum for shard in self._shards])

    def close(self) -> None:
        """Let go of the store."""
        for shard in self._shards:
            shard.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        status = self.status()
        counts = f"{status.rounds} decisions, {status.pending} pending, {status.tracked} tracked of {status.capacity}"
        return f"ShardedJoin({counts}, in {len(self._shards)} shards)"

    def _repr_html_(self) -> str:
        return html_facts("ShardedJoin", self.status().rows())


def checked_count(shards: Any, whole: Configuration, store: Any) -> int:
    """Return how many shards a join has; raise ValueError where it cannot have them."""
    count = as_int(shards, "shards", 1)
    if count > MOST:
        raise ValueError(f"shards must be at most {MOST}, got {count}: a few for each core of the database are enough")
    if not (store == "memory:" or (isinstance(store, str) and is_postgres(store))):
        raise ValueError(
            f"shards need a lock each, and a SQLite file, or a store of one's own, has one, got shards={count}: "
            "use a postgresql:// store, or leave shards out"
        )
    if whole.information != "non-clairvoyant":
        raise ValueError(
            f"delays count decisions, of which each shard has its own, so a join with shards is non-clairvoyant, got "
            f"information={whole.information!r}: leave it out"
        )
    _check_capacity(whole.capacity, count)
    return count


def _check_capacity(capacity: int | None, shards: int) -> None:
    if capacity is not None and as_int(capacity, "capacity", 1) < shards:
        raise ValueError(f"capacity must be at least one slot for each of {shards} shards, got {capacity}")


def _divided(capacity: int | None, loads: Sequence[float]) -> Sequence[int | None]:
    return [None] * len(loads) if capacity is None else shares(capacity, loads)


def _seed_of(seed: int, k: int) -> int:
    """Return a seed for a shard: with a common one, shards would make the same draws in the same rounds."""
    return int.from_bytes(blake2b(f"{seed}/{k}".encode(), digest_size=8).digest(), "little")


def _load(books: Books) -> Load:
    held = nan if books.held < 0 else books.held
    return Load(books.configuration.capacity, books.tracked, books.rounds, held)


def _picked(places: list[int], values: Sequence[T]) -> list[T]:
    return [values[i] for i in places]


def _size(capacity: int | None) -> float:
    return inf if capacity is None else capacity
