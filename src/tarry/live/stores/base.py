"""What a store is: numbered versions of a session's bytes, changed in one transaction each.

A store keeps, for each named session, its configuration, the chunks of its regions (see ``live.buffers``) and one row
for each tracked or recent round. It knows nothing of what they mean and checks nothing: checksums, versions and what
to write are worked out in ``live.transactions``. ``tarry.testing.StoreContract`` says what a store must do, and
:class:`Memory` is the plainest one that does it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol

from tarry.errors import StoreError
from tarry.live.buffers import REGIONS, Chunk
from tarry.live.encoding import ItemRow

MAIN = "main"
POWER, PROCESS = "power", "process"
CLOSED = "this was closed: open it again"
FORMAT = 2  # of everything that is stored; see ``live.configuration.upgraded`` for what came before


class Change(NamedTuple):
    """What one transaction writes: the new head, changed chunks by region, and rows by round (None: deleted)."""

    head: Chunk
    chunks: Mapping[str, list[Chunk]]
    rows: Mapping[int, ItemRow | None]


class Store(Protocol):
    """The place of one session in a database.

    Failures of the database are ``errors``, which ``explain`` turns into sentences; ``where`` names the database in
    sentences. Between ``begin`` and ``commit`` or ``rollback`` lies one transaction. A store is used by one thread at a
    time, and by whichever thread has its turn.
    """

    where: str
    errors: tuple[type[Exception], ...]

    def names(self) -> list[str]:
        """Return the names of the sessions in the database, oldest first."""

    def configuration(self) -> tuple[str, int] | None:
        """Return the session's configuration and its checksum, or None if there is none of this name."""

    def create(self, configuration: str, checksum: int, change: Change) -> bool:
        """Write a new session, all of it or nothing, making the database if need be; False if it exists."""

    def begin(self, *, writes: bool) -> Chunk:
        """Start a transaction and return the head. One that writes waits for others; readers wait for nobody."""

    def chunks(self, region: str, since: int, numbers: range | None = None) -> Iterable[Chunk]:
        """Return the chunks of a region written after a version, among these numbers, in their order."""

    def row(self, t: int) -> ItemRow | None:
        """Return the row of a round, or None."""

    def commit(self, change: Change) -> None:
        """Write a change and end the transaction; durable when it returns. If it raises, all was written or nothing."""

    def rollback(self) -> None:
        """End a transaction without a trace; do nothing where none is open."""

    def close(self) -> None:
        """Let go of the database; may be called again."""

    def explain(self, error: Exception) -> str:
        """Return a sentence for one of ``errors``."""


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
            raise StoreError(f"{self.name!r} is gone from {self.where}")
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

    def close(self) -> None:
        self._is_closed = True

    def explain(self, error: Exception) -> str:
        return str(error)
