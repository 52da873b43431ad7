"""What sessions and joins have in common: they are made or opened, asked about themselves, and closed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import signature
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Never, Self, TypeVar
from weakref import proxy

from tarry.checks import as_int, as_nonnegative
from tarry.errors import Mismatch, Missing, StoreError, TarryError
from tarry.kernel import make_seed
from tarry.kernel.keyed import make_secret
from tarry.live.batches import Receipt, Receipts, as_ids, receipts_of
from tarry.live.configuration import (
    JOIN,
    SESSION,
    SHARD,
    Configuration,
    check_same,
    parse,
    settled,
)
from tarry.live.encoding import as_id
from tarry.live.rules import Joined
from tarry.live.snapshots import Content, dump, load, read
from tarry.live.status import Status, Waiting, export_of, ledger_of, status_of, tracked_of
from tarry.live.stores import (
    MAIN,
    POWER,
    SHARD_OF,
    Snapshot,
    Store,
    is_postgres,
    open_store,
    shard_name,
    without_password,
    without_shards,
)
from tarry.live.tracker import Tracker, check_room
from tarry.live.turns import Stored, Turns, unsealed
from tarry.outcomes import Answer, html_facts
from tarry.tracking import Player

T = TypeVar("T")

_CHANGING = ("capacity", "memory", "options")  # fields of a configuration that calls may have changed


class StoredObject:
    """A session or a join: calls on a tracker, one at a time, kept in a store if there is one."""

    _kind: ClassVar[str]

    def __init_subclass__(cls) -> None:
        """Show the arguments of ``__init__`` to help and editors, since ``__new__`` takes any."""
        whole = signature(cls.__init__)
        cls.__signature__ = whole.replace(parameters=[*whole.parameters.values()][1:])  # type: ignore[attr-defined]

    @classmethod
    def _of(cls, turns: Turns) -> Self:
        """Return an object that makes its calls on the tracker of these turns."""
        made = cls.__new__(cls)
        made._take(turns)
        return made

    def _take(self, turns: Turns) -> None:
        """Begin to make calls on the tracker of these turns."""
        self._turns, self._tracker = turns, turns.tracker
        me = proxy(self)  # what is closed must be gone at once, and not wait for the garbage collector
        turns.reconfigured = lambda: me._look_up()
        self._look_up()

    def _look_up(self) -> None:
        """Look up what every call needs of the configuration, whenever there is another."""

    @classmethod
    def open(
        cls,
        store: str | Store,
        *,
        name: str = MAIN,
        player: Player | None = None,
        members: Mapping[str, type] | None = None,
        durability: str = POWER,
        patience: float = 0.0,
    ) -> Self:
        """Continue what is in a store; where parts of it are not Tarry's own, pass the same player, or their classes.

        ``members`` are classes by name, which fields are put into as they were stored.
        """
        place = open_store(store, name, durability=durability, must_exist=True)
        kind = cls._kind
        if place is None:
            remedy = "make a new one, or give the sqlite:/// or postgresql:// store that one was made with"
            raise StoreError(f"a {kind} in memory ends with its object and cannot be opened again: {remedy}")
        with closed_on_failure(place):
            found, said = place.snapshot(), without_password(store) if isinstance(store, str) else place.where
            if found is None:
                known = ", ".join(map(repr, without_shards(place.names()))) or "none"
                raise Missing(f"{said} holds no {kind} called {name!r}, only {known}")
            content = read(unsealed(found, place.where), place.where)
            stored = parse(content.configuration, player, members)
            if stored.kind != kind:
                raise Missing(f"{name!r} in {said} is a {stored.kind}, not a {kind}")
            if player is not None:
                check_same(content.configuration, stored, with_seed=False)
            turns = Stored(tracker_of(stored, is_stored=True), place, found)
            turns.patience = as_nonnegative(patience, "patience")
            return cls._of(turns)

    def expire(self, id: Hashable) -> Receipt:
        """Say that no outcome will come: the empty acknowledgement of an untracked round.

        On a *tracked* round it frees the slot and nothing is learnt, which biases: a missing outcome that means
        something must be told as a value or a label at the end of its window.
        """
        return self._turns.change(self._tracker.answer, id, None)

    def expire_many(self, ids: Any) -> Receipts:
        """Say so of several rounds (a list of ids, or a frame with a column id) in one transaction."""
        names = as_ids(ids)
        return receipts_of(names, self._turns.change(self._tracker.answer_many, names, None))

    def fate(self, id: Hashable) -> Answer:
        """Return what became of a round: a fate, or UNKNOWN, or LATE where it is forgotten."""
        return self._turns.look(self._tracker.fate, as_id(id))

    def fates(self, ids: Any) -> list[Answer]:
        """Return so of several rounds (a list of ids, or a frame with a column id), as one look finds them."""
        names = as_ids(ids)
        return self._turns.look(lambda: [self._tracker.fate(id) for id in names])

    def status(self) -> Status:
        """Return rounds, pending, tracked, fates, answers, the health of the weights, and a certificate."""
        return self._turns.look(status_of, self._tracker)

    def ledger(self, last: int = 0) -> dict[str, Any]:
        """Return rounds by fate and their sum; under ``last``, round, id, fate and whether answered, newest first."""
        return self._turns.look(ledger_of, self._tracker, as_int(last, "last"))

    def export(self, *, payloads: bool = False, after: int = 0, limit: int | None = None) -> dict[str, Any]:
        """Return configuration, status and tracked rounds as plain values; payloads by size, or as they are.

        Rounds are those ``after`` a number, and at most ``limit``. The seed stays here: who knows it knows the draws.
        """
        return self._turns.look(lambda: export_of(self._tracker, payloads, after, limit))

    def tracked(self) -> list[Waiting]:
        """Return the tracked rounds, oldest first: number, id, what each would weigh now, and the end of its window."""
        return self._turns.look(tracked_of, self._tracker)

    def together(self, calls: Sequence[Callable[[], T]]) -> list[T | Exception]:
        """Make calls of this object's own methods in one transaction; return the result or the exception of each.

        Calls are functions without arguments, made in their order by this thread. In a store they are written with
        one commit, and all are durable when this returns. A call that fails does so alone and changes nothing.

        >>> from tarry import LabelJoin
        >>> join = LabelJoin(capacity=64, rng=1)
        >>> join.together([lambda: join.decide(id="a").tracked, lambda: join.label("a", 1).weight])
        [True, 1.0]
        """
        return self._turns.together(calls)

    @property
    def lanes(self) -> Sequence[StoredObject]:
        """What can make calls side by side: this object alone, and the shards of one that has them."""
        return [self]

    def lane_of(self, id: Hashable) -> int:
        """Return the place among the lanes of the one that has an id's rounds."""
        return 0

    @property
    def capacity(self) -> int | None:
        """How many rounds may be tracked at once; None for no limit."""
        return self._turns.look(lambda: self._tracker.configuration.capacity)

    def journal(self, after: int = 0) -> Iterator[dict[str, Any]]:
        """Yield what the stored calls after an entry have done: who got a slot when, who lost it, and each weight.

        Each is an object with the entry's number, the moment it was stored (``at``), the call, ``what`` happened, and
        the id. What a snapshot has taken the place of is gone, unless the join was made with ``keep=``.
        """
        if not isinstance(self._turns, Stored):
            raise ValueError(f"a {self._kind} in memory has no journal: make it with store=")
        return self._turns.journal(as_int(after, "after"))

    def vacuum(self) -> None:
        """Leave a snapshot now: features of decisions that have lost their slots are gone from the store then."""
        if isinstance(self._turns, Stored):
            self._turns.snapshot()

    def copy_to(self, store: str | Store, *, name: str = MAIN, durability: str = POWER) -> Self:
        """Return a copy in another store, or under another name: it goes on from here as this one would, bit for bit.

        What is kept in memory becomes durable so. From then on the two know nothing of each other, so let one rest.
        In a group it has the calls before it, also where the group's own commit fails afterwards.
        """
        return type(self)._placed(self.to_bytes(), store, name, durability, self._tracker.configuration.player, None)

    def to_bytes(self) -> bytes:
        """Return everything as bytes, for :meth:`from_bytes`: what a stream engine keeps as the state of a key."""
        return self._turns.look(dump, self._tracker)

    @classmethod
    def from_bytes(
        cls, data: bytes, *, player: Player | None = None, members: Mapping[str, type] | None = None
    ) -> Self:
        """Return what :meth:`to_bytes` gave, in memory: it goes on from there, bit for bit.

        >>> from tarry import LabelJoin
        >>> join = LabelJoin(capacity=64, rng=1)
        >>> data = [join.decide({"age": 41}).id, join.to_bytes()][1]
        >>> LabelJoin.from_bytes(data).label(1, 0) == join.label(1, 0)
        True
        """
        content, configuration = cls._parsed(data, player, members)
        tracker = tracker_of(configuration)
        load(tracker, content, configuration)
        return cls._of(Turns(tracker))

    @classmethod
    def _parsed(
        cls, data: bytes, player: Player | None, members: Mapping[str, type] | None
    ) -> tuple[Content, Configuration]:
        content = read(data)
        configuration = parse(content.configuration, player, members)
        if configuration.kind != cls._kind:
            raise StoreError(f"this is a {configuration.kind}, not a {cls._kind}; nothing was changed")
        return content, configuration

    @classmethod
    def import_from(
        cls,
        file: str | PathLike[str],
        store: str | Store,
        *,
        name: str = MAIN,
        player: Player | None = None,
        members: Mapping[str, type] | None = None,
        durability: str = POWER,
    ) -> Self:
        """Return what a file with the bytes of :meth:`to_bytes` holds, made in a store: it goes on from there.

        ``player`` and ``members`` are as in :meth:`open`.
        """
        try:
            data = Path(file).read_bytes()
        except OSError as error:
            problem = f"{file} cannot be read ({error.strerror})"
            raise StoreError(f"{problem}: give a file of tarry join export --whole") from error
        return cls._placed(data, store, name, durability, player, members)

    @classmethod
    def _placed(
        cls,
        data: bytes,
        store: str | Store,
        name: str,
        durability: str,
        player: Player | None,
        members: Mapping[str, type] | None,
    ) -> Self:
        """Return what bytes hold, made in a store."""
        content, configuration = cls._parsed(data, player, members)
        place = open_store(store, name, durability=durability)
        if place is None:
            raise ValueError("a copy goes into a durable store, got 'memory:': give sqlite:/// or postgresql://")
        with closed_on_failure(place):
            tracker = tracker_of(configuration, is_stored=True)
            load(tracker, content, configuration)
            turns = Stored(tracker, place)
            if not turns.create():
                raise StoreError(
                    f"{place.where} has {name!r} already, so nothing was changed: give another name or store"
                )
            return cls._of(turns)

    @property
    def is_numbered(self) -> bool | None:
        """Whether rounds go by their numbers (True) or by the caller's ids (False); None before the first."""
        return self._turns.look(lambda: self._tracker.is_numbered)

    def close(self) -> None:
        """Let go of the store once the call of another thread has ended; later calls are told so."""
        self._turns.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce_ex__(self, protocol: Any) -> Never:
        kind = type(self).__name__
        remedy = f"keep it in a store, and where it is needed open it again, {kind}.open('sqlite:///…')"
        raise TypeError(f"a {kind} cannot be copied or pickled, for there would be two of it: {remedy}")

    def __repr__(self) -> str:
        kind, rounds = type(self).__name__, {SESSION: "rounds", JOIN: "decisions"}[self._kind]
        try:
            s = self.status()
        except TarryError as error:  # closed, or broken
            return f"{kind}({error})"
        return f"{kind}({s.rounds} {rounds}, {s.pending} pending, {s.tracked} tracked of {s.capacity})"

    def _repr_html_(self) -> str:
        return html_facts(type(self).__name__, self.status().rows())


def erase(store: str | Store, name: str = MAIN) -> None:
    """Remove a session or join from a store, for good; calls of those who have it open are told that it is gone."""
    place = open_store(store, name, must_exist=True)
    if place is None:
        return
    with closed_on_failure(place):
        shards = [own for own in place.names() if isinstance(store, str) and SHARD_OF.fullmatch(own)]
        place.remove()
    place.close()
    for own in sorted(shards):  # the first one first, so that nobody finds it
        if own.rpartition("#")[0] == name:
            erase(store, own)


def make_or_open(
    wanted: Configuration,
    rng: Any,
    *,
    store: str | Store,
    name: str,
    durability: str,
    patience: float = 0.0,
    but: Sequence[str] = (),
) -> Turns:
    """Return calls on what a store holds: continued if the same is there, ``but`` for some fields; made otherwise."""
    turns = _made_or_opened(wanted, rng, store, name, durability, but)
    turns.patience = as_nonnegative(patience, "patience")
    return turns


def _made_or_opened(
    wanted: Configuration, rng: Any, store: str | Store, name: str, durability: str, but: Sequence[str]
) -> Turns:
    wanted = settled(wanted)
    check_room(wanted)
    if SHARD_OF.fullmatch(name) and SHARD not in wanted.options:
        raise ValueError(f"name {name!r} is one of a shard: leave the # or the number out")
    if SHARD not in wanted.options:
        check_no_shards(store, name, durability)
    place = open_store(store, name, durability=durability)
    wanted = wanted._replace(seed=make_secret() if rng is None else make_seed(rng))
    if place is None:
        return Turns(tracker_of(wanted))
    with closed_on_failure(place):
        found: Snapshot | None = place.snapshot()
        if found is None:
            made = Stored(tracker_of(wanted, is_stored=True), place)
            if made.create():
                return made
            found = place.snapshot()  # somebody was faster
            assert found is not None
        content = read(unsealed(found, place.where), place.where)
        stored = parse(content.configuration, wanted.player)
        others = {field: getattr(wanted, field) for field in _CHANGING}
        check_same(content.configuration | others, wanted, with_seed=rng is not None)
        turns = Stored(tracker_of(stored, is_stored=True), place, found)
        # Calls after the snapshot may have changed it.
        now = turns.look(lambda: turns.tracker.configuration)
        changed = {field: getattr(now, field) for field in _CHANGING}
        same = {field: getattr(wanted, field) for field in but}
        check_same(content.configuration | changed | same, wanted, with_seed=rng is not None)
        return turns


def check_no_shards(store: str | Store, name: str, durability: str, count: int | None = None) -> None:
    """Refuse a join where the store holds one of this name in another number of shards; None: in any."""
    if not isinstance(store, str) or not is_postgres(store):
        return
    places = [shard_name(name, 0)] + [name] * (count is not None)
    for own in places:
        place = open_store(store, own, durability=durability)
        assert place is not None
        with closed_on_failure(place):
            found = place.snapshot()
            place.close()
            if found is None:
                continue
            options = read(unsealed(found, place.where), place.where).configuration["options"]
            stored = int(options[SHARD].partition("/")[2]) if SHARD in options else None
        if stored != count:
            problem = f"the store holds a join with another value of shards ({stored}, not {count})"
            raise Mismatch(f"{problem}: open it with the same arguments, or give another store or name")


def tracker_of(configuration: Configuration, *, is_stored: bool = False) -> Tracker:
    """Return the machine of a configuration, before its first round."""
    try:
        return {JOIN: Joined, SESSION: Tracker}[configuration.kind](configuration, is_stored=is_stored)
    except MemoryError:
        wanted = f"a {configuration.kind} of capacity {configuration.capacity}"
        raise ValueError(f"{wanted} takes more memory than there is: give a smaller capacity") from None


@contextmanager
def closed_on_failure(place: Store) -> Iterator[None]:
    """Let go of a store that cannot be used, and say why."""
    try:
        yield
    except BaseException as error:
        place.close()
        if isinstance(error, place.errors):
            raise StoreError(place.explain(error)) from error
        raise
