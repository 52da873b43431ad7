"""Files that are there as a whole or not at all, and what is left where their writer was killed."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import socket
import sys
import time
from pathlib import Path

# A writer on another machine cannot be asked whether it lives; after a day it is taken for dead.
FORGOTTEN_SECONDS = 86_400.0
_SIGNED = re.compile(r"\.writing-(?P<host>.+)-(?P<process>[0-9]+)-[0-9]+\.tmp", re.ASCII)
_HOST = "".join(letter for letter in socket.gethostname() if letter.isalnum() or letter == ".") or "here"
_count = itertools.count()


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that it is there as a whole or not at all, whatever happens."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.parent / sign()
    try:
        with aside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # the bytes before the name, or a power cut leaves an empty file
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
    # Bring the new name to the disk too, where the system lets folders be opened.
    with contextlib.suppress(OSError):
        handle = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def sign() -> str:
    """Return a name for a file being written by this process."""
    return f".writing-{_HOST}-{os.getpid()}-{next(_count)}.tmp"


def sweep_away(folder: Path) -> int:
    """Remove files that dead writers of this machine left half-written, and any a day old; return how many."""
    removed = 0
    for path in folder.glob(".writing-*.tmp"):
        signed = _SIGNED.fullmatch(path.name)
        if signed is None:  # not written by this module
            continue
        is_dead = signed["host"] == _HOST and not _is_alive(int(signed["process"]))
        with contextlib.suppress(FileNotFoundError):  # its writer is done, or another sweeper was faster
            if is_dead or time.time() - path.stat().st_mtime > FORGOTTEN_SECONDS:
                path.unlink(missing_ok=True)
                removed += 1
    return removed


def _is_alive(process: int) -> bool:
    if sys.platform == "win32":  # there, os.kill(process, 0) ends the process: wait the day
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's process, but alive
        return True
    return True
