"""Sessions in one SQLite file: a write-ahead log, an insertion for each call, readers never wait."""

from __future__ import annotations

import ctypes
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from struct import unpack_from
from threading import get_ident
from typing import Any
from weakref import WeakSet

from tarry.errors import Missing, StoreError
from tarry.live.configuration import FORMAT
from tarry.live.stores.base import CLOSED, PATIENCE, PROCESS, Entry, Snapshot

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

APPLICATION = 0x54617279
_LOG = "-wal"
_LOGS = (_LOG, "-journal")  # with one of these, SQLite makes the file whole by itself
_EMPTY = "{} is empty: make a session or join first (tarry join new), or restore a copy"
_LATER = "{} is in format {}, this version of Tarry reads {}; it was left as it is: use the version that wrote it"
# Nothing is synchronised on the way: the whole file is, at the end. A number is never used twice, so that who has an
# object open can tell it from another that has taken its name.
_SCHEMA = f"""
PRAGMA synchronous = OFF;
BEGIN;
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {FORMAT};
CREATE TABLE tarry_objects (number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE NOT NULL, kind TEXT NOT NULL,
    seq INTEGER NOT NULL, tokens BLOB NOT NULL, body BLOB NOT NULL);
CREATE TABLE tarry_journal (place INTEGER PRIMARY KEY, token BLOB NOT NULL, body BLOB NOT NULL);
COMMIT;
PRAGMA journal_mode = WAL
"""
# An entry's place is the object's number above this bit and the entry's below it: entries of one object lie together.
_BITS = 40

_open: WeakSet[SQLite] = WeakSet()  # connections of this process, or of one that it was forked from
_opening = threading.Lock()  # from a look at a file's first bytes until it is connected to
_at_work: dict[int, SQLite] = {}  # by thread: whose call is under way, in SQLite or between two calls of it
_cut_off = ""  # a file that another thread was busy with when this process was forked


def _leave_open(database: sqlite3.Connection) -> None:
    """Let nobody close a connection any more, not even the end of Python."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(database))


def _look_around() -> None:
    """After a fork, note whether another thread was at work: it is not there to let go of SQLite's own locks."""
    global _opening, _cut_off
    others = [store for thread, store in _at_work.items() if thread != get_ident()]
    if others or _opening.locked():
        _cut_off = _cut_off or next((store.where for store in others), "a file")
        for store in _open:  # to close one might wait for such a lock, for ever: these stay, also when Python ends
            if store.database is not None:
                _leave_open(store.database)
    _opening = threading.Lock()
    _at_work.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_look_around)


@contextmanager
def _working(store: SQLite) -> Iterator[None]:
    """Note that this thread is at work, if it is not noted already."""
    before = _at_work.get(get_ident())
    _at_work[get_ident()] = store
    try:
        yield
    finally:
        if before is None:
            _at_work.pop(get_ident(), None)


class SQLite:
    """One session in a SQLite file. Nothing is made on the disk before :meth:`create`."""

    errors: tuple[type[Exception], ...] = (sqlite3.Error,)
    away: tuple[type[Exception], ...] = ()  # a file does not come back

    def __init__(self, path: str, name: str, *, durability: str, must_exist: bool = False) -> None:
        self.path, self.name = Path(path).absolute(), name  # wherever the process goes later
        self.where = str(self.path)
        self._log = self.where + _LOG
        self._synchronous = "NORMAL" if durability == PROCESS else "FULL"
        self._base = 0  # the place before the first entry
        self._version: int | None = None  # of what was read last; another once somebody else has written
        self._is_closed = self._is_lost = False
        self.database: Any = None  # until there is a file
        if _is_there(self.path, must_exist=must_exist):
            try:
                self._connect()
            except sqlite3.Error as error:
                raise StoreError(self.explain(error)) from error

    def _connect(self) -> None:
        """Open a file that is there."""
        if _cut_off:
            problem = f"this process was forked while another thread was busy with {_cut_off}"
            raise StoreError(f"{problem}, and SQLite cannot be used here: fork before that, or spawn")
        with _opening:
            _at_work[get_ident()] = self
            try:
                _check_file(self.path)
                _let_go_of_parents()
                address = f"{self.path.as_uri()}?mode=rw"
                database = sqlite3.connect(
                    address, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False
                )
                try:
                    _switch_to_log(database, self.path)
                    if not database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                        raise StoreError(_EMPTY.format(self.path))
                    # What is erased is written over, however SQLite was built.
                    settings = f"synchronous = {self._synchronous}", "fullfsync = 1", "checkpoint_fullfsync = 1"
                    for setting in (*settings, "secure_delete = 1"):
                        database.execute(f"PRAGMA {setting}")
                    database.execute("SELECT count(*) FROM tarry_objects").fetchone()  # so that there is a log
                except BaseException:  # whoever keeps the error must not keep the file locked
                    database.close()
                    raise
            finally:
                _at_work.pop(get_ident(), None)
            self.database, self.process, self._is_lost, self._version = database, os.getpid(), False, None
            self._files = [_identity_of(self.where), _identity_of(self._log)]
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
        """Refuse to go on where the path leads to another file or log: nobody would find what is written."""
        try:
            file, log = os.stat(self.where), os.stat(self._log)  # noqa: PTH116 - a call's time counts here
            is_same = [(file.st_dev, file.st_ino), (log.st_dev, log.st_ino)] == self._files
        except OSError:
            is_same = False
        if not is_same:
            problem = f"{self.path} was deleted, moved or replaced while it was open, so nothing was changed"
            raise StoreError(f"{problem}: put it back, or open again what is there now")

    def names(self) -> dict[str, str]:
        if self.database is None:
            return {}
        with _working(self):
            return dict(self._ready().execute("SELECT name, kind FROM tarry_objects ORDER BY number").fetchall())

    def snapshot(self) -> Snapshot | None:
        if self.database is None:
            return None
        wanted = "SELECT number, seq, tokens, body FROM tarry_objects WHERE name = ?"
        with _working(self):
            found = self._ready().execute(wanted, (self.name,)).fetchone()
        if found is None:
            return None
        self._base = found[0] << _BITS
        return Snapshot(*found[1:])

    def create(self, kind: str, snapshot: Snapshot) -> bool:
        if self.database is None:
            _make_file(self.path)
            self._connect()
        run = self._ready().execute
        try:
            self._begin("BEGIN IMMEDIATE")
            is_new = run("SELECT 1 FROM tarry_objects WHERE name = ?", (self.name,)).fetchone() is None
            if is_new:
                row = (self.name, kind, *snapshot)
                added = run("INSERT INTO tarry_objects (name, kind, seq, tokens, body) VALUES (?, ?, ?, ?, ?)", row)
                self._base = (added.lastrowid or 0) << _BITS
                self._commit()
            return is_new
        finally:
            self.rollback()  # where nothing was committed

    def begin(self, after: int, *, writes: bool) -> list[Entry] | None:
        database = self._ready()
        self._begin("BEGIN IMMEDIATE" if writes else "")
        if not writes:  # writers look before they commit
            self._check_same_file()
        version = database.execute("PRAGMA data_version").fetchone()[0]
        if version == self._version:
            if not writes:
                _at_work.pop(get_ident(), None)
            return None
        if not writes:
            database.execute("BEGIN")
        wanted = "SELECT number FROM tarry_objects WHERE number = ? OR (? = 0 AND name = ?)"
        number = self._base >> _BITS
        found = database.execute(wanted, (number, number, self.name)).fetchone()
        if found is None:
            raise Missing(f"{self.name!r} is gone from {self.path}")
        self._base = found[0] << _BITS
        entries = self.entries(after)
        self._version = version
        return entries

    def _begin(self, how: str) -> None:
        """Start a transaction, with which this thread is at work until it ends; end one that was left open."""
        if self.database.in_transaction:
            self.rollback()
        _at_work[get_ident()] = self
        if how:
            self.database.execute(how)

    def _commit(self) -> None:
        self._check_same_file()  # the last moment to find out
        self.database.execute("COMMIT")
        _at_work.pop(get_ident(), None)

    def rollback(self) -> None:
        if self._is_closed or self.database is None:
            return
        try:
            if self.database.in_transaction and self.process == os.getpid():  # else it is the parent's own
                self.database.execute("ROLLBACK")
        except sqlite3.Error:  # the end of a connection is the end of its transaction too
            self._let_go()
            self._is_lost = True
        _at_work.pop(get_ident(), None)

    def entries(self, after: int) -> list[Entry]:
        base = self._base
        wanted = "SELECT place, token, body FROM tarry_journal WHERE place > ? AND place < ? ORDER BY place"
        with _working(self):
            found = self._ready().execute(wanted, (base + after, base + (1 << _BITS)))
            return [Entry(place - base, token, body) for place, token, body in found]

    def append(self, entry: Entry) -> None:
        seq, token, body = entry
        self.database.execute("INSERT INTO tarry_journal VALUES (?, ?, ?)", (self._base + seq, token, body))
        self._commit()

    def replace(self, snapshot: Snapshot, oldest: bytes) -> None:
        run, base = self._ready().execute, self._base
        try:
            self._begin("BEGIN IMMEDIATE")
            row = (*snapshot, base >> _BITS, snapshot.seq)
            if run("UPDATE tarry_objects SET seq = ?, tokens = ?, body = ? WHERE number = ? AND seq < ?", row).rowcount:
                first = (base, base + snapshot.seq, oldest)
                if oldest:  # else it would look through all that is kept
                    run("DELETE FROM tarry_journal WHERE place > ? AND place < ? AND token < ?", first)
                self._commit()
        finally:
            self.rollback()

    def rename(self, name: str) -> bool:
        run = self._ready().execute
        with suppress(sqlite3.IntegrityError), _working(self):
            run("UPDATE tarry_objects SET name = ? WHERE name = ?", (name, self.name))
            self.name = name
        return self.name == name

    def remove(self) -> None:
        if self.database is None:
            return
        run = self._ready().execute
        try:
            self._begin("BEGIN IMMEDIATE")
            found = run("SELECT number FROM tarry_objects WHERE name = ?", (self.name,)).fetchone()
            if found is not None:
                base = found[0] << _BITS
                run("DELETE FROM tarry_journal WHERE place > ? AND place < ?", (base, base + (1 << _BITS)))
                run("DELETE FROM tarry_objects WHERE number = ?", found)
                self._commit()
                self._version = None
        finally:
            self.rollback()

    def close(self) -> None:
        self._is_closed = True  # for good
        self._let_go()

    def _let_go(self) -> None:
        if self.database is None or self.process != os.getpid():
            return
        with _opening:
            _open.discard(self)
        try:
            self._check_same_file()
        except StoreError:
            _leave_open(self.database)  # closing would write its log into what has taken the file's place
            return
        with _working(self):
            self.database.close()

    def explain(self, error: Exception) -> str:
        if self.database is not None and not self._is_closed:
            try:
                self._check_same_file()
            except StoreError as replaced:  # which such an error comes from
                return str(replaced)
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


def _check_file(path: Path) -> None:
    """Raise StoreError about a file that is none of ours, before anything is opened for writing.

    The first bytes are read as they stand on the disk: SQLite itself would first want the log. To close the file again
    drops the locks of every connection that this process has to it, so a file that is open here already is not
    opened beside SQLite: it is ours.
    """
    try:
        if any(store._files[:1] == [_identity_of(path)] for store in _open):
            return
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
    if version != FORMAT:
        raise StoreError(_LATER.format(path, version, FORMAT))
    page = 65536 if page == 1 else page  # which two bytes cannot hold
    if path.stat().st_size % page and not any(Path(f"{path}{end}").exists() for end in _LOGS):
        raise StoreError(f"{path} is damaged (its end is missing) and was left as it is: restore a copy")


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
