"""Sessions in one SQLite file: write-ahead log, one transaction per call, readers never wait."""

from __future__ import annotations

import os
import sqlite3
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from zlib import crc32

from tarry.errors import StoreError
from tarry.live.items import ItemRow
from tarry.live.regions import STATE
from tarry.live.stores.base import (
    CLOSED,
    PROCESS,
    TABLES,
    Chunk,
    Head,
    checksum_of,
    chunk_of,
    configuration_of,
    item_row_of,
)
from tarry.live.stores.files import check_file, check_same_file, identity_of, network_file_system
from tarry.live.stores.forks import let_go_of_parents, open_stores

APPLICATION = 0x54617279
FORMAT = 1
PATIENCE = 60.0  # seconds to wait for another writer
_SCHEMA = (
    "CREATE TABLE tarry_sessions (number INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, "
    "configuration TEXT NOT NULL, checksum INTEGER NOT NULL)",
    "CREATE TABLE tarry_items (place INTEGER PRIMARY KEY, body TEXT NOT NULL, play BLOB NOT NULL, payload BLOB, "
    "checksum INTEGER NOT NULL)",
    *(
        f"CREATE TABLE {table} "
        "(place INTEGER PRIMARY KEY, version INTEGER NOT NULL, checksum INTEGER NOT NULL, data BLOB NOT NULL)"
        for table in TABLES.values()
    ),
)
# The key of a row is the session's number above this bit and the chunk or round below it: rows of one
# session lie together, and a table that grows at its end stays packed. Row 0 of the state is the head (its data are
# the slots): a table of its own would cost every transaction another page.
_BITS = 40
_HEAD = 0
_FIRST = 1


class SQLite:
    """One session in a SQLite file."""

    is_durable = True
    errors: tuple[type[Exception], ...] = (sqlite3.Error,)

    def __init__(self, path: str, name: str, *, durability: str, must_exist: bool = False) -> None:
        self.path, self.name = Path(path).absolute(), name  # wherever the process goes later
        self._synchronous = "NORMAL" if durability == PROCESS else "FULL"
        check_file(self.path, APPLICATION, FORMAT, must_exist=must_exist)
        shared = network_file_system(self.path)
        if shared:
            warnings.warn(
                f"{self.path} lies on a network file system ({shared}), where SQLite's locks cannot be trusted: "
                "use a local disk, or a postgresql:// store",
                stacklevel=2,
            )
        self._number: int | None = None
        self._is_closed = False
        try:
            self._connect(must_exist=must_exist)
            self._file = identity_of(self.path)
        except sqlite3.Error as error:
            raise StoreError(self.explain(error)) from error

    def _connect(self, *, must_exist: bool) -> None:
        let_go_of_parents()
        self.process, self._is_lost = os.getpid(), False
        address = f"{self.path.as_uri()}?mode={'rw' if must_exist else 'rwc'}"
        self.database = sqlite3.connect(
            address, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False
        )
        try:
            self._set_up(must_exist)
        except BaseException:  # whoever keeps the error must not keep the file locked
            self.database.close()
            raise
        open_stores.add(self)

    def _set_up(self, must_exist: bool) -> None:
        if self._is_empty():
            if must_exist:
                raise StoreError(
                    f"{self.path} is empty: make a session or join first (tarry join new), or restore a copy"
                )
            self._make_tables()
        run = self.database.execute
        mode = self._switch_to_log()
        if mode != "wal":
            raise StoreError(
                f"{self.path} cannot have a write-ahead log (SQLite keeps the mode {mode!r}), so readers would wait "
                "for writers: put the file on a local disk"
            )
        run(f"PRAGMA synchronous = {self._synchronous}")
        run("PRAGMA fullfsync = 1")
        run("PRAGMA checkpoint_fullfsync = 1")

    def _switch_to_log(self) -> str:
        """Have a write-ahead log; SQLite does not wait by itself while another process is just doing the same."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return str(self.database.execute("PRAGMA journal_mode = WAL").fetchone()[0])
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def _make_tables(self) -> None:
        run = self.database.execute
        run("BEGIN IMMEDIATE")
        if self._is_empty():  # nobody was faster
            # The mark is written before the write-ahead log is switched on, so it stands in the file itself.
            run(f"PRAGMA application_id = {APPLICATION}")
            run(f"PRAGMA user_version = {FORMAT}")
            for statement in _SCHEMA:
                run(statement)
        run("COMMIT")

    def _is_empty(self) -> bool:
        return not self.database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]

    def _ready(self) -> sqlite3.Connection:
        if self._is_closed:
            raise StoreError(f"{self.path}: {CLOSED}")
        if self._is_lost or self.process != os.getpid():  # a connection does not survive a fork
            self._connect(must_exist=True)
        check_same_file(self.path, self._file)
        return self.database

    def names(self) -> list[str]:
        """The sessions in this file."""
        return [row[0] for row in self._ready().execute("SELECT name FROM tarry_sessions ORDER BY number")]

    def configuration(self) -> str | None:
        found = (
            self._ready()
            .execute("SELECT number, configuration, checksum FROM tarry_sessions WHERE name = ?", (self.name,))
            .fetchone()
        )
        if found is None:
            return None
        self._number, text, checksum = found
        return configuration_of(text, checksum, self._damaged)

    def create(self, configuration: str, slots: int, chunks: Mapping[int, Iterable[tuple[int, bytes]]]) -> bool:
        run = self._ready().execute
        run("BEGIN IMMEDIATE")
        try:
            if self.configuration() is not None:
                run("ROLLBACK")
                return False
            added = run(
                "INSERT INTO tarry_sessions (name, configuration, checksum) VALUES (?, ?, ?)",
                (self.name, configuration, crc32(configuration.encode())),
            )
            self._number = added.lastrowid
            self.commit(Head(1, slots), chunks, {})
        except BaseException:
            self.leave()
            raise
        return True

    def begin(self) -> Head:
        self._ready().execute("BEGIN IMMEDIATE")
        return self._head()

    def look(self) -> Head:
        self._ready().execute("BEGIN")
        return self._head()

    def leave(self) -> None:
        if self._is_closed or self.process != os.getpid():  # the transaction is the parent's own
            return
        try:
            if self.database.in_transaction:
                self.database.execute("ROLLBACK")
        except sqlite3.Error:  # the end of a connection is the end of its transaction too
            self._let_go()
            self._is_lost = True

    def _head(self) -> Head:
        found = self.database.execute(
            "SELECT version, checksum, data FROM tarry_state WHERE place = ?", (self._place(_HEAD),)
        ).fetchone()
        if found is None:
            raise StoreError(f"{self.name!r} is gone from {self.path}")
        version, checksum, slots = found
        if checksum_of(_HEAD, version, slots) != checksum:
            raise self._damaged("head of tarry_state")
        return Head(version, int.from_bytes(slots, "little"))

    def changed(self, region: int, since: int, only: range | None = None) -> Iterator[Chunk]:
        base = self._place(_FIRST)
        first, last = (0, (1 << _BITS) - 1 - _FIRST) if only is None else (only.start, only.stop - 1)
        found = self.database.execute(
            f"SELECT place, version, checksum, data FROM {TABLES[region]} WHERE place BETWEEN ? AND ? AND version > ? "
            "ORDER BY place",
            (base + first, base + last, since),
        )
        for place, *rest in found:
            yield chunk_of(region, (place - base, *rest), self._damaged)

    def item(self, t: int) -> ItemRow | None:
        found = self.database.execute(
            "SELECT body, play, payload, checksum FROM tarry_items WHERE place = ?", (self._place(t),)
        ).fetchone()
        return item_row_of(t, found, self._damaged)

    def commit(
        self,
        head: Head,
        chunks: Mapping[int, Iterable[tuple[int, bytes]]],
        items: Mapping[int, ItemRow | None],
    ) -> None:
        run, many = self.database.execute, self.database.executemany
        base = self._place(_FIRST)
        for region, pieces in chunks.items():
            rows = [(base + i, head.version, checksum_of(i, head.version, data), data) for i, data in pieces]
            if region == STATE:
                slots = head.slots.to_bytes(8, "little")
                rows.append((self._place(_HEAD), head.version, checksum_of(_HEAD, head.version, slots), slots))
            if rows:
                many(f"INSERT OR REPLACE INTO {TABLES[region]} VALUES (?, ?, ?, ?)", rows)
        gone = [(self._place(t),) for t, row in items.items() if row is None]
        kept = [(self._place(t), *row, row.checksum(t)) for t, row in items.items() if row is not None]
        if gone:
            many("DELETE FROM tarry_items WHERE place = ?", gone)
        if kept:
            many("INSERT OR REPLACE INTO tarry_items VALUES (?, ?, ?, ?, ?)", kept)
        check_same_file(self.path, self._file)
        run("COMMIT")

    def _place(self, index: int) -> int:
        assert self._number is not None
        return (self._number << _BITS) + index

    def size(self) -> int:
        run = self._ready().execute
        return int(run("PRAGMA page_count").fetchone()[0]) * int(run("PRAGMA page_size").fetchone()[0])

    def close(self) -> None:
        self._is_closed = True  # for good
        self._let_go()

    def _let_go(self) -> None:
        if self.process == os.getpid():
            open_stores.discard(self)
            self.database.close()

    def _damaged(self, place: str) -> StoreError:
        return StoreError(f"{self.path} is damaged ({place}) and was left as it is: restore a copy")

    def explain(self, error: Exception) -> str:
        text = str(error)
        for part, sentence in _SENTENCES.items():
            if part in text:
                return f"{self.path}: {sentence}"
        return f"{self.path}: the database says {text!r}; nothing was changed"


_SENTENCES: dict[str, Any] = {
    "closed database": CLOSED,
    "readonly": "the file or its folder is read-only, so nothing was changed: make both writable",
    "disk is full": "the disk is full, so nothing was changed: make room and call again",
    "locked": f"another process has held the file for {PATIENCE:.0f} seconds; nothing was changed: call again",
    "malformed": "the file is damaged and was left as it is: restore a copy",
    "not a database": "this is not a SQLite file; it was left as it is: give another path",
    "unable to open": "the file cannot be opened: does its folder exist, and may this user write there?",
    "disk I/O error": f"the disk reports an error ({sys.platform}); nothing was changed",
}
