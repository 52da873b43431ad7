"""Sweeps and their cells: one game against one player under some seeds, named by what is in them.

A cell's identity is a hash of its content: the resolved game and player, the seeds, what is measured, and
``REVISION``. Names and the version of the library are not part of it: renaming and upgrading recompute nothing.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

# Raised by hand when a release makes the same content give other numbers: every cell is then another one.
# tests/experiments/test_revision.py keeps numbers of some cells, and fails when they change and this does not.
REVISION = 1
BEST = "best"  # what regret is measured against; the key is in a cell's content where it says another thing


class Cell(NamedTuple):
    """One game, player and seeds: ``content`` is canonical JSON, all a worker needs; ``columns`` name it in a sweep."""

    id: str
    content: str
    columns: dict[str, Any]


def canonical(value: Any) -> str:
    """Return JSON in one spelling only.

    >>> canonical({"b": 1, "a": [0.5, None]})
    '{"a":[0.5,null],"b":1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def identity(content: str) -> str:
    """Return a cell's name: 128 bits of the SHA-256 of its content."""
    return sha256(content.encode()).hexdigest()[:32]


class Sweep(NamedTuple):
    """A file's cells; one that stands under two names is listed twice and run once.

    ``sources`` are the texts it was read from, its own and of files it includes, by path. ``device`` is what it
    is to be played on, and no part of a cell's identity. ``warnings`` say what its writer may not have meant.
    """

    name: str
    path: Path
    axes: list[str]
    cells: list[Cell]
    sources: dict[Path, str] = {}
    device: str = "cpu"
    warnings: tuple[str, ...] = ()

    @property
    def contents(self) -> dict[str, str]:
        """What there is to run, content by identity."""
        # Sorted by hash, so that long cells, which stand together in a file, are spread over tasks.
        return {cell.id: cell.content for cell in sorted(self.cells, key=lambda cell: cell.id)}


def load_sweep(path: str | Path) -> Sweep:
    """Read a sweep and list its cells; raise ValueError with file, key, value and choices where it is wrong."""
    try:
        from tarry.experiments.tables import read_sweep
    except ImportError as error:
        raise ImportError(f"sweeps need {error.name}: pip install 'tarry[cli]'") from error
    from tarry.experiments.expand import Expansion
    from tarry.experiments.own import load_members

    table, text = read_sweep(Path(path))
    members = load_members(text.members)
    expansion = Expansion(table, text, members)
    cells = list(expansion.cells())
    if not cells:
        raise ValueError(f"{text.place()}: there is nothing to run: a block names no game or no player")
    axes = list(dict.fromkeys(name for cell in cells for name in cell.columns["axes"]))
    name = table.name or Path(path).stem
    if Path(name).name != name or name in (".", ".."):
        raise ValueError(f"{text.place('name')}: must name a folder, not . or .. and without /, got {name!r}")
    warnings = tuple(
        f"the axis {axis} takes the place of {axis} in {', '.join(games)}: to keep what is written there, call the "
        'axis otherwise, and write "axis.NAME" where its values belong'
        for axis, games in expansion.replaced.items()
    )
    return Sweep(name, Path(path), axes, cells, text.sources, table.device, warnings)
