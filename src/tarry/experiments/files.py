"""Sweep files: TOML, and the files they include.

``include = ["base.toml"]`` reads other files first, relative to the one that names them; tables are merged key by
key, and what the including file says holds.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from tarry.experiments.data import anchored, is_data

Tree = dict[str, Any]
Key = tuple[str, ...]


class Text:
    """What files say together, and which of them said it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tree: Tree = {}
        self.sources: dict[Path, str] = {}
        self._said: dict[Key, Path] = {}

    def place(self, *key: str | int) -> str:
        """``file: a.b.c`` for a key, with the file that gave it."""
        named = tuple(part for part in key if isinstance(part, str))
        longest = next((named[:n] for n in range(len(named), 0, -1) if named[:n] in self._said), None)
        shown = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in key).lstrip(".")
        file = self.path if longest is None else self._said[longest]
        return f"{file.name}: {shown}" if shown else file.name

    def add(self, tree: Tree, path: Path) -> None:
        """Let a file's tables hold over what was read before."""
        self.tree = self._merged(self.tree, tree, path, ())

    def _merged(self, old: Tree, new: Tree, path: Path, above: Key) -> Tree:
        merged = dict(old)
        for name, value in new.items():
            key, before = (*above, name), merged.get(name)
            # A member says as a whole what it is: parameters of another type must not linger.
            if isinstance(value, dict) and isinstance(before, dict) and not _is_whole(key, value):
                merged[name] = self._merged(before, value, path, key)
            else:
                merged[name] = self._merged({}, value, path, key) if isinstance(value, dict) else value
            if not isinstance(before, dict) or not isinstance(value, dict):
                self._said[key] = path
        return merged


def _is_whole(key: Key, value: Tree) -> bool:
    """Whether this is a member or data, as nothing above the keys of a game or a player is, whatever its name."""
    return len(key) > 2 and ("type" in value or is_data(value))


def read_files(path: Path) -> Text:
    """The file with everything it includes."""
    text = Text(path)
    _read(path, text, ())
    return text


def _read(path: Path, text: Text, above: tuple[Path, ...]) -> None:
    here = path.resolve()
    if here in above:
        way = " → ".join(one.name for one in (*above[above.index(here) :], here))
        raise ValueError(f"{above[-1].name}: include: files include each other in a circle, {way}: leave one out")
    said = _said(path, above)
    text.sources.setdefault(here, said)
    tree = _parse(path, said)
    included = tree.pop("include", [])
    if not isinstance(included, list) or not all(isinstance(name, str) for name in included):
        raise ValueError(f'{path.name}: include: must be a list of files, as in ["base.toml"], got {included!r}')
    for name in included:
        _read(path.parent / name, text, (*above, here))
    text.add(anchored(tree, path.parent, f"{path.name}: "), path)


def _said(path: Path, above: tuple[Path, ...]) -> str:
    asked = f"{above[-1].name}: include: " if above else ""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"{asked}{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path.name} is not TOML: {error}") from error


def _parse(path: Path, said: str) -> Tree:
    try:
        return tomllib.loads(said)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path.name} is not TOML: {error}") from error


def one_after_another(sources: dict[Path, str]) -> str:
    """The first file as it is, then each it includes under a line with its name: to be read, not to be run.

    >>> print(one_after_another({Path("a.toml"): 'include = ["b.toml"]', Path("b.toml"): "seeds = 3"}))
    include = ["b.toml"]
    <BLANKLINE>
    # --- b.toml ---
    seeds = 3
    """
    first, *others = sources.items()
    return "\n\n".join([first[1].rstrip(), *(f"# --- {path.name} ---\n{said.rstrip()}" for path, said in others)])
