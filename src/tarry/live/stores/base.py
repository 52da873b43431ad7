"""What a store is: the place of one session or join in a database, as a journal of entries and a snapshot.

A store knows nothing of what is in them: checksums, replays and when to take a snapshot are worked out in
``live.turns``. Whoever writes one needs these methods, and ``tarry.testing.StoreContract`` to check them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

TOKEN = 14  # bytes of a token: six for the moment in milliseconds, the rest by chance
MAIN = "main"
POWER, PROCESS = "power", "process"
CLOSED = "this was closed: open it again"
PATIENCE = 60.0  # seconds to wait for another writer


class Entry(NamedTuple):
    """What one transaction has written: its number, from 1 on without a gap, a token of its own, and a body."""

    seq: int
    token: bytes
    body: bytes


class Snapshot(NamedTuple):
    """A state: the number of the entry it comes after, the tokens of the last entries, end to end, and a body."""

    seq: int
    tokens: bytes
    body: bytes


class Store(Protocol):
    """The place of one session or join in a database.

    Failures of the database are ``errors``, which ``explain`` turns into sentences; after those in ``away`` it may be
    back soon. ``where`` names the database in sentences. From ``begin`` to ``append`` or ``rollback`` lies one
    transaction. A store is used by one thread at a time, and by whichever thread has its turn.
    """

    where: str
    errors: tuple[type[Exception], ...]
    away: tuple[type[Exception], ...]

    def names(self) -> dict[str, str]:
        """Return the names in the database, oldest first, and of what kind each is."""

    def create(self, kind: str, snapshot: Snapshot) -> bool:
        """Write a first snapshot, all of it or nothing, making the database if need be; False if the name is taken."""

    def begin(self, after: int, *, writes: bool) -> Sequence[Entry] | None:
        """Start a transaction and return the entries after one; None if nobody has written since the last ``begin``.

        One that writes waits for others; readers wait for nobody, and need no transaction where they get None. Raise
        Missing if the name is gone. A transaction that was left open is ended first.
        """

    def entries(self, after: int) -> Sequence[Entry]:
        """Return the entries after one, in their order."""

    def snapshot(self) -> Snapshot | None:
        """Return the snapshot; None if there is nothing of this name."""

    def append(self, entry: Entry) -> None:
        """Write an entry and end the transaction; durable when it returns. If it raises, all was written or nothing."""

    def rollback(self) -> None:
        """End a transaction without a trace; do nothing where none is open."""

    def replace(self, snapshot: Snapshot, oldest: bytes) -> None:
        """Write a snapshot if it is later than the one there is; drop entries before it of tokens before ``oldest``."""

    def rename(self, name: str) -> bool:
        """Take another name, in the database too; False if that is taken."""

    def remove(self) -> None:
        """Remove all that is under the name, in a transaction of its own; do nothing if it is gone."""

    def close(self) -> None:
        """Let go of the database; may be called again."""

    def explain(self, error: Exception) -> str:
        """Return a sentence for one of ``errors``."""
