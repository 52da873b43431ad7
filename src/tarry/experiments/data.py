"""Arrays from files: ``{file = "rows.npy"}``, or columns of a table, ``{file = "log.csv", columns = ["a", "b"]}``.

A cell's identity holds the hash of the file's bytes and not its name: a file that moved is the same data, one that
changed is other data.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from tarry.experiments.words import pick

KEYS = ("file", "columns")
READERS = (".npy", ".csv", ".parquet")
NAMES = {"games": 2, "players": 2, "axes": 1, "points": 1}
EVERYWHERE = 99
"""How many tables deep keys are names and nobody's parameters, by the key of the file; elsewhere nothing is data."""


def is_data(value: Any) -> bool:
    """Whether this stands for an array in a file."""
    return isinstance(value, dict) and "file" in value and "type" not in value


def anchored(tree: dict[str, Any], folder: Path, place: str) -> dict[str, Any]:
    """A sweep with its files' full names and hashes; files are looked for in ``folder``."""
    found = {}
    for name, value in tree.items():
        if name == "blocks" and isinstance(value, list):
            blocks = [
                anchored(block, folder, f"{place}.blocks") if isinstance(block, dict) else block for block in value
            ]
            found[name] = blocks
        else:
            found[name] = _anchored(value, folder, f"{place}.{name}", NAMES.get(name, EVERYWHERE))
    return found


def _anchored(tree: Any, folder: Path, place: str, names: int) -> Any:
    """The same inside a key, where the keys of so many tables are names, of games or axes for example."""
    if isinstance(tree, list):
        return [_anchored(value, folder, place, names) for value in tree]
    if not isinstance(tree, dict):
        if not isinstance(tree, (str, int, float)):
            raise ValueError(f"{place.replace(': .', ': ')}: must be text, a number, a list or a table, got {tree}")
        return tree
    if names or not is_data(tree):
        inside = max(0, names - 1)
        return {name: _anchored(value, folder, f"{place}.{name}", inside) for name, value in tree.items()}
    shown = place.replace(": .", ": ")
    for name in tree:
        pick(name, KEYS, f"{shown}.{name}", what="key of a file")
    path = (folder / str(tree["file"])).resolve()
    if path.suffix not in READERS:
        raise ValueError(f"{shown}.file: must end in one of {', '.join(READERS)}, got {tree['file']!r}")
    try:
        digest = sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise ValueError(f"{shown}.file: {path} cannot be read: {error.strerror}") from error
    return tree | {"file": str(path), "digest": digest}


def nameless(tree: Any) -> Any:
    """The same without the names of files."""
    if isinstance(tree, dict):
        return {name: nameless(value) for name, value in tree.items() if not (name == "file" and is_data(tree))}
    return [nameless(value) for value in tree] if isinstance(tree, list) else tree


def read_data(spec: dict[str, Any]) -> np.ndarray:
    """The array; one column is a vector, several are a matrix."""
    return _read(spec["file"], spec["digest"], tuple(spec.get("columns", ())))


@lru_cache(maxsize=8)
def _read(file: str, digest: str, columns: tuple[str, ...]) -> np.ndarray:
    path = Path(file)
    if sha256(path.read_bytes()).hexdigest() != digest:
        raise ValueError(f"{file} has changed since the sweep was listed: run it again")
    if path.suffix == ".npy":
        array: np.ndarray = np.load(path, allow_pickle=False)
        return array
    import polars as pl

    frame = pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path, try_parse_dates=True)
    chosen = [pick(name, frame.columns, path.name, what="column") for name in columns] or frame.columns
    return frame[chosen[0]].to_numpy() if len(chosen) == 1 else frame.select(chosen).to_numpy()
