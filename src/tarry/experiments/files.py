"""Sweep files: TOML, the files they include, and the arrays they name.

``include = ["base.toml"]`` reads other files first; tables are merged key by key, and what the including file says
holds. ``members = ["mymethods"]`` names modules. An array is a file, ``{file = "rows.npy"}``, or columns of a table,
``{file = "log.csv", columns = ["a"]}``.
"""

from __future__ import annotations

import tomllib
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tarry.checks import pick

Tree = dict[str, Any]
Key = tuple[str, ...]

DATA_KEYS = ("file", "columns")
READERS = (".npy", ".csv", ".parquet")
# How many levels of keys below a top-level key are names that the user chose, of games or axes for example:
# a table under such a name is never data, even if one of its keys is "file". Elsewhere nothing is data.
NAME_LEVELS = {"games": 2, "players": 2, "axes": 1, "comparator": 0}
NO_DATA = 99


class Text:
    """What a file says, with all it includes, and which of them said it; ValueError where one cannot be read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tree: Tree = {}
        self.sources: dict[Path, str] = {}
        self.members: list[tuple[str, str]] = []  # modules of code, with their place
        self._said: dict[Key, Path] = {}
        self._read(path, ())

    def _read(self, path: Path, above: tuple[Path, ...]) -> None:
        here = path.resolve()
        if here in above:
            way = " → ".join(file.name for file in (*above[above.index(here) :], here))
            raise ValueError(f"{above[-1].name}: include: files include each other in a circle, {way}: leave one out")
        asker = f"{above[-1].name}: include: " if above else ""
        try:
            text = path.read_text(encoding="utf-8")
            tree = tomllib.loads(text)
        except OSError as error:
            raise ValueError(f"{asker}{path} cannot be read: {error.strerror}") from error
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise ValueError(f"{path.name} is not TOML: {error}") from error
        self.sources.setdefault(here, text)
        for name in _listed(tree, "include", "base.toml", path):
            self._read(path.parent / name, (*above, here))
        for name in _listed(tree, "members", "mymethods", path):
            self.members.append((name, f"{path.name}: members"))
        self.tree = self._merged(self.tree, _with_digests(tree, path.parent, f"{path.name}: "), path)

    def place(self, *key: str | int) -> str:
        """Return ``file: a.b.c`` for a key, with the file that gave it."""
        named = tuple(part for part in key if isinstance(part, str))
        longest = next((named[:n] for n in range(len(named), 0, -1) if named[:n] in self._said), None)
        key_text = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in key).lstrip(".")
        file = self.path if longest is None else self._said[longest]
        return f"{file.name}: {key_text}" if key_text else file.name

    def _merged(self, old: Tree, new: Tree, path: Path, above: Key = ()) -> Tree:
        """Return a file's tables over what was read before, and remember which file said what."""
        merged = dict(old)
        for name, value in new.items():
            key, before = (*above, name), merged.get(name)
            merged[name] = value
            if isinstance(value, dict):
                # A member or data, below games, players and axes, says as a whole what it is: parameters of another
                # type must not linger.
                below_names = len(key) > NAME_LEVELS.get(key[0], NO_DATA)
                is_whole = (len(key) > 2 and "type" in value) or (below_names and is_data(value))
                under = before if isinstance(before, dict) and not is_whole else {}
                merged[name] = self._merged(under, value, path, key)
            if not isinstance(before, dict) or not isinstance(value, dict):
                self._said[key] = path
        return merged


def _listed(tree: Tree, key: str, like: str, path: Path) -> list[str]:
    """Return a list of files, taken out of a tree; raise ValueError where it is none."""
    names = tree.pop(key, [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f'{path.name}: {key}: must be a list of files, as in ["{like}"], got {names!r}')
    return names


def is_data(value: Any) -> bool:
    """Return whether this stands for an array in a file."""
    return isinstance(value, dict) and "file" in value and "type" not in value


def _with_digests(tree: Tree, folder: Path, place: str) -> Tree:
    """Return a sweep's tables with full names and hashes of its data; files are looked for in ``folder``."""
    # The hash makes the data part of a cell's identity: a file that moved is the same data, a changed one is not.
    resolved: Tree = {}
    for name, value in tree.items():
        if name == "blocks" and isinstance(value, list):
            inside = f"{place}.blocks"
            resolved[name] = [
                _with_digests(entry, folder, inside) if isinstance(entry, dict) else entry for entry in value
            ]
        else:
            resolved[name] = _resolved(value, folder, f"{place}.{name}", NAME_LEVELS.get(name, NO_DATA))
    return resolved


def _resolved(tree: Any, folder: Path, place: str, levels: int) -> Any:
    """Recurse into one top-level key; the first ``levels`` levels of keys below it are user-chosen names."""
    where = place.replace(": .", ": ")
    if isinstance(tree, list):
        return [_resolved(value, folder, place, levels) for value in tree]
    if not isinstance(tree, dict):
        if not isinstance(tree, (str, int, float)):
            raise ValueError(f"{where}: must be text, a number, a list or a table, got {tree}")
        return tree
    if levels or not is_data(tree):
        inside = max(0, levels - 1)
        return {name: _resolved(value, folder, f"{place}.{name}", inside) for name, value in tree.items()}
    for name in tree:
        pick(name, DATA_KEYS, f"{where}.{name}", what="key of a file")
    path = (folder / str(tree["file"])).resolve()
    if path.suffix not in READERS:
        raise ValueError(f"{where}.file: must end in one of {', '.join(READERS)}, got {tree['file']!r}")
    try:
        digest = sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise ValueError(f"{where}.file: {path} cannot be read: {error.strerror}") from error
    return tree | {"file": str(path), "digest": digest}


def without_file_names(tree: Any) -> Any:
    """Return the tree without the names of data files, whose hashes stay."""
    if isinstance(tree, dict):
        rest = {name: value for name, value in tree.items() if not (name == "file" and is_data(tree))}
        return {name: without_file_names(value) for name, value in rest.items()}
    return [without_file_names(value) for value in tree] if isinstance(tree, list) else tree


@lru_cache(maxsize=8)  # cells of one sweep ask for the same few files again and again
def read_data(file: str, digest: str, columns: tuple[str, ...] = ()) -> np.ndarray:
    """Return the array of a file with this hash; one column is a vector, several are a matrix."""
    path = Path(file)
    if sha256(path.read_bytes()).hexdigest() != digest:
        raise ValueError(f"{file} has changed since the sweep was listed: run it again")
    if path.suffix == ".npy":
        array: np.ndarray = np.load(path, allow_pickle=False)
        return array
    frame = pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path, try_parse_dates=True)
    names = [pick(name, frame.columns, path.name, what="column") for name in columns] or frame.columns
    return frame[names[0]].to_numpy() if len(names) == 1 else frame.select(names).to_numpy()
