"""Files that somebody was writing when they were killed: named after their writer, swept away once it is gone."""

from __future__ import annotations

import itertools
import os
import re
import socket
import sys
import time
from pathlib import Path

PREFIX, SUFFIX = ".writing-", ".tmp"
FORGOTTEN_SECONDS = 86_400.0
_SIGNED = re.compile(r"\.writing-(?P<host>.+)-(?P<process>[0-9]+)-[0-9]+\.tmp", re.ASCII)
_count = itertools.count()


def sign() -> str:
    """A name for a file being written by this process."""
    return f"{PREFIX}{_host()}-{os.getpid()}-{next(_count)}{SUFFIX}"


def sweep_away(folder: Path) -> int:
    """Remove what dead writers of this machine left behind, and what is a day old; how many files."""
    removed = 0
    for path in folder.glob(f"{PREFIX}*{SUFFIX}"):
        if _is_left(path):
            path.unlink(missing_ok=True)
            removed += 1
    return removed


def _is_left(path: Path) -> bool:
    signed = _SIGNED.fullmatch(path.name)
    if signed is None:  # somebody else's
        return False
    if signed["host"] == _host() and not _is_alive(int(signed["process"])):
        return True
    try:
        return time.time() - path.stat().st_mtime > FORGOTTEN_SECONDS
    except FileNotFoundError:
        return False


def _is_alive(process: int) -> bool:
    if sys.platform == "win32":  # there, asking would be a signal of its own: wait the day
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _host() -> str:
    return "".join(letter for letter in socket.gethostname() if letter.isalnum() or letter == ".") or "here"
