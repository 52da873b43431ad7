"""Sessions in files, and what is in them."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

from scenario import PLAYER

import tarry


def make_on(path: Any, **options: Any) -> tarry.Session:
    """A session in this file."""
    return tarry.Session(PLAYER, capacity=4, rng=1, store=f"sqlite:///{path}", **options)


def hashed(path: Any) -> str:
    """What is in a file, in short."""
    return sha256(Path(path).read_bytes()).hexdigest()
