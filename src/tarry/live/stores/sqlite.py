"""Sessions in one SQLite file: write-ahead log, one transaction per call, readers never wait."""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from struct import unpack_from
from typing import Any
from weakref import WeakSet

from tarry.errors import Missing, StoreError
from tarry.live.buffers import HEAD, REGIONS, STATE, Chunk, remade_head
from tarry.live.configuration import FORMAT, upgraded
from tarry.live.encoding import ItemRow
from tarry.live.stores import CLOSED, LATER, OLD, PATIENCE, PROCESS, Change

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

APPLICATION = 0x54617279
_LOGS = ("-wal", "-journal")  # with one of these, SQLite makes the file whole by itself
_EMPTY = "{} is empty: make a session or join first (tarry join new), or restore a copy"
_TABLE = (
    "CREATE TABLE tarry_{} "
    "(place INTEGER PRIMARY KEY, version INTEGER NOT NULL, checksum INTEGER NOT NULL, data BLOB NOT NULL);"
)
# Nothing is synchronised on the way: the whole file is, at the end.
_SCHEMA = f"""
PRAGMA synchronous = OFF;
BEGIN;
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {FORMAT};
CREATE TABLE tarry_sessions (number INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, configuration TEXT NOT NULL,
    checksum INTEGER NOT NULL);
CREATE TABLE tarry_items (place INTEGER PRIMARY KEY, body TEXT NOT NULL, play BLOB NOT NULL, payload BLOB,
    checksum INTEGER NOT NULL);
{"".join(map(_TABLE.format, REGIONS))}
COMMIT;
PRAGMA journal_mode = WAL
"""
# The key of a row is the session's number above this bit and the chunk or round below it: rows of one session lie
# together, and a table that grows at its end stays packed. The head is a row of the state: a table of its own would
# cost every transaction another page.
_BITS = 40
_FIRST = 1  # where chunk 0 lies, since the head is chunk -1

_open: WeakSet[SQLite] = WeakSet()  # connections of this process, or of one that it was forked from
_opening = threading.Lock()  # from a look at a file's first bytes until it is connected to


def _renew_lock() -> None:
    """Make a lock that nobody holds: after a fork, the thread that held it may not be there."""
    global _opening
    _opening = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


class SQLite:
    """One session in a SQLite file. Nothing is made on the disk before :meth:`create`."""

    errors: tuple[type[Exception], ...] = (sqlite3.Error,)

    def __init__(
        self, path: str, name: str, *, durability: str, must_exist: bool = False, upgrade: bool = False
    ) -> None:
        self.path, self.name = Path(path).absolute(), name  # wherever the process goes later
        self.where = str(self.path)
        self._synchronous = "NORMAL" if durability == PROCESS else "FULL"
        self._base = 0  # where the rows of this session begin; the first session's number is 1
        self._is_closed = self._is_lost = False
        self.database: Any = None  # until there is a file
        self._upgrades, self.was_format = upgrade, FORMAT
        if _is_there(self.path, must_exist=must_exist):
            try:
                self._connect()
            except sqlite3.Error as error:
                raise StoreError(self.explain(error)) from error

    def _connect(self) -> None:
        """Open a file that is there, if asked to bring it to this format, and have a write-ahead log."""
        with _opening:
            version = self.was_format = _check_file(self.path)
            if version < FORMAT and not self._upgrades:
                raise StoreError(OLD.format(self.path, version, FORMAT, f"sqlite:///{self.path}"))
            _let_go_of_parents()
            address = f"{self.path.as_uri()}?mode=rw"
            database = sqlite3.connect(
                address, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False
            )
            try:
                _switch_to_log(database, self.path)
                if not database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                    raise StoreError(_EMPTY.format(self.path))
                if version < FORMAT:
                    _upgrade(database, self.where)
                for setting in (f"synchronous = {self._synchronous}", "fullfsync = 1", "checkpoint_fullfsync = 1"):
                    database.execute(f"PRAGMA {setting}")
            except BaseException:  # whoever keeps the error must not keep the file locked
                database.close()
                raise
            self.database, self.process, self._is_lost = database, os.getpid(), False
            self._file = _identity_of(self.path)
            _open.add(self)

    def _ready(self) -> sqlite3.Connection:
        """Return the connection; after a fork or a failure, a new one."""
        if self._is_closed:
            raise StoreError(f"{self.path}: {CLOSED}")
        if self.database is None or self._is_lost or self.process != os.getpid():
            self._connect()
        database: sqlite3.Connection = self.database
        return database

    def _check_same_file(self) -> None:
        """Refuse to go on where the path leads to another file than was opened: what is written there nobody finds."""
        try:
            now = _identity_of(self.where)
        except OSError:
            now = None
        if now != self._file:
            problem = f"{self.path} was deleted, moved or replaced while it was open, so nothing was changed"
            raise StoreError(f"{problem}: put it back, or open again what is there now")

    def names(self) -> list[str]:
        if self.database is None:
            return []
        return [row[0] for row in self._ready().execute("SELECT name FROM tarry_sessions ORDER BY number")]

    def configuration(self) -> tuple[str, int] | None:
        if self.database is None:
            return None
        wanted = "SELECT number, configuration, checksum FROM tarry_sessions WHERE name = ?"
        found = self._ready().execute(wanted, (self.name,)).fetchone()
        if found is None:
            return None
        self._base = found[0] << _BITS
        return str(found[1]), found[2]

    def create(self, configuration: str, checksum: int, change: Change) -> bool:
        if self.database is None:
            _make_file(self.path)
            self._connect()
        run = self._ready().execute
        run("BEGIN IMMEDIATE")
        try:
            is_new = self.configuration() is None
            if is_new:
                row = (self.name, configuration, checksum)
                added = run("INSERT INTO tarry_sessions (name, configuration, checksum) VALUES (?, ?, ?)", row)
                self._base = (added.lastrowid or 0) << _BITS
                self.commit(change)
            return is_new
        finally:
            self.rollback()  # where nothing was committed

    def begin(self, *, writes: bool) -> Chunk:
        run = self._ready().execute
        if not writes:  # writers look before they commit: asking the system twice would cost a call 3 % of its time
            self._check_same_file()
        run("BEGIN IMMEDIATE" if writes else "BEGIN")
        wanted = "SELECT version, checksum, data FROM tarry_state WHERE place = ?"
        found = run(wanted, (self._base + _FIRST + HEAD,)).fetchone()
        if found is None:
            raise Missing(f"{self.name!r} is gone from {self.path}")
        return Chunk(HEAD, *found)

    def rollback(self) -> None:
        if self._is_closed or self.database is None:
            return
        try:
            if self.database.in_transaction and self.process == os.getpid():  # else it is the parent's own
                self.database.execute("ROLLBACK")
        except sqlite3.Error:  # the end of a connection is the end of its transaction too
            self._let_go()
            self._is_lost = True

    def chunks(self, region: str, since: int, numbers: range | None = None) -> Iterator[Chunk]:
        base = self._base + _FIRST
        first, last = (0, (1 << _BITS) - 1 - _FIRST) if numbers is None else (numbers.start, numbers.stop - 1)
        found = self.database.execute(
            f"SELECT place, version, checksum, data FROM tarry_{region} WHERE place BETWEEN ? AND ? AND version > ? "
            "ORDER BY place",
            (base + first, base + last, since),
        )
        for place, *rest in found:
            yield Chunk(place - base, *rest)

    def row(self, t: int) -> ItemRow | None:
        wanted = "SELECT body, play, payload, checksum FROM tarry_items WHERE place = ?"
        found = self.database.execute(wanted, (self._base + t,)).fetchone()
        return None if found is None else ItemRow(*found)

    def commit(self, change: Change) -> None:
        many, base = self.database.executemany, self._base
        if change.configuration is not None:
            row = (*change.configuration, base >> _BITS)
            many("UPDATE tarry_sessions SET configuration = ?, checksum = ? WHERE number = ?", [row])
            for region in REGIONS:
                all_of_it = (base + _FIRST, base + (1 << _BITS) - 1)
                many(f"DELETE FROM tarry_{region} WHERE place BETWEEN ? AND ?", [all_of_it])
        for region, chunks in change.chunks.items():
            wanted = [*chunks, change.head] if region == STATE else chunks
            if wanted:
                rows = [(base + _FIRST + i, version, checksum, data) for i, version, checksum, data in wanted]
                many(f"INSERT OR REPLACE INTO tarry_{region} VALUES (?, ?, ?, ?)", rows)
        gone = [(base + t,) for t, row in change.rows.items() if row is None]
        kept = [(base + t, *row) for t, row in change.rows.items() if row is not None]
        if gone:
            many("DELETE FROM tarry_items WHERE place = ?", gone)
        if kept:
            many("INSERT OR REPLACE INTO tarry_items VALUES (?, ?, ?, ?, ?)", kept)
        self._check_same_file()  # the last moment to find out
        self.database.execute("COMMIT")

    def remove(self) -> None:
        if self.configuration() is None:
            return
        run = self._ready().execute
        run("BEGIN IMMEDIATE")
        try:
            if self.configuration() is not None:  # nobody was faster
                all_of_it = (self._base - (1 << (_BITS - 1)), self._base + (1 << (_BITS - 1)) - 1)
                for table in (*REGIONS, "items"):
                    run(f"DELETE FROM tarry_{table} WHERE place BETWEEN ? AND ?", all_of_it)
                run("DELETE FROM tarry_sessions WHERE number = ?", (self._base >> _BITS,))
                run("COMMIT")
        finally:
            self.rollback()

    def close(self) -> None:
        self._is_closed = True  # for good
        self._let_go()

    def _let_go(self) -> None:
        if self.database is not None and self.process == os.getpid():
            with _opening:
                _open.discard(self)
            self.database.close()

    def explain(self, error: Exception) -> str:
        text = str(error)
        said = f"the database says {text!r}; nothing was changed"
        return f"{self.path}: {next((sentence for part, sentence in _SENTENCES.items() if part in text), said)}"


_SENTENCES: dict[str, str] = {
    "closed database": CLOSED,
    "readonly": "the file or its folder is read-only, so nothing was changed: make both writable",
    "disk is full": "the disk is full, so nothing was changed: make room and call again",
    "locked": f"another process has held the file for {PATIENCE:.0f} seconds; nothing was changed: call again",
    "malformed": "the file is damaged and was left as it is: restore a copy",
    "not a database": "this is not a SQLite file; it was left as it is: give another path",
    "unable to open": "the file cannot be opened: does its folder exist, and may this user write there?",
    "disk I/O error": f"the disk reports an error ({sys.platform}); nothing was changed",
}


def _switch_to_log(database: sqlite3.Connection, path: Path) -> None:
    """Have a write-ahead log; SQLite does not wait by itself while another process is just doing the same."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            mode = database.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            break
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    if mode != "wal":
        problem = f"{path} cannot have a write-ahead log (SQLite keeps the mode {mode!r})"
        raise StoreError(f"{problem}, so readers would wait for writers: put the file on a local disk")


def _upgrade(database: sqlite3.Connection, where: str) -> None:
    """Bring a file of an earlier format to this one, in one transaction."""
    run = database.execute
    run("BEGIN IMMEDIATE")
    try:
        if run("PRAGMA user_version").fetchone()[0] < FORMAT:  # nobody was faster
            for number, *stored in run("SELECT number, configuration, checksum FROM tarry_sessions").fetchall():
                place = number << _BITS
                values = (*upgraded((stored[0], stored[1]), where), number)
                run("UPDATE tarry_sessions SET configuration = ?, checksum = ? WHERE number = ?", values)
                found = run("SELECT version, checksum, data FROM tarry_state WHERE place = ?", (place,)).fetchone()
                wanted = "SELECT total(checksum) FROM tarry_{} WHERE place > ? AND place < ?"
                sums = [run(wanted.format(name), (place, place + (1 << _BITS))).fetchone() for name in REGIONS]
                head = remade_head(Chunk(HEAD, *found), int(sum(one[0] for one in sums)), where)
                row = (*head[1:], place)
                run("UPDATE tarry_state SET version = ?, checksum = ?, data = ? WHERE place = ?", row)
            run(f"PRAGMA user_version = {FORMAT}")
        run("COMMIT")
    except BaseException:
        run("ROLLBACK")
        raise


def _make_file(path: Path) -> None:
    """Make a file with empty tables, or find that another process has made it: there is nothing, or all of it.

    It is made beside its place and moved there when it is whole and on the disk. What stands in its place until then is
    an empty file, whose lock says whose turn it is to make it.
    """
    new = path.with_name(f"{path.name}.new")
    try:
        with path.open("ab") as place:
            if fcntl is not None:
                fcntl.flock(place, fcntl.LOCK_EX)
            if _identity_of(path) != _identity_of(place.fileno()) or path.stat().st_size:
                return  # somebody was faster
            for end in ("", *_LOGS, "-shm"):
                Path(f"{new}{end}").unlink(missing_ok=True)  # of a process that was killed here
            with closing(sqlite3.connect(str(new), isolation_level=None)) as database:
                for statement in _SCHEMA.strip().split(";"):
                    database.execute(statement)
            new.chmod(path.stat().st_mode & 0o7777)
            _sync(new)
            new.replace(path)
            _sync(path.parent)
    except (OSError, sqlite3.Error) as error:
        problem = f"{path}: the file cannot be made ({error}); nothing was changed"
        raise StoreError(f"{problem}: is there room, and may this user write there?") from error


def _sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    if os.name == "nt" and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is_there(path: Path, *, must_exist: bool) -> bool:
    """Return whether there is a file with something in it; raise StoreError if it must exist, or cannot."""
    if path.is_dir():
        raise StoreError(f"{path} is a folder: give the path of a file in it")
    is_file = path.exists()
    if is_file and path.stat().st_size:
        return True
    if must_exist:
        missing = f"{path} is empty" if is_file else f"there is no file {path}"
        raise Missing(f"{missing}: make a session or join first (tarry join new)")
    if not path.parent.exists():
        raise StoreError(f"there is no folder {path.parent} to put {path.name} in: make it first")
    return False


def _check_file(path: Path) -> int:
    """Return the format of a file of ours; raise StoreError about any other, before anything is opened for writing.

    The first bytes are read as they stand on the disk: SQLite itself would first want the log. To close the file again
    drops the locks of every connection that this process has to it, so a file that is open here already is not
    opened beside SQLite: it is ours.
    """
    try:
        if any(store._file == _identity_of(path) for store in _open):
            return FORMAT
        with path.open("rb") as file:
            first = file.read(100)
    except OSError as error:
        raise StoreError(f"{path} cannot be read or cannot be opened ({error}): may this user read it?") from error
    if not first:
        raise StoreError(_EMPTY.format(path))
    if len(first) < 100 or not first.startswith(b"SQLite format 3\0"):
        raise StoreError(f"{path} is not a SQLite file; it was left as it is: give another path")
    page, version, application = unpack_from(">16xH42xI4xI", first)  # as SQLite's documentation lays them out
    if application != APPLICATION:
        raise StoreError(f"{path} is a database of some other program; it was left as it is: give another path")
    if version > FORMAT:
        raise StoreError(LATER.format(path, version, FORMAT))
    page = 65536 if page == 1 else page  # which two bytes cannot hold
    if path.stat().st_size % page and not any(Path(f"{path}{end}").exists() for end in _LOGS):
        raise StoreError(f"{path} is damaged (its end is missing) and was left as it is: restore a copy")
    return int(version)


def _identity_of(path: Path | str | int) -> tuple[int, int]:
    """Return what a file is known by, whatever it is called."""
    found = os.stat(path)  # noqa: PTH116 - a call's time counts here
    return found.st_dev, found.st_ino


def _let_go_of_parents() -> None:
    """Close what the parent process had open before a fork.

    Locks are not inherited, but SQLite believes it has them for as long as a connection of the parent's is open here,
    and takes none of its own: others would then remove the log beneath us. Closing takes nothing from the parent.
    """
    for store in [store for store in _open if store.process != os.getpid()]:
        with suppress(sqlite3.ProgrammingError):  # closed already
            if store.database.in_transaction:
                problem = f"this process was forked while another thread was busy with {store.path}"
                raise StoreError(f"{problem}: fork before that, or spawn")
        store.database.close()
        _open.discard(store)
