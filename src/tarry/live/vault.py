"""Everything a session keeps, and how it stays the same as what is stored.

``with vault.lock, vault:`` is one change: it loads what other processes have written, lets the caller work on the
arrays, and writes what is different in one transaction. If anything fails on the way, the next change starts from
the store. ``with vault.lock, vault.reading:`` is one look, which keeps no other process waiting.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from tarry.errors import StoreError, TarryError
from tarry.live.fates import Fates
from tarry.live.holdings import NAMING, ROUNDS, Holdings
from tarry.live.ids import CALLERS, Ids
from tarry.live.items import Item, ItemRow, decode_item, encode_item
from tarry.live.regions import FATES, IDS, STATE, Region, Watched, lay_out
from tarry.live.stores import Head, Store
from tarry.live.turns import Reading, is_running, new_lock, watch_forks

_NEVER = -1


class Vault:
    """``fresh(slots)`` gives holdings before the first round; ``placed`` is called when they lie in new memory."""

    recent = 256  # rounds that are kept with their plays whether tracked or not; fewer where fewer are remembered

    def __init__(
        self,
        store: Store,
        *,
        kind: str,
        slots: int,
        memory: int,
        seed: int,
        fresh: Callable[[int], Holdings],
        placed: Callable[[Holdings], None],
    ) -> None:
        self.store, self.lock = store, new_lock()
        watch_forks(self)
        self._kind = kind  # in sentences: a session or a join
        self.is_durable = store.is_durable  # asked several times a call
        self.rounds = self.naming = 0  # as in the counts
        self.fates, self.memory = Fates(memory), memory
        self.recent = min(self.recent, memory)
        self.reading = Reading(self)
        self.items: dict[int, Item] = {}
        self.tracked: set[int] = set()
        self.is_broken = ""  # why, if it is
        self.is_midway = False
        self._frame: Any = None  # whose change is open
        self._known = _NEVER
        self._seed, self._fresh, self._placed = seed, fresh, placed
        self._ids: Ids | None = None
        self._version = _NEVER
        self._touched: dict[int, ItemRow | None] = {}
        self._before = 0
        self.place(fresh(slots), slots)

    @property
    def ids(self) -> Ids:
        """The caller's ids; made when the first one comes."""
        if self._ids is None:
            self._ids = Ids(self.memory, self._seed)
        return self._ids

    def place(self, holdings: Holdings, slots: int) -> None:
        """Lay holdings out in one buffer."""
        self.slots = slots
        self._region: Watched
        self._region, self.held = lay_out(holdings)
        # Memory views are cheaper to add to, one number at a time.
        self.counts, self.sums = memoryview(self.held.counts), memoryview(self.held.sums)
        self._placed(self.held)

    def create(self, configuration: str) -> bool:
        """Write the session before its first round; False if it exists."""
        made = self.store.create(configuration, self.slots, {STATE: self._region.changes()})
        if made:
            self._region.settle()
            self._version = 1
        return made

    def __enter__(self) -> None:
        if self._frame is not None or self.is_broken:
            self._settle_last()
        self._frame = sys._getframe(1)
        if not self.is_durable:
            return
        try:
            self._meet(self.store.begin)
            self._known, self._version = self._version, _NEVER  # known again once this change has ended well
            self._before = self.rounds
        except BaseException:
            self._leave()
            self._frame = None
            raise

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if not self.is_durable:
            if self.is_midway:
                self._judge(kind)
            self._frame = None
            return
        try:
            if kind is None:
                error = self._try_to_commit()
            else:
                self._abandon()
            if isinstance(error, self.store.errors):
                raise StoreError(self.store.explain(error)) from error
        finally:
            self.is_midway = False
            self._frame = None

    def _settle_last(self) -> None:
        """One change at a time: the lock is held, but a signal handler of the same thread would get it too."""
        if self._frame is not None:
            if is_running(self._frame):
                raise TarryError(
                    f"this {self._kind} is in the middle of a call: a signal handler, or a function called back, must "
                    "wait until that call is done"
                )
            self._frame = None
            self._judge(KeyboardInterrupt)  # an interrupt kept the last change from being closed
            self._abandon()
        if self.is_broken:
            raise TarryError(f"{self.is_broken}, so this {self._kind}'s state cannot be trusted: start a new one")

    def _judge(self, kind: Any) -> None:
        """Without a store, what a call leaves half done cannot be put right."""
        if self.is_midway and not self.is_durable:
            interrupted = kind is not None and issubclass(kind, KeyboardInterrupt)
            self.is_broken = "a call was interrupted" if interrupted else "a function of your own failed"
            self.is_broken += " in the middle of a round"
        self.is_midway = False

    def _try_to_commit(self) -> Exception | None:
        try:
            self._commit()
        except self.store.errors as failure:
            self._abandon()
            return failure
        except BaseException:
            self._abandon()
            raise
        return None

    def begin_to_read(self, frame: Any) -> None:
        """Look at the newest state, which stays as it is until the reading ends, without keeping others waiting."""
        if self._frame is not None or self.is_broken:
            self._settle_last()
        self._frame = frame
        try:
            self._meet(self.store.look)
        except BaseException:
            self.end_reading()
            raise

    def end_reading(self) -> None:
        """Nothing was changed, so nothing is written."""
        self._leave()
        self._frame = None

    def _meet(self, start: Callable[[], Head]) -> None:
        """Start a transaction and load what others have changed."""
        self._leave()  # an interrupt may have left a transaction open
        try:
            head = start()
            if head.version != self._version:
                known, self._version = self._version, _NEVER  # until everything is loaded
                self._load(head, known)
        except self.store.errors as error:
            raise StoreError(self.store.explain(error)) from error

    def put(self, t: int, item: Item) -> None:
        """Keep an item for round t."""
        if self.is_durable:
            row = self._touched[t] = encode_item(item)
            if item.payload is not None or item.gathered:
                item = decode_item(row)  # what others will read; the caller's own object may change
        self.items[t] = item

    def drop(self, t: int) -> None:
        """Keep nothing for round t any more."""
        self.items.pop(t, None)
        if self.is_durable:
            self._touched[t] = None

    def item(self, t: int) -> Item | None:
        """The item of round t, if it is tracked or recent; to be called within a change."""
        kept = self.items.get(t)
        if kept is None and self.is_durable and t not in self._touched:
            row = self.store.item(t)
            if row is not None:
                kept = self.items[t] = decode_item(row)
            elif t in self.tracked or t > self.rounds - self.recent:
                raise StoreError(f"the store has lost the row of round {t}: restore a copy of it")
        return kept

    def _commit(self) -> None:
        chunks = {STATE: self._region.changes(), FATES: self.fates.changes()}
        if self._ids is not None:
            chunks[IDS] = self._ids.changes()
        if not any(chunks.values()) and not self._touched:
            self.store.leave()
            self._version = self._known
            return
        # A round begun and forgotten within this change was never stored.
        rows = {t: row for t, row in sorted(self._touched.items()) if row is not None or t <= self._before}
        self.store.commit(Head(self._known + 1, self.slots), chunks, rows)
        self._settle()
        self._version = self._known + 1

    def _settle(self) -> None:
        self._region.settle()
        self.fates.settle()
        if self._ids is not None:
            self._ids.settle()
        self._touched.clear()

    def _abandon(self) -> None:
        """Nothing of this change remains; if anything was written to, everything is loaded again."""
        if not self.is_durable:
            return
        self._leave()
        untouched = not (self._touched or self.fates.dirty or (self._ids is not None and self._ids.dirty))
        if untouched and not self._region.changes():
            self._version = self._known

    def _leave(self) -> None:
        try:
            self.store.leave()
        except self.store.errors:
            self._version = self._known = _NEVER  # the connection is gone: so is the transaction

    def _load(self, head: Head, since: int) -> None:
        before = self.rounds
        if head.slots != self.slots:
            self.place(self._fresh(head.slots), head.slots)
            since = _NEVER
        if since == _NEVER:
            self.fates.abandon()
        self._take(STATE, self._region, since)
        self.rounds, self.naming = self.counts[ROUNDS], self.counts[NAMING]
        self._take(FATES, self.fates, since)
        self.items.clear()
        self._touched.clear()
        slots = self.held.play.table.rounds
        self.tracked = set(slots[slots > 0].tolist())
        if self.naming == CALLERS:
            self._load_ids(since, before)
        else:
            self._ids = None  # the first one to come was not written
        self._version = head.version

    def _take(self, number: int, region: Region, since: int) -> None:
        """Load the chunks of a region that are newer than a version; of all of them, none may be missing."""
        taken = 0
        for chunk in self.store.changed(number, since):
            if since == _NEVER and chunk.number != taken:
                break
            region.load(*chunk)
            taken += 1
        if since == _NEVER and taken < region.chunks(min(self.rounds, self.memory)):
            raise StoreError(f"the store has lost chunk {taken} of a {self._kind}'s bytes: restore a copy of it")

    def _load_ids(self, since: int, before: int) -> None:
        ids, rounds = self.ids, self.rounds
        new = None if since == _NEVER else ids.chunks_between(before, rounds)
        if new is None:
            ids.abandon()
            self._take(IDS, ids, since)
            ids.rebuild()
        elif new:
            for chunk in self.store.changed(IDS, since, new):
                ids.take(*chunk)
        old = [t for t in self.tracked if t <= rounds - self.memory]
        ids.keep_aside((item.id, t) for t in old if (item := self.item(t)) is not None)
