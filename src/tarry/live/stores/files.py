"""Is this file ours, and does it lie where SQLite's locks hold?"""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path

from tarry.errors import StoreError

_NETWORKED = ("nfs", "cifs", "smb", "afs", "9p", "ceph", "glusterfs", "lustre", "gpfs", "beegfs", "fuse.sshfs", "davfs")
_HEADER = ("application_id", "user_version", "page_size")
_LOGS = ("-wal", "-journal")  # with one of these, SQLite makes the file whole by itself
MOUNTS = Path("/proc/mounts")


def check_file(path: Path, application: int, version: int, *, must_exist: bool) -> None:
    """Refuse what is not ours, before anything is opened for writing."""
    if path.is_dir():
        raise StoreError(f"{path} is a folder: give the path of a file in it")
    if not path.exists():
        if must_exist:
            raise StoreError(f"there is no file {path}: make a session or join first (tarry join new)")
        if not path.parent.exists():
            raise StoreError(f"there is no folder {path.parent} to put {path.name} in: make it first")
        return
    if not path.stat().st_size:
        if must_exist:
            raise StoreError(f"{path} is empty: make a session or join first (tarry join new)")
        return
    found, written, page = _marks(path)
    if found != application:
        raise StoreError(f"{path} is a database of some other program; it was left as it is: give another path")
    if written != version:
        raise StoreError(f"{path} is in format {written}, this version of Tarry reads {version}; it was left as it is")
    if path.stat().st_size % page and not any(Path(f"{path}{end}").exists() for end in _LOGS):
        raise StoreError(f"{path} is damaged (its end is missing) and was left as it is: restore a copy")


def check_same_file(path: Path, opened: tuple[int, int]) -> None:
    """Refuse to go on where the path leads to another file than was opened: what is written there nobody finds."""
    try:
        now = identity_of(path)
    except OSError:
        now = None
    if now != opened:
        raise StoreError(
            f"{path} was deleted, moved or replaced while it was open, so nothing was changed: put it back, or open "
            "again what is there now"
        )


def identity_of(path: Path) -> tuple[int, int]:
    """What a file is known by, whatever it is called."""
    found = os.stat(path)  # noqa: PTH116 - a call's time counts here
    return found.st_dev, found.st_ino


def _marks(path: Path) -> tuple[int, ...]:
    """The application id, the format and the size of a page, in a file's header.

    SQLite itself must read them: if this process closed a file of its own on the same path, the system would drop
    the locks of every session it has there.
    """
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as look:
            return tuple(int(look.execute(f"PRAGMA {name}").fetchone()[0]) for name in _HEADER)
    except sqlite3.OperationalError as error:
        raise StoreError(f"{path} cannot be read ({error}): may this user read it?") from error
    except sqlite3.Error as error:
        raise StoreError(f"{path} is not a SQLite file; it was left as it is: give another path") from error


def network_file_system(path: Path) -> str:
    """The kind of network file system a path lies on, or nothing."""
    try:
        mounts = MOUNTS.read_text().splitlines()
    except OSError:
        return ""  # no such list on this system: nothing is known
    folder = str(path.resolve().parent)
    best, kind = "", ""
    for line in mounts:
        _, place, name, *_ = line.split(" ")
        place = re.sub(r"\\(\d{3})", lambda found: chr(int(found[1], 8)), place)  # blanks are written \040
        inside = folder == place or folder.startswith(place.rstrip("/") + "/")
        if inside and len(place) >= len(best):
            best, kind = place, name
    return kind if kind.startswith(_NETWORKED) else ""
