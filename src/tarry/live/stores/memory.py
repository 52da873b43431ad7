"""The plainest store that passes ``tarry.testing.StoreContract``: a pattern for a store of one's own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tarry.errors import Missing, StoreError
from tarry.live.stores.base import CLOSED, MAIN, Entry, Snapshot


class Memory:
    """A store in dictionaries, for tests and as a pattern: one thread, and gone with its process.

    ``Memory(name, database)`` of the same database share what is in it. A session without a store (``"memory:"``) is
    something else: it works on objects and writes no bytes at all.
    """

    where = "the store in memory"
    errors: tuple[type[Exception], ...] = ()
    away: tuple[type[Exception], ...] = ()

    def __init__(self, name: str = MAIN, database: dict[str, SimpleNamespace] | None = None) -> None:
        self.name, self.database = name, {} if database is None else database
        self._is_closed = False

    def _shelf(self) -> Any:
        if self._is_closed:
            raise StoreError(f"{self.where}: {CLOSED}")
        if self.name not in self.database:
            raise Missing(f"{self.name!r} is gone from {self.where}")
        return self.database[self.name]

    def names(self) -> dict[str, str]:
        return {name: shelf.kind for name, shelf in self.database.items()}

    def create(self, kind: str, snapshot: Snapshot) -> bool:
        if self.name in self.database:
            return False
        self.database[self.name] = SimpleNamespace(kind=kind, snapshot=snapshot, entries=[])
        return True

    def begin(self, after: int, *, writes: bool) -> list[Entry]:
        return self.entries(after)

    def entries(self, after: int) -> list[Entry]:
        return [entry for entry in self._shelf().entries if entry.seq > after]

    def snapshot(self) -> Snapshot | None:
        return self._shelf().snapshot if self.name in self.database else None

    def append(self, entry: Entry) -> None:
        self._shelf().entries.append(entry)

    def rollback(self) -> None:
        pass

    def replace(self, snapshot: Snapshot, oldest: bytes) -> None:
        shelf = self._shelf()
        if snapshot.seq > shelf.snapshot.seq:
            shelf.snapshot = snapshot
            shelf.entries = [entry for entry in shelf.entries if entry.seq >= snapshot.seq or entry.token >= oldest]

    def rename(self, name: str) -> bool:
        if name in self.database:
            return False
        self.database[name] = self.database.pop(self.name)
        self.name = name
        return True

    def remove(self) -> None:
        self.database.pop(self.name, None)

    def close(self) -> None:
        self._is_closed = True

    def explain(self, error: Exception) -> str:
        return str(error)
