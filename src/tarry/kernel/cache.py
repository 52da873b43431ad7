"""The disk cache of compiled code, keyed by everything that can change it.

Numba notices edits only in the file of the cached function itself; ours are assembled from many. So
the cache folder carries a hash of all sources of the package and of every file from outside that
defines a parameter type in use. A type without a file (a notebook) switches the disk cache off.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from numba import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache

PACKAGE = Path(__file__).resolve().parents[1]
# A sweep may meet hundreds of combinations of types, each with a folder of its own; those of other versions of the
# package go as a whole.
KEPT_VERSIONS = 8
KEPT_COMBINATIONS = 1024


_IMPORTED = time.time()


class Fingerprint(NamedTuple):
    """Hashes of the package's sources, and of what one combination of parameters adds to them."""

    package: str
    combination: str

    @classmethod
    def of(cls, parameters: tuple[Any, ...], registered: Mapping[type, set[str]]) -> Fingerprint | None:
        """The fingerprint of these parameters, or None where the disk cache must not be used.

        That is where some source has no file, or was edited after it was imported: what runs is then
        not what the file says.
        """
        foreign = {name for name in registered.get(object, set()) if not _is_ours(name)}
        for value in walk(parameters):
            if callable(value):
                return None  # a compiled function inside parameters: Numba misses its cache anyway
            foreign |= {name for name in _files_of(type(value), registered) if not _is_ours(name)}
        paths = [Path(name) for name in sorted(foreign)]
        if any(not path.is_file() or path.stat().st_mtime > _IMPORTED for path in paths):
            return None
        package = _package_digest()
        if package is None:
            return None
        hasher = hashlib.sha256()
        # Cached code names the types it was made for, so the same text under another name is another code.
        for kind in sorted({f"{type(v).__module__}.{type(v).__qualname__}" for v in walk(parameters)}):
            hasher.update(kind.encode())
        for path in paths:
            hasher.update(path.read_bytes())
        return cls(package[:16], hasher.hexdigest()[:16])


def _files_of(kind: type, registered: Mapping[type, set[str]]) -> set[str]:
    """Files that define a type, its ancestors and the verbs of any of them."""
    files: set[str] = set()
    for ancestor in kind.__mro__:
        files |= registered.get(ancestor, set()) if ancestor is not object else set()
        if ancestor.__module__ not in ("builtins", "typing"):
            files.add(getattr(sys.modules.get(ancestor.__module__), "__file__", None) or "")
    return files


def walk(value: Any) -> Iterator[Any]:
    """Every named tuple and every function inside (nested) tuples."""
    if isinstance(value, tuple):
        if type(value) is not tuple:
            yield value
        for item in value:
            yield from walk(item)
    elif callable(value):
        yield value


def _is_ours(name: str) -> bool:
    return bool(name) and PACKAGE in Path(name).resolve().parents


@functools.cache
def source_digest() -> str | None:
    """A hash of the package's sources as they were imported; None if they were edited since."""
    hasher = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.stat().st_mtime > _IMPORTED:
            return None
        hasher.update(path.relative_to(PACKAGE).as_posix().encode())
        hasher.update(path.read_bytes())
    return hasher.hexdigest()


def _package_digest() -> str | None:
    """The same with the version of Python: what is compiled depends on both."""
    source = source_digest()
    return None if source is None else hashlib.sha256(f"{sys.version} {source}".encode()).hexdigest()


def cache_root() -> Path:
    """Where compiled code is kept: NUMBA_CACHE_DIR if set, else the user's cache folder."""
    if config.CACHE_DIR:
        return Path(config.CACHE_DIR)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "tarry"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "tarry"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tarry"


class _Locator:
    """Numba's locator protocol over one folder; the folder's name is the whole stamp."""

    def __init__(self, folder: Path, py_file: str) -> None:
        self._folder = folder
        self._py_file = py_file

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return self._folder.name

    def get_disambiguator(self) -> str:
        return hashlib.sha256(self._py_file.encode()).hexdigest()[:8]

    def ensure_cache_path(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)


def attach_cache(dispatcher: Any, fingerprint: Fingerprint) -> None:
    """Give a dispatcher a disk cache in the fingerprint's folder; without a writable one, none."""
    folder = cache_root() / f"compiled-{fingerprint.package}" / fingerprint.combination
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            return
        for used in (folder, folder.parent):
            os.utime(used)
        _forget_old(list(folder.parent.iterdir()), KEPT_COMBINATIONS)
        _forget_old(list(cache_root().glob("compiled-*")), KEPT_VERSIONS)
    except OSError:
        return

    class Locator(_Locator):
        @classmethod
        def from_function(cls, _function: Any, py_file: str) -> Locator:
            return cls(folder, py_file)

    class Implementation(CompileResultCacheImpl):  # type: ignore[misc]
        _locator_classes = [Locator]

    class KeyedCache(FunctionCache):  # type: ignore[misc]
        _impl_class = Implementation

    dispatcher._cache = KeyedCache(dispatcher.py_func)


def _forget_old(folders: list[Path], kept: int) -> None:
    if len(folders) <= kept:
        return
    folders.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for stale in folders[kept:]:
        shutil.rmtree(stale, ignore_errors=True)
