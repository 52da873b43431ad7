"""Sessions in a PostgreSQL database, for several processes or hosts (extra ``postgres``).

A call takes two round trips: one that takes the lock and asks for entries, and one that writes and commits.
"""

from __future__ import annotations

import os
import re
from collections import deque
from threading import Lock
from typing import Any
from urllib.parse import unquote

from tarry.errors import Missing, StoreError
from tarry.live.configuration import FORMAT
from tarry.live.stores import without_password
from tarry.live.stores.base import CLOSED, PATIENCE, PROCESS, Entry, Snapshot

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict
    from psycopg_pool import ConnectionPool, PoolTimeout
except ImportError as error:
    raise StoreError("a postgresql:// store needs psycopg and psycopg_pool: pip install 'tarry[postgres]'") from error

MOST = 16  # connections of a process to one database
_AT_ONCE = 5.0  # seconds in which a server answers that is there
_LOCK = 0x54617279  # an advisory lock, so that two processes do not make the tables at once
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS tarry_format (version INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS tarry_objects (number SERIAL PRIMARY KEY, name TEXT UNIQUE NOT NULL, "
    "kind TEXT NOT NULL, seq BIGINT NOT NULL, tokens BYTEA NOT NULL, body BYTEA NOT NULL)",
    "CREATE TABLE IF NOT EXISTS tarry_journal (object INTEGER, seq BIGINT, token BYTEA NOT NULL, body BYTEA NOT NULL, "
    "PRIMARY KEY (object, seq))",
)
_ENTRIES = "SELECT seq, token, body FROM tarry_journal WHERE object = %s AND seq > %s ORDER BY seq"
# A host that is gone without a word is noticed; what the address says of these goes first.
_OPTIONS: dict[str, Any] = {
    "connect_timeout": 10,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
# A process that has stopped in the middle of a call must not keep the others waiting for ever.
_SETTINGS = (
    "SELECT set_config('client_min_messages', 'warning', false), set_config('synchronous_commit', %s, false), "
    "set_config('lock_timeout', %s, false), set_config('idle_in_transaction_session_timeout', %s, false)"
)
_inherited: list[Any] = []  # what a parent process has open, which must not be closed here
_orphans: deque[Any] = deque()  # connections of calls that were cut short, to be given back
_pools: dict[tuple[str, str, int], Shared] = {}
_making = Lock()


def _renew_lock() -> None:
    global _making
    _making = Lock()  # whoever held the old one is not there after a fork


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


class Shared:
    """The connections of this process to an address, which its sessions and joins share; closed after the last one."""

    def __init__(self, url: str, commit_mode: str) -> None:
        self.process, self.users = os.getpid(), 0

        def configure(connection: psycopg.Connection[Any]) -> None:
            connection.execute(_SETTINGS, (commit_mode, f"{1000 * PATIENCE:.0f}", f"{500 * PATIENCE:.0f}"))

        options = _OPTIONS | conninfo_to_dict(url) | {"autocommit": True}
        self.pool = ConnectionPool(
            kwargs=options, min_size=0, max_size=MOST, timeout=PATIENCE, configure=configure, open=True
        )

    def take(self) -> psycopg.Connection[Any]:
        """Return a connection, new if none waits; wait where all are at work."""
        while _orphans:
            shared, connection = _orphans.popleft()
            if connection is not None:
                self._return(shared, connection)
            shared.leave()
        while True:  # the pool's own check would wait between two that have ended
            try:
                connection = self.pool.getconn(timeout=_AT_ONCE)
            except PoolTimeout:
                if self.pool.get_stats()["pool_size"] < MOST:  # the server does not answer
                    raise
                connection = self.pool.getconn()
            if _is_alive(connection):
                return connection
            self._return(self, connection)

    @staticmethod
    def _return(shared: Shared, connection: psycopg.Connection[Any]) -> None:
        connection.close()
        if shared.process == os.getpid():
            shared.pool.putconn(connection)

    def leave(self) -> None:
        """Count one user less; after the last, nothing stays open."""
        with _making:
            self.users -= 1
            if self.users or self.process != os.getpid():
                return
            for key in [key for key, shared in _pools.items() if shared is self]:
                del _pools[key]
        self.pool.close(timeout=1.0)


def _is_alive(connection: psycopg.Connection[Any]) -> bool:
    """Return whether the server has not ended a connection that was waiting, as far as this system knows."""
    try:
        for _ in range(2):  # its last words, and then the end
            connection.pgconn.consume_input()
    except psycopg.Error:
        return False
    return not connection.closed


def _shared(url: str, commit_mode: str) -> Shared:
    """Return the connections of this process to an address; none survives a fork."""
    with _making:
        shared = _pools.get((url, commit_mode, os.getpid()))
        if shared is None:
            shared = _pools[url, commit_mode, os.getpid()] = Shared(url, commit_mode)
        shared.users += 1
        return shared


class Postgres:
    """One session in a PostgreSQL database. No table is made before :meth:`create`."""

    where = "the database"
    errors: tuple[type[Exception], ...] = (psycopg.Error,)
    away: tuple[type[Exception], ...] = (psycopg.OperationalError,)

    def __init__(self, url: str, name: str, *, durability: str, must_exist: bool = False) -> None:
        self.url, self.name = url, name
        self._commit_mode = "off" if durability == PROCESS else "on"
        self._number: int | None = None
        self._is_closed = False
        self._held: psycopg.Connection[Any] | None = None  # while a transaction is under way
        self._shared = None
        try:
            if (url, self._commit_mode, os.getpid()) not in _pools:
                # First a connection by itself: it says why there is none, where a pool would only wait.
                psycopg.connect(**_OPTIONS | conninfo_to_dict(url)).close()
            self._shared = _shared(url, self._commit_mode)
            try:
                self._has_tables = _has_tables(self._ready(), must_exist=must_exist)
            finally:
                self._let_go()
        except BaseException as error:
            self.close()
            if isinstance(error, psycopg.Error):
                raise StoreError(self.explain(error)) from None  # its own text may quote the password
            raise

    def _ready(self) -> psycopg.Connection[Any]:
        """Return the connection of the transaction under way, or one to begin with."""
        if self._is_closed or self._shared is None:
            raise StoreError(CLOSED)
        if self._shared.process != os.getpid():
            _inherited.append((self._shared, self._held))
            self._shared, self._held = _shared(self.url, self._commit_mode), None
        if self._held is None:
            self._held = self._shared.take()
        return self._held

    def _let_go(self) -> None:
        """Hand the connection back where no transaction is under way; a broken one is closed."""
        held = self._held
        if held is not None and self._shared is not None and (held.closed or not held.info.transaction_status):
            self._held = None
            self._shared.pool.putconn(held)

    def _ask(self, query: str, *arguments: Any) -> list[Any]:
        """Return the rows of a query, in the transaction under way or in one of its own."""
        try:
            return self._ready().execute(query, arguments, binary=True).fetchall()
        finally:
            self._let_go()

    def names(self) -> dict[str, str]:
        return dict(self._ask("SELECT name, kind FROM tarry_objects ORDER BY number")) if self._has_tables else {}

    def snapshot(self) -> Snapshot | None:
        if not self._has_tables:
            return None
        rows = self._ask("SELECT number, seq, tokens, body FROM tarry_objects WHERE name = %s", self.name)
        if not rows:
            return None
        self._number, *found = rows[0]
        return Snapshot(*found)

    def create(self, kind: str, snapshot: Snapshot) -> bool:
        if not self._has_tables:
            with self._ready().transaction():
                self._ready().execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
                for statement in _SCHEMA:
                    self._ready().execute(statement)
                if self._ready().execute("SELECT version FROM tarry_format").fetchone() is None:
                    self._ready().execute("INSERT INTO tarry_format VALUES (%s)", (FORMAT,))
            self._has_tables = True
        added = (
            "INSERT INTO tarry_objects (name, kind, seq, tokens, body) VALUES (%s, %s, %s, %s, %s) "
            "ON CONFLICT DO NOTHING RETURNING number"
        )
        rows = self._ask(added, self.name, kind, *snapshot)
        if rows:
            self._number = rows[0][0]
        return bool(rows)

    def begin(self, after: int, *, writes: bool) -> list[Entry]:
        self.rollback()
        if self._number is None and self.snapshot() is None:
            raise Missing(f"{self.name!r} is gone from the database")
        # A writer that has waited must see what it has waited for, whatever the database's default is.
        how = "BEGIN ISOLATION LEVEL READ COMMITTED" if writes else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
        look = f"SELECT 1 FROM tarry_objects WHERE number = {self._number}" + " FOR UPDATE" * writes
        # In one message, and not as a pipeline: after that the server would not end a transaction that rests too long.
        cursor = self._ready().execute(f"{how}; {look}; {_ENTRIES % (self._number, after)}")
        cursor.nextset()
        is_there = cursor.fetchone() is not None
        cursor.nextset()
        if not is_there:
            raise Missing(f"{self.name!r} is gone from the database")
        return [Entry(*row) for row in cursor]

    def entries(self, after: int) -> list[Entry]:
        return [Entry(*row) for row in self._ask(_ENTRIES, self._number, after)]

    def append(self, entry: Entry) -> None:
        connection = self._ready()
        with connection.pipeline():
            connection.execute("INSERT INTO tarry_journal VALUES (%s, %s, %s, %s)", (self._number, *entry))
            connection.execute("COMMIT")
        self._let_go()

    def replace(self, snapshot: Snapshot, oldest: bytes) -> None:
        with self._ready().transaction():
            run = self._ready().execute
            wanted = "UPDATE tarry_objects SET seq = %s, tokens = %s, body = %s WHERE number = %s AND seq < %s"
            if run(wanted, (*snapshot, self._number, snapshot.seq)).rowcount:
                gone = "DELETE FROM tarry_journal WHERE object = %s AND seq < %s AND token < %s"
                run(gone, (self._number, snapshot.seq, oldest))
        self._let_go()

    def rename(self, name: str) -> bool:
        wanted = (
            "UPDATE tarry_objects SET name = %s WHERE name = %s "
            "AND NOT EXISTS (SELECT 1 FROM tarry_objects WHERE name = %s) RETURNING 1"
        )
        is_done = bool(self._ask(wanted, name, self.name, name))
        self.name = name if is_done else self.name
        return is_done

    def rollback(self) -> None:
        if self._held is None or self._shared is None or self._shared.process != os.getpid():  # else the parent's own
            return
        try:
            if not self._held.closed and self._held.info.transaction_status:
                self._held.execute("ROLLBACK")
        except psycopg.Error:  # the end of a connection is the end of its transaction too
            self._held.close()
        self._let_go()

    def remove(self) -> None:
        if self.snapshot() is None:
            return
        with self._ready().transaction():
            run = self._ready().execute
            # Whoever writes holds the row: the end of that call is waited for.
            run("DELETE FROM tarry_objects WHERE number = %s", (self._number,))
            run("DELETE FROM tarry_journal WHERE object = %s", (self._number,))
        self._let_go()

    def close(self) -> None:
        self._is_closed = True
        shared, self._shared = self._shared, None
        held, self._held = self._held, None
        if shared is None:
            return
        if shared.process != os.getpid():
            _inherited.append((shared, held))
            return
        if held is not None:
            held.close()  # which ends a transaction that is under way
            shared.pool.putconn(held)
        shared.leave()

    def __del__(self) -> None:
        shared = getattr(self, "_shared", None)
        if shared is not None:  # of whoever was never closed: no lock may be taken here
            _orphans.append((shared, self._held))

    def explain(self, error: Exception) -> str:
        said = self._without_secrets(str(error)).strip()
        first = said.splitlines()[0] if said else type(error).__name__
        if isinstance(error, psycopg.errors.LockNotAvailable):
            return f"another process has held {self.name!r} for {PATIENCE:.0f} seconds; nothing was changed: call again"
        if isinstance(error, psycopg.errors.DiskFull):
            return "the database's disk is full, so nothing was changed: make room and call again"
        if isinstance(error, psycopg.OperationalError):
            remedy = "nothing was stored: call again when it is back, or give patience=, in seconds"
            return f"the database cannot be reached or is shutting down ({first}); {remedy}"
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


def _has_tables(connection: psycopg.Connection[Any], *, must_exist: bool) -> bool:
    """Return whether there are tables of this format; whoever opens a session needs no right to make them."""
    found = connection.execute("SELECT to_regclass('tarry_format') IS NOT NULL").fetchone()
    written = connection.execute("SELECT version FROM tarry_format").fetchone() if found and found[0] else None
    if written is None:
        if must_exist:
            raise Missing("the database holds nothing of Tarry's: make a session or join first (tarry join new)")
        return False
    if written[0] != FORMAT:
        raise StoreError(
            f"the database is in format {written[0]}, this version of Tarry reads {FORMAT}; it was left as it is: use "
            "the version that wrote it"
        )
    return True
