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
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from numba import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache

PACKAGE = Path(__file__).resolve().parents[1]
KEPT_FOLDERS = 8


class Fingerprint(NamedTuple):
    """A hash of the sources behind one combination of parameters."""

    digest: str

    @classmethod
    def of(cls, parameters: tuple[Any, ...], sources_of: Mapping[type, set[str]]) -> Fingerprint | None:
        """The fingerprint of these parameters, or None where some source has no file."""
        foreign: set[str] = set()
        for value in walk(parameters):
            if callable(value):
                return None  # a compiled function inside parameters: Numba misses its cache anyway
            module = sys.modules.get(type(value).__module__)
            files = {getattr(module, "__file__", None), *sources_of.get(type(value), ())}
            foreign |= {name or "" for name in files if not _is_ours(name)}
        if any(not Path(name).is_file() for name in foreign):
            return None
        hasher = hashlib.sha256(_package_digest().encode())
        for name in sorted(foreign):
            hasher.update(Path(name).read_bytes())
        return cls(hasher.hexdigest()[:16])


def walk(value: Any) -> Iterator[Any]:
    """Every named tuple and every function inside (nested) tuples."""
    if isinstance(value, tuple):
        if type(value) is not tuple:
            yield value
        for item in value:
            yield from walk(item)
    elif callable(value):
        yield value


def _is_ours(name: str | None) -> bool:
    return name is not None and PACKAGE in Path(name).resolve().parents


@functools.cache
def _package_digest() -> str:
    hasher = hashlib.sha256(sys.version.encode())
    for path in sorted(PACKAGE.rglob("*.py")):
        hasher.update(path.relative_to(PACKAGE).as_posix().encode())
        hasher.update(path.read_bytes())
    return hasher.hexdigest()


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
    folder = cache_root() / f"compiled-{fingerprint.digest}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            return
        os.utime(folder)
        _forget_old_folders(folder.parent)
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


def _forget_old_folders(root: Path) -> None:
    folders = sorted(root.glob("compiled-*"), key=lambda path: path.stat().st_mtime, reverse=True)
    for stale in folders[KEPT_FOLDERS:]:
        shutil.rmtree(stale, ignore_errors=True)
