"""The plainest store that passes ``tarry.testing.StoreContract``: a pattern for a store of one's own."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from tarry.errors import Missing, StoreError
from tarry.live.buffers import REGIONS, Chunk
from tarry.live.encoding import ItemRow
from tarry.live.stores import CLOSED, MAIN, Change


class Memory:
    """A store in dictionaries, for tests and as a pattern: one thread, and gone with its process.

    ``Memory(name, database)`` of the same database share what is in it. A session without a store (``"memory:"``) is
    something else: it works on objects and writes no bytes at all.
    """

    where = "the store in memory"
    errors: tuple[type[Exception], ...] = ()

    def __init__(self, name: str = MAIN, database: dict[str, SimpleNamespace] | None = None) -> None:
        self.name, self.database = name, {} if database is None else database
        self._is_closed = False

    def _session(self) -> Any:
        if self._is_closed:
            raise StoreError(f"{self.where}: {CLOSED}")
        if self.name not in self.database:
            raise Missing(f"{self.name!r} is gone from {self.where}")
        return self.database[self.name]

    def names(self) -> list[str]:
        return list(self.database)

    def configuration(self) -> tuple[str, int] | None:
        return self._session().configuration if self.name in self.database else None

    def create(self, configuration: str, checksum: int, change: Change) -> bool:
        if self.name in self.database:
            return False
        kept: dict[str, dict[int, Chunk]] = {region: {} for region in REGIONS}
        self.database[self.name] = SimpleNamespace(configuration=(configuration, checksum), chunks=kept, rows={})
        self.commit(change)
        return True

    def begin(self, *, writes: bool) -> Chunk:
        head: Chunk = self._session().head
        return head

    def chunks(self, region: str, since: int, numbers: range | None = None) -> Iterable[Chunk]:
        kept = self._session().chunks[region]
        return [kept[i] for i in sorted(kept) if kept[i].version > since and (numbers is None or i in numbers)]

    def row(self, t: int) -> ItemRow | None:
        found: ItemRow | None = self._session().rows.get(t)
        return found

    def commit(self, change: Change) -> None:
        session = self._session()
        if change.configuration is not None:
            session.configuration = change.configuration
            for kept in session.chunks.values():
                kept.clear()
        for region, chunks in change.chunks.items():
            session.chunks[region].update((chunk.number, chunk) for chunk in chunks)
        for t, row in change.rows.items():
            if row is None:
                session.rows.pop(t, None)
            else:
                session.rows[t] = row
        session.head = change.head

    def rollback(self) -> None:
        pass

    def remove(self) -> None:
        self.database.pop(self.name, None)

    def close(self) -> None:
        self._is_closed = True

    def explain(self, error: Exception) -> str:
        return str(error)
