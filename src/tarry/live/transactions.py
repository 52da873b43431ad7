"""One call at a time, and what it changes stored in one transaction.

``change(work, …)`` runs a tracker's method alone and makes what it changed durable; if anything fails on the way,
nothing has changed. ``look(work, …)`` runs one that only reads, and keeps no other process waiting. ``together(calls)``
makes several calls in one transaction.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from threading import get_ident
from typing import Any, TypeVar
from zlib import crc32

from tarry.errors import Missing, StoreError, TarryError, Uncertain
from tarry.live.buffers import (
    FATES,
    HEAD,
    IDS,
    STATE,
    TOTALS,
    Chunk,
    Ids,
    Region,
    Watched,
    are_alike,
    make_chunk,
    make_head,
    read_head,
)
from tarry.live.configuration import JOIN, encode, other_version, parse
from tarry.live.core import NAMING, ROUNDS
from tarry.live.encoding import ItemRow, damaged
from tarry.live.stores import Change, Store
from tarry.live.tracker import CALLERS, Tracker

T = TypeVar("T")
_NEVER = -1  # a version before all others
_forks = 0  # how often this process or its ancestors were forked


def _count_fork() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)


class _Spoilt(Exception):
    """Say that a call of a group has failed when it may have changed something, and which one."""

    def __init__(self, place: int) -> None:
        super().__init__(place)
        self.place = place


class Turns:
    """Calls on a tracker in memory: one at a time, and none any more once one has been cut short.

    Threads wait for each other at ``_lock``, which the interpreter gives back whatever exception comes wherever.
    ``_owner`` is the thread whose call is under way: the same thread comes here again only from a signal handler or a
    function called back, and is refused. A ``_owner`` left behind by an interrupt does no harm, for the lock is free.
    """

    def __init__(self, tracker: Tracker) -> None:
        self.tracker = tracker
        self.reconfigured: Callable[[], None] = lambda: None  # called whenever the tracker has another configuration
        self._is_between = False  # whether a group is under way, and none of its calls is at work
        self._renew_lock()

    def _renew_lock(self) -> None:
        """Make a lock that nobody holds: after a fork, whoever held the old one is not there to let go of it."""
        self._lock, self._owner, self._born = threading.Lock(), 0, _forks

    def _check_turn(self) -> None:
        """Raise TarryError if a call of this thread is under way."""
        if self._born != _forks:
            self._renew_lock()
        if self._owner == get_ident() and self._lock.locked():
            raise TarryError(
                f"this {self.tracker.configuration.kind} is in the middle of a call: a signal handler, or a function "
                "called back, must wait until that call is done"
            )

    # Each argument by name: to pass on as many as come (*arguments) costs a call in memory 3 % of its time.

    def change(
        self,
        work: Callable[..., T],
        a: Any = None,
        b: Any = None,
        c: Any = None,
        moment: int | None = None,
        *,
        writes: bool = True,
    ) -> T:
        """Return what a function returns that may change the tracker, made durable.

        It takes three arguments, and the moment of the event where there is one.
        """
        if self._owner or self._born != _forks:
            self._check_turn()
        with self._lock:
            self._owner = get_ident()
            slots = self.tracker.slots
            try:
                if slots.is_midway:  # without a store, what a call has left half done cannot be put right
                    raise TarryError(
                        "a call was interrupted in the middle of a round, or a function of your own failed there, so "
                        f"this {self.tracker.configuration.kind}'s state cannot be trusted: start a new one"
                    )
                return work(a, b, c) if moment is None else work(a, b, c, moment)
            finally:
                self._owner = 0

    def look(self, work: Callable[..., T], *arguments: Any) -> T:
        """Return what a function returns that only looks at the tracker."""
        return self.change(lambda *_: work(*arguments), writes=False)

    def together(self, calls: Sequence[Callable[[], T]]) -> list[T | Exception]:
        """Make calls in their order, and return the result or the exception of each."""
        return [outcome_of(call) for call in calls]

    def close(self) -> None:
        """Do nothing: there is no store to let go of."""


def outcome_of(call: Callable[[], T]) -> T | Exception:
    """Return what a call returns or raises."""
    try:
        return call()
    except Exception as error:
        return error


def lay_out(tracker: Tracker, plain: dict[str, Any]) -> None:
    """Lay a tracker that is just made out as what is stored; raise StoreError where this version cannot."""
    if not are_alike(plain["layout"], tracker.slots.layout):
        tracker.slots.lay_out_as_before()
    if not are_alike(plain["layout"], tracker.slots.layout):
        raise other_version(plain)


def written(tracker: Tracker) -> tuple[str, int]:
    """Return a configuration as it is stored, with the layout of a tracker that is just made by it, and a checksum."""
    fresh = Tracker(tracker.configuration).slots
    if tracker.slots.is_former:
        fresh.lay_out_as_before()
    text = encode(tracker.configuration, fresh.layout)
    return text, crc32(text.encode())


class Stored(Turns):
    """Calls on a tracker that a store keeps: each is one transaction."""

    def __init__(self, tracker: Tracker, store: Store, found: tuple[str, int] | None = None) -> None:
        super().__init__(tracker)
        self.store, self._rows = store, tracker.items
        self._written, self._configuration = found, tracker.configuration  # as they are in the store
        self._head: Chunk | None = None  # where the tracker stands; None: it must be loaded from the store
        self._state = Watched(tracker.slots.buffer)

    def create(self) -> bool:
        """Store the session before its first round; False if it is there already."""
        text, change = written(self.tracker), self._changed(1, 0)
        made = self.store.create(*text, change)
        if made:
            self._head, self._written = change.head, text
        return made

    def change(
        self,
        work: Callable[..., T],
        a: Any = None,
        b: Any = None,
        c: Any = None,
        moment: int | None = None,
        *,
        writes: bool = True,
    ) -> T:
        if self._owner or self._born != _forks:
            if self._is_between and self._owner == get_ident():
                return self._in_group(work, a, b, c, moment)
            self._check_turn()
        with self._lock:
            self._owner = get_ident()
            try:
                known = self._begin(writes=writes)  # nobody waits for those who only look
                self._head = None  # known again once this call has ended well
                before = self.tracker.slots.counts[ROUNDS]
                try:
                    result = work(a, b, c) if moment is None else work(a, b, c, moment)
                except Exception:
                    if not self._is_changed():  # a refusal; whatever else has happened, everything is loaded again
                        self._head = known
                    raise
                change = self._changed(known.version + 1, before)
                if change.rows or any(change.chunks.values()):
                    self._commit(change)
                    self._head = change.head
                    if change.configuration is not None:
                        self._written, self._configuration = change.configuration, self.tracker.configuration
                else:
                    self._rollback()
                    self._head = known
                return result
            except BaseException as error:
                self._rollback()
                if isinstance(error, self.store.errors):
                    raise StoreError(self.store.explain(error)) from error
                raise
            finally:
                self._owner = 0

    def together(self, calls: Sequence[Callable[[], T]]) -> list[T | Exception]:
        """Make calls in their order and in one transaction; return the result or the exception of each.

        All are durable when this returns. A call that fails changes nothing. If it had begun to, the transaction is
        undone, and the calls before it, it alone, and the calls after it are made again, each of the three in a
        transaction. Where a commit fails, so do all calls of it.
        """
        done: list[T | Exception] = []
        groups = [calls]  # still to be made, the next one last
        while groups:
            group = groups.pop()
            if len(group) < 2:
                done += super().together(group)
                continue
            try:
                done += self.change(self._each, group)
            except _Spoilt as spoilt:
                place = spoilt.place
                groups += [group[place + 1 :], group[place : place + 1], group[:place]]
            except Exception as error:
                done += [error] * len(group)
        return done

    def _each(self, calls: Sequence[Callable[[], T]], *_: Any) -> list[T | Exception]:
        """Make the calls of a group within its transaction; raise _Spoilt where one of them fails at work."""
        results: list[T | Exception] = []
        self._has_failed, self._is_between = False, True
        try:
            for place, call in enumerate(calls):
                results.append(outcome_of(call))
                if self._has_failed:
                    raise _Spoilt(place)
        finally:
            self._is_between = False
        return results

    def _in_group(self, work: Callable[..., T], a: Any, b: Any, c: Any, moment: int | None) -> T:
        """Do the work of a call within the transaction of its group; meanwhile no other call may come."""
        self._is_between, before = False, self._mark()
        try:
            return work(a, b, c) if moment is None else work(a, b, c, moment)
        except Exception as error:
            is_harmless = not self.tracker.slots.is_midway and self._mark() == before
            self._has_failed |= isinstance(error, self.store.errors) or not is_harmless
            raise
        finally:
            self._is_between = True

    def _mark(self) -> tuple[Any, ...]:
        """Return what differs after every call that has changed something: counts, marks, rows written, configuration.

        To compare the whole state after each call would cost a group what it gains by one commit.
        """
        slots = self.tracker.slots
        return slots.counts.tobytes(), slots.marks.tobytes(), self._rows.writes, id(self.tracker.configuration)

    def close(self) -> None:
        """Let go of the store, once the call under way in another thread has ended."""
        self._check_turn()
        with self._lock:
            self.store.close()

    def _begin(self, *, writes: bool) -> Chunk:
        """Start a transaction and load what others have changed; return the head."""
        self._rollback()  # an interrupt may have left a transaction open
        head = self.store.begin(writes=writes)
        if head != self._head:
            known, self._head = self._head, None  # until everything is loaded
            if self._adopt():
                known = None
            self._load(self._checked(STATE, head), known)
            self._head = head
        return head

    def _adopt(self) -> bool:
        """Begin anew under the configuration in the store if it is another than the tracker's; whether it was."""
        found, tracker = self.store.configuration(), self.tracker
        # A change of the configuration that was cut short has reached some of the tracker.
        is_whole = (
            tracker.configuration is self._configuration and tracker.slots.capacity == tracker.configuration.capacity
        )
        if found == self._written and is_whole:
            return False
        if found is None:
            raise Missing(f"the {tracker.configuration.kind} is gone from {self.store.where}")
        if tracker.configuration.kind != JOIN:  # no session changes: this is another one, under the same name
            raise Missing(f"another session has taken the place of this one in {self.store.where}: open it again")
        plain, stored = parse(found, self.store.where, tracker.configuration.player)
        tracker.start(stored)
        lay_out(tracker, plain)
        self._written, self._configuration = found, stored
        self.reconfigured()
        return True

    def _commit(self, change: Change) -> None:
        """Commit a change; a commit that fails may have been done, which the head in the store tells."""
        try:
            self.store.commit(change)
        except self.store.errors as error:
            self._rollback()
            try:
                # As a writer, so that a commit which the server is still busy with is waited for.
                head = self.store.begin(writes=True)
            except Exception:  # whatever keeps the head from being read
                head = None
            self._rollback()
            if head is None or head.version > change.head.version:  # out of reach, or others have gone on
                raise Uncertain(
                    f"{self.store.where} failed in a commit, and whether this call was stored is unknown: ask fate(id) "
                    "or status(). If it was, the same call again is recognised by its id, but hands out no row"
                ) from error
            if head != change.head:
                raise

    def _changed(self, version: int, before: int) -> Change:
        """Return what is different now, as this version, when so many rounds had begun before."""
        regions, touched = self._regions(), self._rows.touched
        is_other = self.tracker.configuration is not self._configuration
        for region in regions.values() if is_other else ():
            region.renew()
        chunks = {name: region.collect(version) for name, region in regions.items()}
        # A round begun and forgotten within this call was never stored.
        rows = {t: row for t, row in sorted(touched.items()) if row is not None or t <= before}
        touched.clear()
        total = sum([region.total for region in regions.values()])
        token = int.from_bytes(os.urandom(4), "little")  # another history has another, but for one chance in 2³²
        head = make_head(version, self.tracker.slots.size, token, total)
        return Change(head, chunks, rows, written(self.tracker) if is_other else None)

    def _is_changed(self) -> bool:
        is_other = self.tracker.configuration is not self._configuration
        return is_other or bool(self._rows.touched) or any(region.changes() for region in self._regions().values())

    def _regions(self) -> dict[str, Region]:
        """Return what is kept in chunks: the state, which may lie in new memory, the fates, and ids if any."""
        if self._state.buffer is not self.tracker.slots.buffer:
            self._state = Watched(self.tracker.slots.buffer)
        regions: dict[str, Region] = {STATE: self._state, FATES: self.tracker.fates}
        if self.tracker.ids is not None:
            regions[IDS] = self.tracker.ids
        return regions

    def fill(self, slots: int, chunks: Mapping[str, Mapping[int, bytes]], rows: Mapping[int, ItemRow]) -> None:
        """Take the bytes of another tracker of this configuration before :meth:`create` stores them."""
        if slots != self.tracker.slots.size:
            self.tracker.slots.clear(slots)
        if IDS in chunks:
            self.tracker.ids = Ids(self.tracker.memory, self.tracker.configuration.seed)
        for name, region in self._regions().items():
            for i, data in chunks.get(name, {}).items():
                region.load(make_chunk(i, 0, data))
            region.renew()
        self._rows.touched.update(rows)

    def _rollback(self) -> None:
        try:
            self.store.rollback()
        except self.store.errors:
            self._head = None  # the connection is gone: so is the transaction

    def _load(self, head: Chunk, known: Chunk | None) -> None:
        """Load what is new since a known head, or everything; all of it must be there."""
        self._rows.clear()
        slots, _, total = read_head(head)
        is_later = known is not None and known.version < head.version and read_head(known)[0] == slots
        if known is not None and is_later and self._load_since(known.version, slots, total):
            return
        # Nothing is known, the state was laid out anew, or the store went back in time, and on from there.
        if not self._load_since(_NEVER, slots, total):
            kind = self.tracker.configuration.kind
            raise StoreError(f"{self.store.where} has lost some of a {kind}'s bytes: restore a copy of it")

    def _load_since(self, since: int, slots: int, total: int) -> bool:
        """Load the chunks written after a version; return whether all chunks sum to the total of the head."""
        tracker, before = self.tracker, self.tracker.rounds
        if since == _NEVER:
            if slots != tracker.slots.size:
                tracker.slots.clear(slots)
            for region in self._regions().values():
                region.clear()
        self._load_chunks(STATE, self._regions()[STATE].load, since)
        self._load_chunks(FATES, tracker.fates.load, since)
        held = tracker.slots.state.table.rounds
        tracker.tracked = set(held[held > 0].tolist())
        if tracker.slots.counts[NAMING] != CALLERS:
            tracker.ids = None  # the first one to come was not written
        else:
            self._load_ids(since, before)
        if sum(region.total for region in self._regions().values()) % TOTALS != total:
            return False
        tracker.keep_old_ids()
        return True

    def _load_ids(self, since: int, before: int) -> None:
        tracker = self.tracker
        if tracker.ids is None:
            tracker.ids, since = Ids(tracker.memory, tracker.configuration.seed), _NEVER
        ids = tracker.ids
        new = None if since == _NEVER else ids.chunks_between(before, tracker.rounds)
        if new is None:
            self._load_chunks(IDS, ids.load, since)
            ids.rebuild()
        elif new:
            self._load_chunks(IDS, ids.take, since, new)

    def _load_chunks(self, name: str, load: Callable[[Chunk], None], since: int, only: range | None = None) -> None:
        for chunk in self.store.chunks(name, since, only):
            load(self._checked(name, chunk))

    def _checked(self, name: str, chunk: Chunk) -> Chunk:
        """Return a chunk that is as it was written."""
        if not chunk.is_whole:
            place = "head" if chunk.number == HEAD else f"chunk {chunk.number}"
            raise damaged(self.store.where, f"{place} of tarry_{name}")
        return chunk
