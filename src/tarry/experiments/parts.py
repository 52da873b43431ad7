"""Part files: finished cells in Parquet, each file whole or not there at all.

Parts are never changed, so that reading needs no lock. A writer gathers small cells for up to a second and merges
small parts once there are many: a hundred thousand cells end up in some dozens of files.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import secrets
import socket
import sys
import time
from hashlib import blake2b
from pathlib import Path
from typing import Any

import polars as pl

from tarry.experiments.columns import PART, conformed

# A cell counts as finished once it is on the disk: a second is what a kill may cost. The other two limit memory.
GATHERED_SECONDS = 1.0
GATHERED_CELLS = 512
GATHERED_ROWS = 2_000_000
MERGED = 32  # parts of one level that become one part of the next

# A writer on another machine or in another container cannot be asked whether it lives; after a day it counts as dead.
FORGOTTEN_SECONDS = 86_400.0
_SIGNED = re.compile(r"\.writing-(?P<place>.+)-(?P<process>[0-9]+)-[0-9a-f]+\.tmp", re.ASCII)
Columns = dict[str, Any]


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
    return f".writing-{_place()}-{os.getpid()}-{secrets.token_hex(8)}.tmp"


def _place() -> str:
    """Return a hash of where process ids mean the same as here: on this host and, on Linux, in this container."""
    parts = [socket.gethostname()]
    with contextlib.suppress(OSError):  # other systems have one space of process ids
        # Containers on two hosts may share both names: the boot tells them apart.
        parts += [str(Path("/proc/self/ns/pid").readlink()), Path("/proc/sys/kernel/random/boot_id").read_text()]
    return blake2b(repr(parts).encode(), digest_size=8).hexdigest()


def sweep_away(folder: Path) -> int:
    """Remove files that dead writers of this place left half-written, and any a day old; return how many."""
    removed, here = 0, _place()
    for path in folder.glob(".writing-*.tmp"):
        signed = _SIGNED.fullmatch(path.name)
        if signed is None:  # not written by this module
            continue
        is_dead = signed["place"] == here and not _is_alive(int(signed["process"]))
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


def read_part(path: Path, columns: list[str] | None = None) -> pl.DataFrame | None:
    """Return a part's rows with these columns (default: all), or None if its bytes do not match its name."""
    data = path.read_bytes()
    if path.stem.rpartition("-")[2] != _digest(data):
        return None
    schema = {name: kind for name, kind in PART.items() if columns is None or name in columns}
    there = pl.read_parquet_schema(io.BytesIO(data))
    # The version of the columns is read whatever is asked for: a later release's part must be refused.
    columns_there = [name for name in dict.fromkeys([*schema, "schema"]) if name in there]
    return conformed(pl.read_parquet(io.BytesIO(data), columns=columns_there), schema, path).select(*schema)


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def list_parts(folder: Path) -> list[Path]:
    return sorted(folder.glob("part-*.parquet"))


def write_part(folder: Path, frame: pl.DataFrame, level: int = 0) -> Path:
    """Write rows as one part, under a name that carries the hash of its bytes, and return its path."""
    buffer = io.BytesIO()
    # Parts are read as a whole and soon merged: fast compression, and no statistics to skip rows by.
    frame.write_parquet(buffer, compression="zstd", compression_level=1, statistics=False)
    data = buffer.getvalue()
    path = folder / f"part-{level}-{_digest(data)}.parquet"
    write_whole(path, data)
    return path


class Writer:
    """Gather finished cells and write them; every method returns the cells that it has brought to the disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._gathered: list[Columns] = []
        self._rows = 0
        self._since = 0.0
        self._levels: dict[int, list[Path]] = {}

    def add(self, columns: Columns) -> list[str]:
        """Take a finished cell, and write if it is time."""
        if not self._gathered:
            self._since = time.monotonic()
        self._gathered.append(columns)
        self._rows += sum(len(curve) for curve in columns["curve_t"])
        return self.flush() if columns["seconds"][0] >= GATHERED_SECONDS else self.rest()

    def rest(self) -> list[str]:
        """Write what has been gathered, if it is time."""
        is_due = self._gathered and time.monotonic() - self._since >= GATHERED_SECONDS
        is_much = len(self._gathered) >= GATHERED_CELLS or self._rows >= GATHERED_ROWS
        return self.flush() if is_due or is_much else []

    def flush(self) -> list[str]:
        """Write what has been gathered; what an error leaves unwritten stays for the next time."""
        if not self._gathered:
            return []
        self._merge(0)  # first, so that nothing comes between a part and the news of it
        self._levels.setdefault(0, []).append(write_part(self._folder, frame_of(self._gathered)))
        written, self._gathered, self._rows = self._gathered, [], 0
        return [columns["cell"][0] for columns in written]

    def _merge(self, level: int) -> None:
        """Merge this writer's parts of a level once there are many; parts of other writers are theirs."""
        paths = self._levels.get(level, [])
        if len(paths) < MERGED:
            return
        self._levels[level] = []
        frames = []
        with contextlib.suppress(FileNotFoundError):  # damaged, and another run has set it aside
            frames = [frame for path in paths if (frame := read_part(path)) is not None]
        if len(frames) == len(paths):  # else one is damaged, and all stay where they are
            self._levels.setdefault(level + 1, []).append(write_part(self._folder, pl.concat(frames), level + 1))
            for old in paths:  # only now: a kill in between leaves cells twice, and readers take each once
                old.unlink(missing_ok=True)
            self._merge(level + 1)


def frame_of(cells: list[Columns]) -> pl.DataFrame:
    columns = {name: [value for cell in cells for value in cell[name]] for name in PART}
    return pl.DataFrame(columns, schema=PART, strict=False)
