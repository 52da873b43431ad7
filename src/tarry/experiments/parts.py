"""Part files: finished cells in Parquet, each file whole or not there at all.

A part holds the rows of one or more cells. It is written under another name, brought to the disk and renamed, so
nobody ever sees half of it; its name carries a hash of its bytes, so damage is found when it is read. Whoever writes
gathers small cells for up to a second, and merges small parts once there are many: a hundred thousand cells end up
in some dozens of files. Parts are never changed, and reading needs no lock.
"""

from __future__ import annotations

import io
import time
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tarry.experiments.atomic import write_whole
from tarry.experiments.columns import conformed, part_schema

if TYPE_CHECKING:
    import polars as pl

PREFIX, SUFFIX = "part-", ".parquet"
# A cell counts as finished once it is on the disk: a second is what a kill may cost. The other two limit memory.
GATHERED_SECONDS = 1.0
GATHERED_CELLS = 512
GATHERED_ROWS = 2_000_000
MERGED = 32  # parts of one level that become one part of the next

Columns = dict[str, Any]


def digest_of(data: bytes) -> str:
    """Return the hash of a part's bytes, which its name carries."""
    return blake2b(data, digest_size=16).hexdigest()


def read_part(path: Path, columns: list[str] | None = None) -> pl.DataFrame | None:
    """Return a part's rows with these columns (default: all), or None if its bytes do not match its name."""
    import polars as pl

    data = path.read_bytes()
    if path.stem.rpartition("-")[2] != digest_of(data):
        return None
    schema = {name: kind for name, kind in part_schema().items() if columns is None or name in columns}
    there = pl.read_parquet_schema(io.BytesIO(data))
    kept = [name for name in dict.fromkeys([*schema, "schema"]) if name in there]
    return conformed(pl.read_parquet(io.BytesIO(data), columns=kept), schema, path).select(*schema)


def list_parts(folder: Path) -> list[Path]:
    """Return every part of a folder, in a fixed order."""
    return sorted(folder.glob(f"{PREFIX}*{SUFFIX}"))


def write_part(folder: Path, frame: pl.DataFrame, level: int = 0) -> Path:
    """Write rows as one part and return its path."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", compression_level=1, statistics=False)
    data = buffer.getvalue()
    path = folder / f"{PREFIX}{level}-{digest_of(data)}{SUFFIX}"
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
        """Merge this writer's parts of a level once there are many."""
        mine = self._levels.get(level, [])
        if len(mine) < MERGED:
            return
        self._levels[level] = []
        frame = merged(mine)
        if frame is not None:
            self._levels.setdefault(level + 1, []).append(write_part(self._folder, frame, level + 1))
            for old in mine:
                old.unlink(missing_ok=True)
            self._merge(level + 1)


def merged(paths: Iterable[Path]) -> pl.DataFrame | None:
    """Return the rows of several parts, or None if one of them is damaged: it then stays where it is."""
    import polars as pl

    try:
        frames = [read_part(path) for path in paths]
    except FileNotFoundError:  # damaged too, and another run has set it aside
        return None
    return None if any(frame is None for frame in frames) else pl.concat(frames)  # type: ignore[type-var]


def frame_of(cells: list[Columns]) -> pl.DataFrame:
    """Return the rows of finished cells as one frame."""
    import polars as pl

    def together(name: str) -> Iterator[Any]:
        return (value for columns in cells for value in columns[name])

    return pl.DataFrame(
        [pl.Series(name, list(together(name)), dtype=kind, strict=False) for name, kind in part_schema().items()]
    )
