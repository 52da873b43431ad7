"""Sessions in a PostgreSQL database, for several processes or hosts (extra ``postgres``)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from tarry.errors import Missing, StoreError
from tarry.live.buffers import HEAD, REGIONS, STATE, Chunk, remade_head
from tarry.live.configuration import FORMAT, upgraded
from tarry.live.encoding import ItemRow
from tarry.live.stores import CLOSED, LATER, OLD, PATIENCE, PROCESS, Change, without_password

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict
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
# A process that has stopped in the middle of a call must not keep the others waiting for ever.
_SETTINGS = (
    "SELECT set_config('client_min_messages', 'warning', false), set_config('synchronous_commit', %s, false), "
    "set_config('lock_timeout', %s, false), set_config('idle_in_transaction_session_timeout', %s, false)"
)
# A host that is gone without a word is noticed; what the address says of these goes first.
_OPTIONS: dict[str, Any] = {
    "connect_timeout": 10,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
_inherited: list[Any] = []  # connections of a parent process, which must not be closed here


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
        self._upgrades, self.was_format = upgrade, FORMAT
        try:
            self._connect()
            try:
                self._has_tables = self._check_tables(must_exist)
            except BaseException:
                self.close()
                raise
        except psycopg.Error as error:
            raise StoreError(self.explain(error)) from None  # its own text may quote the password

    def _connect(self) -> None:
        database = psycopg.connect(**_OPTIONS | conninfo_to_dict(self.url), autocommit=True)
        try:
            database.execute(_SETTINGS, (self._commit_mode, f"{1000 * PATIENCE:.0f}", f"{500 * PATIENCE:.0f}"))
        except BaseException:
            database.close()
            raise
        self._process, self._database = os.getpid(), database

    def _check_tables(self, must_exist: bool) -> bool:
        """Return whether there are tables of this format; those of an earlier one are brought to it if asked for.

        Whoever opens a session needs no right to make tables, and leaves none.
        """
        run = self._database.execute
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
        with self._database.transaction():
            run = self._database.execute
            run("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            for statement in _SCHEMA:
                run(statement)
            if run("SELECT version FROM tarry_format").fetchone() is None:
                run("INSERT INTO tarry_format VALUES (%s)", (FORMAT,))
        self._has_tables = True

    def _upgrade(self) -> None:
        """Bring tables of an earlier format to this one, in one transaction; the first had a table of heads."""
        with self._database.transaction():
            run = self._database.execute
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

    def _ready(self) -> psycopg.Connection[Any]:
        if self._is_closed:
            raise StoreError(CLOSED)
        is_inherited = self._process != os.getpid()  # a connection does not survive a fork
        if is_inherited:
            _inherited.append(self._database)
        if is_inherited or self._database.closed:  # lost: whatever was not committed is gone with it
            self._connect()
        return self._database

    def names(self) -> list[str]:
        if not self._has_tables:
            return []
        return [row[0] for row in self._ready().execute("SELECT name FROM tarry_sessions ORDER BY number")]

    def configuration(self) -> tuple[str, int] | None:
        if not self._has_tables:
            return None
        wanted = "SELECT number, configuration, checksum FROM tarry_sessions WHERE name = %s"
        found = self._ready().execute(wanted, (self.name,)).fetchone()
        if found is None:
            return None
        self._number, text, checksum = found
        return text, checksum

    def create(self, configuration: str, checksum: int, change: Change) -> bool:
        run = self._ready().execute
        if not self._has_tables:
            self._make_tables()
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
        start = "BEGIN" if writes else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
        try:
            self._ready().execute(start)
        except psycopg.OperationalError:  # lost while nobody called; nothing was begun, so a new one will do
            self._database.close()
            self._ready().execute(start)
        run = self._database.execute
        wanted = "SELECT version, checksum, data FROM tarry_state WHERE session = %s AND chunk = %s"
        found = run(wanted + " FOR UPDATE" * writes, (self._number, HEAD), binary=True).fetchone()
        if found is None:
            raise Missing(f"{self.name!r} is gone from the database")
        return Chunk(HEAD, *found)

    def rollback(self) -> None:
        if self._process != os.getpid():  # the transaction is the parent's own, and so is the connection
            return
        try:
            if not self._database.closed and self._database.info.transaction_status:
                self._database.execute("ROLLBACK")
        except psycopg.Error:  # the end of a connection is the end of its transaction too
            self._database.close()

    def chunks(self, region: str, since: int, numbers: range | None = None) -> Iterator[Chunk]:
        first, last = (0, 1 << 40) if numbers is None else (numbers.start, numbers.stop - 1)
        found = self._database.execute(
            f"SELECT chunk, version, checksum, data FROM tarry_{region} "
            "WHERE session = %s AND chunk BETWEEN %s AND %s AND version > %s ORDER BY chunk",
            (self._number, first, last, since),
            binary=True,
        )
        for row in found:
            yield Chunk(*row)

    def row(self, t: int) -> ItemRow | None:
        wanted = "SELECT body, play, payload, checksum FROM tarry_items WHERE session = %s AND round = %s"
        found = self._database.execute(wanted, (self._number, t), binary=True).fetchone()
        return None if found is None else ItemRow(*found)

    def commit(self, change: Change) -> None:
        cursor = self._database.cursor()
        gone = [t for t, row in change.rows.items() if row is None]
        kept = [(self._number, t, *row) for t, row in change.rows.items() if row is not None]
        with self._database.pipeline():
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

    def remove(self) -> None:
        if self.configuration() is None:
            return
        with self._ready().transaction():
            run = self._database.execute
            # Whoever writes holds the head: the end of that call is waited for.
            run("SELECT 1 FROM tarry_state WHERE session = %s AND chunk = %s FOR UPDATE", (self._number, HEAD))
            for table in (*REGIONS, "items"):
                run(f"DELETE FROM tarry_{table} WHERE session = %s", (self._number,))
            run("DELETE FROM tarry_sessions WHERE number = %s", (self._number,))

    def close(self) -> None:
        self._is_closed = True
        if self._process == os.getpid():
            self._database.close()

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
