"""What sessions and joins have in common: they are made or opened, asked about themselves, and closed."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from inspect import signature
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Never, Self, TypeVar
from weakref import proxy
from zlib import crc32

from tarry.checks import as_int
from tarry.errors import Missing, StoreError, TarryError
from tarry.kernel import make_seed
from tarry.live.batches import Receipt, Receipts, as_ids, receipts_of
from tarry.live.configuration import JOIN, SESSION, SHARDS, Configuration, check_same, parse, settled
from tarry.live.copies import Copy, copy_of, lines_of, packed, read_copy, restored, sections_of, unpacked
from tarry.live.encoding import Rows, as_id
from tarry.live.status import Status, Waiting, export_of, ledger_of, status_of, tracked_of
from tarry.live.stores import MAIN, POWER, Store, open_store, shard_name, without_password, without_shards
from tarry.live.tracker import UNLABELLED, Tracker
from tarry.live.transactions import Stored, Turns, lay_out
from tarry.outcomes import Answer, html_facts
from tarry.tracking import Player

T = TypeVar("T")
_TOO_MANY = 1 << 40  # beyond it NumPy's own sizes end


class Found(NamedTuple):
    """What a store holds under a name, and how to find what belongs to it under others."""

    name: str
    plain: dict[str, Any]
    configuration: Configuration
    place: Store
    text: tuple[str, int]
    beside: Callable[[str], Any]


class StoredObject:
    """A session or a join: calls on a tracker, one at a time, kept in a store if there is one."""

    _kind: ClassVar[str]

    def __init_subclass__(cls) -> None:
        """Show the arguments of ``__init__`` to help and editors, since ``__new__`` takes any."""
        whole = signature(cls.__init__)
        cls.__signature__ = whole.replace(parameters=[*whole.parameters.values()][1:])  # type: ignore[attr-defined]

    def __new__(cls, *_: Any, shards: int = 1, **__: Any) -> Self:
        """Return an object to be made; a join with shards is of a class of its own."""
        return object.__new__(cls if shards == 1 else cls._in_shards())

    @classmethod
    def _in_shards(cls) -> type[Self]:
        """Return the class of such an object with shards."""
        return cls

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

    def _reconfigure(
        self, options: dict[str, Any], check: Callable[[], None] = lambda: None, /, **changes: Any
    ) -> list[Hashable]:
        """Change fields and options of the configuration while rounds wait; return the ids that lost their slots.

        ``check`` is called within the transaction, once nobody else can write, and may refuse.
        """

        def work(*_: Any) -> list[Hashable]:
            check()
            was = self._tracker.configuration  # as the transaction finds it
            wanted = settled(was._replace(**changes, options=was.options | options))
            if all(getattr(wanted, name) == getattr(was, name) for name in (*changes, "options")):
                return []
            released = _with_room(wanted, lambda: self._tracker.reconfigure(wanted))
            self._look_up()
            return released

        return self._turns.change(work)

    @classmethod
    def open(
        cls,
        store: str | Store,
        *,
        name: str = MAIN,
        player: Player | None = None,
        members: Mapping[str, type] | None = None,
        durability: str = POWER,
    ) -> Self:
        """Continue what is in a store; where parts of it are not Tarry's own, pass the same player, or their classes.

        ``members`` are classes by name, which fields are put into as they were stored.
        """
        return cls._continue(cls._find(store, name, player=player, members=members, durability=durability))

    @classmethod
    def _find(cls, store: str | Store, name: str, **how: Any) -> Found:
        """Return what a store holds of this kind under a name."""
        player = how["player"]
        place = open_store(store, name, durability=how["durability"], must_exist=True)
        kind = cls._kind
        if place is None:
            remedy = "make a new one, or give the sqlite:/// or postgresql:// store that one was made with"
            raise StoreError(f"a {kind} in memory ends with its object and cannot be opened again: {remedy}")
        with closed_on_failure(place):
            found, said = place.configuration(), without_password(store) if isinstance(store, str) else place.where
            if found is None:
                known = ", ".join(map(repr, without_shards(place.names()))) or "none"
                raise Missing(f"{said} holds no {kind} called {name!r}, only {known}")
            plain, stored = parse(found, place.where, player, how["members"])
            if stored.kind != kind:
                raise Missing(f"{name!r} in {said} is a {stored.kind}, not a {kind}")
            if player is not None:
                check_same(plain, stored, with_seed=False)
        return Found(name, plain, stored, place, found, partial(cls._find, store, **how))

    @classmethod
    def _continue(cls, found: Found) -> Self:
        """Return what was found, opened."""
        return cls._continue_alone(found)

    @classmethod
    def _continue_alone(cls, found: Found) -> Self:
        with closed_on_failure(found.place):
            return cls._of(_continued(found.plain, found.configuration, found.place, found.text))

    def expire(self, id: Hashable) -> Receipt:
        """Say that no outcome will come: the empty acknowledgement of an untracked round.

        On a *tracked* round it frees the slot and nothing is learnt, which biases: a missing outcome that means
        something must be told as a value or a label at the end of its window.
        """
        return self._turns.change(self._tracker.answer, id, None, UNLABELLED)[0]

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
        return self._tracker.configuration.capacity

    def copy_to(self, store: str | Store, *, name: str = MAIN, durability: str = POWER) -> Self:
        """Return a copy in another store, or under another name: it goes on from here as this one would, bit for bit.

        What is kept in memory becomes durable so. From then on the two know nothing of each other, so let one rest.
        """
        copy, player = self._turns.look(copy_of, self._tracker), self._tracker.configuration.player
        return self._imported_alone(copy, store, name, durability, player)

    def to_bytes(self) -> bytes:
        """Return everything as bytes, for :meth:`from_bytes`: what a stream engine keeps as the state of a key."""
        return packed(self._turns.look(partial(copy_of, with_facts=False), self._tracker))

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
        copy = unpacked(data)
        plain, stored = cls._parsed(copy, player, members)
        opened = cls.__new__(cls)
        opened._take(Turns(restored(copy, plain, stored)))
        return opened

    @classmethod
    def _parsed(
        cls, copy: Copy, player: Player | None, members: Mapping[str, type] | None
    ) -> tuple[dict[str, Any], Configuration]:
        """Return the configuration of a copy, as plain values and built; raise StoreError about another kind's."""
        found = copy.configuration, crc32(copy.configuration.encode())
        plain, stored = parse(found, "what was exported", player, members)
        if stored.kind != cls._kind:
            raise StoreError(f"this is a {stored.kind}, not a {cls._kind}; nothing was changed")
        return plain, stored

    def export_lines(self) -> Iterator[dict[str, Any]]:
        """Yield everything as JSON objects, one for each line of a file that :meth:`import_from` takes."""
        return lines_of(self._turns.look(copy_of, self._tracker))

    @classmethod
    def import_from(
        cls,
        file: str | PathLike[str] | Iterable[str],
        store: str | Store,
        *,
        name: str = MAIN,
        player: Player | None = None,
        members: Mapping[str, type] | None = None,
        durability: str = POWER,
    ) -> Self:
        """Return what a file of :meth:`export_lines` holds, made in a store: it goes on from there, bit for bit.

        ``file`` is a path, or its lines. ``player`` and ``members`` are as in :meth:`open`.
        """
        lines: Any = file
        where = "what was given"
        if isinstance(file, (str, PathLike)):
            try:
                lines, where = Path(file).read_text(encoding="utf-8").splitlines(), str(file)
            except (OSError, UnicodeDecodeError) as error:
                problem = f"{file} cannot be read ({getattr(error, 'strerror', None) or 'it is no text'})"
                raise StoreError(f"{problem}: give a file of tarry join export --whole") from error
        copies = [read_copy(section, where) for section in sections_of(lines)]
        return cls._imported(copies, store, name, durability, player, members)

    @classmethod
    def _imported(cls, copies: Sequence[Copy], *where: Any) -> Self:
        (copy,) = copies
        return cls._imported_alone(copy, *where)

    @classmethod
    def _imported_alone(
        cls,
        copy: Copy,
        store: str | Store,
        name: str,
        durability: str,
        player: Player | None,
        members: Mapping[str, type] | None = None,
    ) -> Self:
        found = copy.configuration, crc32(copy.configuration.encode())
        plain, stored = cls._parsed(copy, player, members)
        place = open_store(store, name, durability=durability)
        if place is None:
            raise ValueError("a copy goes into a durable store, got 'memory:': give sqlite:/// or postgresql://")
        with closed_on_failure(place):
            turns = _continued(plain, stored, place, found)
            turns.fill(copy.slots, copy.chunks, copy.rows)
            if not turns.create():
                raise StoreError(
                    f"{place.where} has {name!r} already, so nothing was changed: give another name or store"
                )
            return cls._of(_continued(plain, stored, place, found))

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
        capacity = self.capacity
        return f"{kind}({s.rounds} {rounds}, {s.pending} pending, {s.tracked} tracked of {capacity})"

    def _repr_html_(self) -> str:
        return html_facts(type(self).__name__, self.status().rows())


def stored_kind(store: str, name: str) -> str | None:
    """Return whether a name in a store is a session's or a join's; None where there is nothing of this name."""
    place = open_store(store, name, must_exist=True)
    if place is None:
        return None
    with closed_on_failure(place):
        found = place.configuration()
    place.close()
    return None if found is None else str(json.loads(found[0])["kind"])


def erase(store: str | Store, name: str = MAIN) -> None:
    """Remove a session or join from a store, for good; calls of those who have it open are told that it is gone."""
    place = open_store(store, name, must_exist=True)
    if place is None:
        return
    with closed_on_failure(place):
        found = place.configuration()
        count = 0 if found is None else json.loads(found[0])["options"].get(SHARDS, 0)
        for shard in range(count):  # first, so that to do it again ends what was cut short
            erase(store, shard_name(name, shard, count))
        place.remove()
    place.close()


def make_or_open(wanted: Configuration, rng: Any, *, store: str | Store, name: str, durability: str) -> Turns:
    """Return calls on what this store holds: continued if the same is there, made otherwise."""
    wanted = settled(wanted)
    place = open_store(store, name, durability=durability)
    wanted = wanted._replace(seed=make_seed(rng))
    if place is None:
        return Turns(_tracker_of(wanted))
    with closed_on_failure(place):
        found = place.configuration()
        if found is None:
            made = Stored(_tracker_of(wanted, Rows(place)), place)
            if made.create():
                return made
            found = place.configuration()  # somebody was faster
            assert found is not None
        plain, stored = parse(found, place.where, wanted.player)
        check_same(plain, wanted, with_seed=rng is not None)
        return _continued(plain, stored, place, found)


def _continued(plain: dict[str, Any], stored: Configuration, place: Store, found: tuple[str, int]) -> Stored:
    """Return calls on what a store holds; raise StoreError about bytes that another version laid out otherwise."""
    tracker = _tracker_of(stored, Rows(place))
    lay_out(tracker, plain)
    return Stored(tracker, place, found)


def _tracker_of(configuration: Configuration, items: Any = None) -> Tracker:
    return _with_room(configuration, lambda: Tracker(configuration, items))


def _with_room(configuration: Configuration, make: Callable[[], T]) -> T:
    """Return what a function makes of a configuration; raise ValueError where the machine has no room for it."""
    capacity, memory = configuration.capacity, configuration.memory
    try:
        if max(capacity or 0, memory) > _TOO_MANY:
            raise MemoryError
        return make()
    except MemoryError:
        wanted = f"a {configuration.kind} of capacity {capacity} that remembers memory={memory} rounds"
        remedy = "give a smaller capacity or memory"
        raise ValueError(f"{wanted} takes more memory than there is: {remedy}") from None


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
