"""What a store is: numbered versions of a session's bytes, changed in one transaction each.

A store keeps, for each named session, its configuration, chunks of the regions (see ``live.regions``), and one row
for each tracked or recent round. It knows nothing of what they mean. A transaction begins by telling the version
that is stored; whoever holds an older one loads the chunks that have changed since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol
from zlib import crc32

from tarry.errors import StoreError
from tarry.live.items import ItemRow
from tarry.live.regions import FATES, IDS, STATE

MAIN = "main"
POWER, PROCESS = "power", "process"
TABLES = {STATE: "tarry_state", FATES: "tarry_fates", IDS: "tarry_ids"}
CLOSED = "this was closed: open it again"


class Head(NamedTuple):
    """Where a session stands: its version, and the slots its state is laid out for."""

    version: int
    slots: int


class Chunk(NamedTuple):
    """A piece of a region."""

    number: int
    data: bytes


def checksum_of(place: int, version: int, data: bytes) -> int:
    """A checksum of a chunk, where it belongs and the version it was written at; -1 of what is no chunk."""
    if not (isinstance(version, int) and isinstance(data, bytes)):
        return -1  # SQLite's columns have no fixed type: damage may turn bytes into a number
    return crc32(data, crc32(b"%d at %d" % (place, version)))


Damaged = Callable[[str], StoreError]  # what to raise about a place in the tables


def chunk_of(region: int, row: tuple[Any, ...], damaged: Damaged) -> Chunk:
    """The chunk of a row of number, version, checksum and data."""
    number, version, checksum, data = row
    if checksum_of(number, version, data) != checksum:
        raise damaged(f"chunk {number} of {TABLES[region]}")
    return Chunk(number, data)


def item_row_of(t: int, row: tuple[Any, ...] | None, damaged: Damaged) -> ItemRow | None:
    """The item row of body, play, payload and checksum, if there is one."""
    if row is None:
        return None
    *parts, checksum = row
    found = ItemRow(*parts)
    if found.checksum(t) != checksum:
        raise damaged(f"round {t} of tarry_items")
    return found


def configuration_of(text: Any, checksum: int, damaged: Damaged) -> str:
    """A configuration that is as it was written."""
    if crc32(str(text).encode()) != checksum:
        raise damaged("tarry_sessions")
    return str(text)


class Store(Protocol):
    """One session's place in a database. Failures are ``errors``; ``explain`` says them in a sentence."""

    is_durable: bool
    errors: tuple[type[Exception], ...]

    def names(self) -> list[str]:
        """The sessions in the database."""

    def configuration(self) -> str | None:
        """The session's configuration, or None if there is none of this name."""

    def create(self, configuration: str, slots: int, chunks: Mapping[int, Iterable[tuple[int, bytes]]]) -> bool:
        """Write a new session at version 1; False if somebody was faster."""

    def begin(self) -> Head:
        """Start a transaction that may write; others wait."""

    def look(self) -> Head:
        """Start a transaction that only reads; nobody waits."""

    def leave(self) -> None:
        """End a transaction without a trace."""

    def changed(self, region: int, since: int, only: range | None = None) -> Iterable[Chunk]:
        """Chunks of a region newer than a version, among those in ``only``."""

    def item(self, t: int) -> ItemRow | None:
        """The row of a round."""

    def commit(
        self,
        head: Head,
        chunks: Mapping[int, Iterable[tuple[int, bytes]]],
        items: Mapping[int, ItemRow | None],
    ) -> None:
        """Write changed chunks and rows (None: deleted) and the new head; durable when it returns."""

    def size(self) -> int:
        """Bytes in use."""

    def close(self) -> None:
        """Let go of the database."""

    def explain(self, error: Exception) -> str:
        """A failure as a sentence."""
