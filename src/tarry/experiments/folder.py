"""A folder of results: parts, the plan they belong to, and what went wrong.

parts/part-0-….parquet     finished cells (see :mod:`tarry.experiments.parts`)
failures/ID.json           cells that raised an error, with its sentence; gone once they succeed
plan.parquet               the cells of the sweep that was run last, by name
sweep.toml                 its file, followed by those it includes
cells|runs|curves.parquet  what ``collect`` gathered
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tarry.experiments.collect import Tables, collect, plan_frame, plan_schema, read_table
from tarry.experiments.files import one_after_another
from tarry.experiments.parts import list_parts, read_part, write_whole
from tarry.experiments.remains import sweep_away
from tarry.experiments.sweep import Sweep

if TYPE_CHECKING:
    import polars as pl

PLAN = "plan.parquet"
TEXT = "sweep.toml"
PATIENCE = 20


class Contents(NamedTuple):
    """Part by part: rows of finished cells, each cell once; and the parts that are damaged."""

    frames: list[pl.DataFrame]
    damaged: list[Path]

    @property
    def cells(self) -> set[str]:
        """The finished cells."""
        return {cell for frame in self.frames for cell in frame["cell"].unique()}


class Folder:
    """Results on disk; any number of processes may write to it and read it at once."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.parts = self.path / "parts"
        self.failures = self.path / "failures"

    def tidy(self) -> None:
        """Make the folder, and remove what killed writers left half-way."""
        self.parts.mkdir(parents=True, exist_ok=True)
        self.failures.mkdir(exist_ok=True)
        for place in (self.path, self.parts, self.failures):
            sweep_away(place)

    def read(self, columns: list[str] | None = None) -> Contents:
        """Everything that is finished; a part that a writer merges meanwhile is looked for again."""
        for _ in range(PATIENCE):
            try:
                return self._read(columns)
            except FileNotFoundError:
                continue
        raise OSError(f"{self.parts}: files come and go too fast to read them: wait until the others are done")

    def _read(self, columns: list[str] | None) -> Contents:
        import polars as pl

        seen: set[str] = set()
        contents = Contents([], [])
        for path in reversed(list_parts(self.parts)):  # merged ones first: they hold most
            frame = read_part(path, columns)
            if frame is None:
                contents.damaged.append(path)
                continue
            inside = set(frame["cell"].unique())
            if inside & seen:
                frame = frame.filter(~pl.col("cell").is_in(list(seen)))
            seen |= inside
            contents.frames.append(frame)
        return contents

    def set_damaged_aside(self) -> None:
        """Rename damaged parts, so that they are seen no more and can still be looked at."""
        for path in self.read(["cell"]).damaged:
            with contextlib.suppress(FileNotFoundError):  # another run was faster
                path.replace(path.with_suffix(".damaged"))

    def write_plan(self, sweep: Sweep) -> None:
        """Note the cells of a sweep and what its file says, so that the folder can be read without it."""
        buffer = io.BytesIO()
        plan_frame(sweep).write_parquet(buffer, compression="zstd")
        write_whole(self.path / PLAN, buffer.getvalue())
        text = self.path / TEXT
        if sweep.sources and text.resolve() not in sweep.sources:  # a sweep that is run where it lies stays as it is
            write_whole(text, f"{one_after_another(sweep.sources)}\n".encode())

    def text(self) -> str:
        """What the file of the sweep said that was run last; empty if nobody noted it."""
        path = self.path / TEXT
        return path.read_text(encoding="utf-8") if path.is_file() else ""

    def plan(self) -> pl.DataFrame:
        """The cells of the sweep that was run last."""
        if not (self.path / PLAN).is_file():
            raise ValueError(f"{self.path} holds no results: run a sweep first, tarry sweep run FILE")
        return read_table(self.path / PLAN, plan_schema(), "tarry sweep run FILE")

    def tables(self) -> Tables:
        """Everything that is finished, as tables."""
        return collect(self.plan(), self.read())

    def fail(self, cell: str, sentence: str) -> None:
        """Note why a cell could not be computed."""
        write_whole(self.failures / f"{cell}.json", json.dumps({"cell": cell, "error": sentence}).encode())

    def forgive(self, cells: list[str]) -> None:
        """Forget the failures of cells that are finished now."""
        for cell in cells:
            (self.failures / f"{cell}.json").unlink(missing_ok=True)

    def failed(self) -> dict[str, str]:
        """Sentences by cell."""
        return dict(self._failed())

    def _failed(self) -> Iterator[tuple[str, str]]:
        for path in sorted(self.failures.glob("*.json")):
            try:
                told = json.loads(path.read_text(encoding="utf-8"))
                sentence = str(told["cell"]), str(told["error"])
            except (FileNotFoundError, ValueError, TypeError, KeyError):  # forgiven meanwhile, damaged, or not ours
                continue
            yield sentence
