"""Cells: one game against one player under some seeds, named by what is in them.

A cell's identity is a hash of its content: the resolved game and player, the seeds, what is measured, and
``REVISION``. Names of games, players and axes are not part of it, so renaming recomputes nothing; neither is the
version of the library, so that a release recomputes nothing either.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any, NamedTuple

REVISION = 1
"""Raised by hand when a release makes the same content give other numbers: every cell is then another one.

``tests/experiments/test_revision.py`` keeps numbers of some cells, and fails when they change and this does not.
"""


class Cell(NamedTuple):
    """``content`` is canonical JSON, all a worker needs; ``columns`` are its names in one sweep."""

    id: str
    content: str
    columns: dict[str, Any]


def canonical(value: Any) -> str:
    """JSON in one spelling only.

    >>> canonical({"b": 1, "a": [0.5, None]})
    '{"a":[0.5,null],"b":1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def identity(content: str) -> str:
    """The cell's name: 128 bits of the SHA-256 of its content."""
    return sha256(content.encode()).hexdigest()[:32]
