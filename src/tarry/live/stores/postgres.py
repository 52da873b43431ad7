"""Sessions in a PostgreSQL database, for several processes or hosts (extra ``postgres``)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import unquote

from tarry.errors import Missing, StoreError
from tarry.live.buffers import HEAD, REGIONS, STATE, Chunk, remade_head
from tarry.live.configuration import FORMAT, upgraded
from tarry.live.encoding import ItemRow
from tarry.live.stores import CLOSED, LATER, OLD, PATIENCE, PROCESS, Change, without_password

try:
    import psycopg
    from psycopg.pq import TransactionStatus

    from tarry.live.stores.connections import Connection, pool_of
except ImportError as error:
    raise StoreError("a postgresql:// store needs psycopg: pip install 'tarry[postgres]'") from error

_LOCK = 0x54617279  # an advisory lock, so that two processes do not make or change the tables at once
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS tarry_format (version INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS tarry_sessions "
    "(number SERIAL PRIMARY KEY, name TEXT UNIQUE NOT NULL, configuration TEXT NOT NULL, checksum BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS tarry_items (session INTEGER, round BIGINT, body TEXT NOT NULL, "
    "play BYTEA NOT NULL, payload BYTEA, checksum BIGINT NOT NULL, PRIMARY KEY (session, round))",
    *(
        f"CREATE TABLE IF NOT EXISTS tarry_{region} (session INTEGER, chunk BIGINT, version BIGINT NOT NULL, "
        "checksum BIGINT NOT NULL, data BYTEA NOT NULL, PRIMARY KEY (session, chunk))"
        for region in REGIONS
    ),
)
_inherited: list[Any] = []  # what a parent process has open, which must not be closed here


class Postgres:
    """One session in a PostgreSQL database. No table is made before :meth:`create`."""

    where = "the database"
    errors: tuple[type[Exception], ...] = (psycopg.Error,)

    def __init__(
        self, url: str, name: str, *, durability: str, must_exist: bool = False, upgrade: bool = False
    ) -> None:
        self.url, self.name = url, name
        self._commit_mode = "off" if durability == PROCESS else "on"
        self._number: int | None = None
        self._is_closed = False
        self._held: Connection | None = None  # while a transaction is under way
        self._upgrades, self.was_format = upgrade, FORMAT
        self._pool = pool_of(url, self._commit_mode)
        try:
            self._has_tables = self._check_tables(must_exist)
            self._let_go()
        except BaseException as error:
            self.close()
            if isinstance(error, psycopg.Error):
                raise StoreError(self.explain(error)) from None  # its own text may quote the password
            raise

    def _check_tables(self, must_exist: bool) -> bool:
        """Return whether there are tables of this format; those of an earlier one are brought to it if asked for.

        Whoever opens a session needs no right to make tables, and leaves none.
        """
        run = self._ready().execute
        found = run("SELECT to_regclass('tarry_format') IS NOT NULL").fetchone()
        written = run("SELECT version FROM tarry_format").fetchone() if found and found[0] else None
        if written is None:
            if must_exist:
                raise Missing("the database holds nothing of Tarry's: make a session or join first (tarry join new)")
            return False
        self.was_format = written[0]
        if self.was_format > FORMAT:
            raise StoreError(LATER.format(self.where, self.was_format, FORMAT))
        if self.was_format < FORMAT:
            if not self._upgrades:
                raise StoreError(OLD.format(self.where, self.was_format, FORMAT, without_password(self.url)))
            self._upgrade()
        return True

    def _make_tables(self) -> None:
        with self._ready().transaction():
            run = self._ready().execute
            run("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            for statement in _SCHEMA:
                run(statement)
            if run("SELECT version FROM tarry_format").fetchone() is None:
                run("INSERT INTO tarry_format VALUES (%s)", (FORMAT,))
        self._has_tables = True

    def _upgrade(self) -> None:
        """Bring tables of an earlier format to this one, in one transaction; the first had a table of heads."""
        with self._ready().transaction():
            run = self._ready().execute
            run("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            written = run("SELECT version FROM tarry_format").fetchone()
            if written is None or written[0] >= FORMAT:
                return  # somebody was faster
            is_first = written[0] == 1
            heads, data = ("tarry_heads", "0, slots") if is_first else (f"tarry_{STATE}", "h.checksum, data")
            run(f"LOCK TABLE {heads} IN ACCESS EXCLUSIVE MODE")
            wanted = (
                f"SELECT number, configuration, s.checksum, version, {data} FROM tarry_sessions s "
                f"JOIN {heads} h ON number = session"
            ) + ("" if is_first else f" WHERE chunk = {HEAD}")
            for number, text, checksum, version, of_head, found in run(wanted).fetchall():
                run(_RECONFIGURE, (*upgraded((text, checksum), self.where), number))
                wanted = "SELECT coalesce(sum(checksum), 0) FROM tarry_{} WHERE session = %s AND chunk >= 0"
                sums = [run(wanted.format(region), (number,)).fetchone() for region in REGIONS]
                total = sum(int(one[0]) for one in sums if one)
                head = Chunk(HEAD, version, of_head, found.to_bytes(4, "little") if is_first else found)
                run(_UPSERT.format(STATE), (number, *remade_head(head, total, self.where)))
            run("DROP TABLE IF EXISTS tarry_heads")
            run("UPDATE tarry_format SET version = %s", (FORMAT,))

    def _ready(self) -> Connection:
        """Return the connection of the transaction under way, or one to begin with."""
        if self._is_closed:
            raise StoreError(CLOSED)
        if self._pool.process != os.getpid():
            _inherited.append((self._pool, self._held))
            self._pool, self._held = pool_of(self.url, self._commit_mode), None
        if self._held is None:
            self._held = self._pool.take()
        return self._held

    def _let_go(self) -> None:
        """Hand the connection back where no transaction is under way; a broken one is closed."""
        held = self._held
        if held is not None and (held.closed or not held.info.transaction_status):
            self._held = None
            self._pool.give(held)

    def names(self) -> list[str]:
        if not self._has_tables:
            return []
        try:
            return [row[0] for row in self._ready().execute("SELECT name FROM tarry_sessions ORDER BY number")]
        finally:
            self._let_go()

    def configuration(self) -> tuple[str, int] | None:
        if not self._has_tables:
            return None
        wanted = "SELECT number, configuration, checksum FROM tarry_sessions WHERE name = %s"
        try:
            found = self._ready().execute(wanted, (self.name,)).fetchone()
        finally:
            self._let_go()
        if found is None:
            return None
        self._number, text, checksum = found
        return text, checksum

    def create(self, configuration: str, checksum: int, change: Change) -> bool:
        run = self._ready().execute
        if not self._has_tables:
            self._make_tables()
        if not self._ready().info.transaction_status:  # else it is that of ``making``
            run("BEGIN")
        try:
            added = run(
                "INSERT INTO tarry_sessions (name, configuration, checksum) VALUES (%s, %s, %s) "
                "ON CONFLICT DO NOTHING RETURNING number",
                (self.name, configuration, checksum),
            ).fetchone()
            if added is not None:
                self._number = added[0]
                self.commit(change)
            return added is not None
        finally:
            self.rollback()  # where nothing was committed

    def begin(self, *, writes: bool) -> Chunk:
        run = self._ready().execute
        run("BEGIN" if writes else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        wanted = "SELECT version, checksum, data FROM tarry_state WHERE session = %s AND chunk = %s"
        found = run(wanted + " FOR UPDATE" * writes, (self._number, HEAD), binary=True).fetchone()
        if found is None:
            raise Missing(f"{self.name!r} is gone from the database")
        return Chunk(HEAD, *found)

    @contextmanager
    def held(self) -> Iterator[Chunk]:
        """Hold a transaction that writes while this process makes others; yield the head."""
        with self._pool.resting:
            try:
                head = self.begin(writes=True)
                self.keep()
                yield head
            finally:
                self.rollback()  # where nothing was committed

    @contextmanager
    def making(self) -> Iterator[None]:
        """Hold a lock on a name until :meth:`create`, while this process makes what belongs to it under others."""
        with self._pool.resting:
            try:
                run = self._ready().execute
                run("BEGIN")
                self.keep()
                run("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", (_LOCK, self.name))
                self._has_tables = self._check_tables(must_exist=False)  # others may have made them
                yield
            finally:
                self.rollback()

    def keep(self) -> None:
        """Let the transaction under way rest as long as it takes; raise StoreError if it has ended, with its locks."""
        held = self._held
        if held is not None and held.info.transaction_status is TransactionStatus.INTRANS:
            with suppress(psycopg.Error):
                held.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
                return
        raise StoreError(f"the lock of {self.name!r} is gone, with the connection that held it: call again")

    def rollback(self) -> None:
        if self._held is None or self._pool.process != os.getpid():  # else it is the parent's own, with its connection
            return
        try:
            if not self._held.closed and self._held.info.transaction_status:
                self._held.execute("ROLLBACK")
        except psycopg.Error:  # the end of a connection is the end of its transaction too
            self._held.close()
        self._let_go()

    def chunks(self, region: str, since: int, numbers: range | None = None) -> Iterator[Chunk]:
        first, last = (0, 1 << 40) if numbers is None else (numbers.start, numbers.stop - 1)
        found = self._ready().execute(
            f"SELECT chunk, version, checksum, data FROM tarry_{region} "
            "WHERE session = %s AND chunk BETWEEN %s AND %s AND version > %s ORDER BY chunk",
            (self._number, first, last, since),
            binary=True,
        )
        for row in found:
            yield Chunk(*row)

    def row(self, t: int) -> ItemRow | None:
        wanted = "SELECT body, play, payload, checksum FROM tarry_items WHERE session = %s AND round = %s"
        found = self._ready().execute(wanted, (self._number, t), binary=True).fetchone()
        return None if found is None else ItemRow(*found)

    def commit(self, change: Change) -> None:
        cursor = self._ready().cursor()
        gone = [t for t, row in change.rows.items() if row is None]
        kept = [(self._number, t, *row) for t, row in change.rows.items() if row is not None]
        with self._ready().pipeline():
            if change.configuration is not None:
                cursor.execute(_RECONFIGURE, (*change.configuration, self._number))
                for region in REGIONS:
                    cursor.execute(f"DELETE FROM tarry_{region} WHERE session = %s AND chunk >= 0", (self._number,))
            for region, chunks in change.chunks.items():
                wanted = [*chunks, change.head] if region == STATE else chunks
                if wanted:
                    cursor.executemany(_UPSERT.format(region), [(self._number, *chunk) for chunk in wanted])
            if gone:
                cursor.execute("DELETE FROM tarry_items WHERE session = %s AND round = ANY(%s)", (self._number, gone))
            if kept:
                cursor.executemany(_KEEP, kept)
            cursor.execute("COMMIT")
        self._let_go()

    def remove(self) -> None:
        if self.configuration() is None:
            return
        with self._ready().transaction():
            run = self._ready().execute
            # Whoever writes holds the head: the end of that call is waited for.
            run("SELECT 1 FROM tarry_state WHERE session = %s AND chunk = %s FOR UPDATE", (self._number, HEAD))
            for table in (*REGIONS, "items"):
                run(f"DELETE FROM tarry_{table} WHERE session = %s", (self._number,))
            run("DELETE FROM tarry_sessions WHERE number = %s", (self._number,))
        self._let_go()

    def close(self) -> None:
        if self._is_closed or self._pool.process != os.getpid():
            self._is_closed = True
            return
        self._is_closed = True
        if self._held is not None:
            self._held.close()  # which ends a transaction that is under way
            self._let_go()
        self._pool.leave()

    def explain(self, error: Exception) -> str:
        said = self._without_secrets(str(error)).strip()
        first = said.splitlines()[0] if said else type(error).__name__
        if isinstance(error, psycopg.errors.LockNotAvailable):
            return f"another process has held {self.name!r} for {PATIENCE:.0f} seconds; nothing was changed: call again"
        if isinstance(error, psycopg.errors.DiskFull):
            return "the database's disk is full, so nothing was changed: make room and call again"
        if isinstance(error, psycopg.OperationalError):
            return f"the database cannot be reached or is shutting down ({first}); call again when it is back"
        return f"the database says {first!r}; nothing was changed"

    def _without_secrets(self, text: str) -> str:
        """Return a sentence of the driver's without passwords: it may quote the address, or a piece of it."""
        before, _, options = self.url.partition("://")[2].partition("?")
        given = [before.rpartition("@")[0].partition(":")[2]]
        given += [part.partition("=")[2] for part in options.split("&") if "password" in part]
        if "@" in options:  # the password may have held the question mark
            given.append(self.url.partition("://")[2].rpartition("@")[0].partition(":")[2])
        pieces = {p for one in given for s in (one, unquote(one)) for p in (s, *re.split(r"[@/?#%&:\s]", s)) if p}
        text = text.replace(self.url, without_password(self.url))
        for piece in sorted(pieces, key=len, reverse=True):
            text = text.replace(piece, "***")
        return text


_RECONFIGURE = "UPDATE tarry_sessions SET configuration = %s, checksum = %s WHERE number = %s"
_UPSERT = (
    "INSERT INTO tarry_{0} VALUES (%s, %s, %s, %s, %s) ON CONFLICT (session, chunk) "
    "DO UPDATE SET version = excluded.version, checksum = excluded.checksum, data = excluded.data"
)
_KEEP = (
    "INSERT INTO tarry_items VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (session, round) "
    "DO UPDATE SET body = excluded.body, play = excluded.play, payload = excluded.payload, "
    "checksum = excluded.checksum"
)
