"""Part files: finished cells in Parquet, each file whole or not there at all.

Parts are never changed, so that reading needs no lock. A writer gathers small cells for up to a second and merges
small parts once there are many: a hundred thousand cells end up in some dozens of files.
"""

from __future__ import annotations

import io
import time
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import polars as pl

from tarry.experiments.atomic import write_whole
from tarry.experiments.columns import PART, conformed

# A cell counts as finished once it is on the disk: a second is what a kill may cost. The other two limit memory.
GATHERED_SECONDS = 1.0
GATHERED_CELLS = 512
GATHERED_ROWS = 2_000_000
MERGED = 32  # parts of one level that become one part of the next

Columns = dict[str, Any]


def read_part(path: Path, columns: list[str] | None = None) -> pl.DataFrame | None:
    """Return a part's rows with these columns (default: all), or None if its bytes do not match its name."""
    data = path.read_bytes()
    if path.stem.rpartition("-")[2] != _digest(data):
        return None
    schema = {name: kind for name, kind in PART.items() if columns is None or name in columns}
    there = pl.read_parquet_schema(io.BytesIO(data))
    # The version of the columns is read whatever is asked for: a later release's part must be refused.
    kept = [name for name in dict.fromkeys([*schema, "schema"]) if name in there]
    return conformed(pl.read_parquet(io.BytesIO(data), columns=kept), schema, path).select(*schema)


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def list_parts(folder: Path) -> list[Path]:
    """Return every part of a folder, in a fixed order."""
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
        mine = self._levels.get(level, [])
        if len(mine) < MERGED:
            return
        self._levels[level] = []
        frame = merged(mine)
        if frame is not None:
            self._levels.setdefault(level + 1, []).append(write_part(self._folder, frame, level + 1))
            for old in mine:  # only now: a kill in between leaves cells twice, and readers take each once
                old.unlink(missing_ok=True)
            self._merge(level + 1)


def merged(paths: Iterable[Path]) -> pl.DataFrame | None:
    """Return the rows of several parts, or None if one of them is damaged: it then stays where it is."""
    try:
        frames = [read_part(path) for path in paths]
    except FileNotFoundError:  # damaged too, and another run has set it aside
        return None
    return None if any(frame is None for frame in frames) else pl.concat(frames)  # type: ignore[type-var]


def frame_of(cells: list[Columns]) -> pl.DataFrame:
    """Return the rows of finished cells as one frame."""
    columns = {name: [value for cell in cells for value in cell[name]] for name in PART}
    return pl.DataFrame(columns, schema=PART, strict=False)
