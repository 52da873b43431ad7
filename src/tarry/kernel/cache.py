"""Keep compiled code on disk, keyed by everything that can change it.

Numba notices edits only in the file of the cached function itself; ours are assembled from many. So the cache folder
carries a hash of the rooms that hold steps, of the entry's file, and of the code of parameter types from elsewhere.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from tarry._version import __version__
from tarry.kernel import sources
from tarry.kernel.frozen import Values

PACKAGE = Path(__file__).resolve().parents[1]
# Compiled rounds are assembled from these rooms and from the numbers of fates; no other file of the package can
# change them, so an edit elsewhere (a help text, a report) keeps what is compiled.
ROOMS = ("kernel", "domains", "losses", "delays", "schedulers", "rates", "learners", "tracking", "game")
NUMBERS = ("outcomes.py",)
# A sweep may meet hundreds of combinations of types, each with a folder of its own; those of other versions of the
# package go as a whole.
KEPT_VERSIONS = 8
KEPT_COMBINATIONS = 1024
# What bug reports and results tell the versions of.
PARTS = (
    "numpy numba llvmlite scipy polars altair vl-convert-python typer rich pydantic dask distributed psycopg "
    "river scikit-learn torch"
)
EDITED = "edited"  # the hash of sources that were changed after their import: what runs is not known
SHOWN = 12  # hexadecimal digits: enough that two states of the sources never share them


class Fingerprint(NamedTuple):
    """Hashes of the rooms with steps, and of what one entry and one combination of parameters add to them."""

    package: str
    combination: str

    @classmethod
    def of(cls, file: str, parameters: tuple[Any, ...], registered: Mapping[type, set[Any]]) -> Fingerprint | None:
        """Return the fingerprint, None where a source has no file (a notebook) or was edited after its import.

        ``registered`` are the implementations of verbs by type: they need not stand in the type's file.
        """
        tree = list(walk(parameters))
        if any(callable(value) for value in tree):
            return None  # a compiled function inside parameters: Numba misses its cache anyway
        verbs = verbs_from_outside(map(type, tree), registered)
        kinds = {kind for value in tree for kind in type(value).__mro__[:-1] if _is_from_outside(kind)}
        package = rooms_digest()
        if package is None:
            return None
        # Cached code names the types it was made for, so the same text under another name is another code.
        parts = {f"{type(v).__module__}.{type(v).__qualname__}" for v in walk(parameters)}
        try:
            parts |= {sources.digest_of(thing) for thing in kinds | verbs} | Values(verbs).digests()
            parts |= set() if _is_in_rooms(file) else {sources.digest_of_file(file)}
        except sources.Unknown:
            return None
        return cls(package[:16], hashlib.sha256("\0".join(sorted(parts)).encode()).hexdigest()[:16])


def walk(value: Any) -> Iterator[Any]:
    """Yield every named tuple and every function inside (nested) tuples."""
    if isinstance(value, tuple):
        if type(value) is not tuple:
            yield value
        for item in value:
            yield from walk(item)
    elif callable(value):
        yield value


def verbs_from_outside(kinds: Iterable[type], registered: Mapping[type, set[Any]]) -> set[Any]:
    """Return the implementations of verbs for these types, and for their ancestors, that no room has."""
    ancestors = {
        ancestor for kind in kinds for ancestor in kind.__mro__[:-1]
    }  # steps stand under ``object``: others call them
    return {verb for ancestor in ancestors for verb in registered.get(ancestor, ()) if _is_from_outside(verb)}


def _is_from_outside(thing: Any) -> bool:
    """Return whether a type or a function is defined outside the rooms."""
    if isinstance(thing, type) and thing.__module__ in ("builtins", "typing"):
        return False
    return not _is_in_rooms(sources.file_of(thing))


@functools.cache
def _is_in_rooms(name: str) -> bool:
    path = Path(name).resolve()
    if not name or PACKAGE not in path.parents:
        return False
    inside = path.relative_to(PACKAGE)
    return inside.parts[0] in ROOMS or inside.as_posix() in NUMBERS


@functools.cache
def source_digest() -> str | None:
    """Return a hash of all sources of the package as they were imported, None if one was edited since."""
    return _digest(PACKAGE.rglob("*.py"))


def versions() -> dict[str, str]:
    """Return versions by name, with a hash of Tarry's sources; a part that is not installed says so."""
    numbers = {"tarry": __version__, "source": source(), "python": platform.python_version()}
    numbers["system"] = platform.platform()
    for name in PARTS.split():
        try:
            numbers[name] = version(name)
        except PackageNotFoundError:
            numbers[name] = "not installed"
    return numbers


def source() -> str:
    """Return the start of a hash of Tarry's sources, which tells unreleased code of one version apart."""
    return (source_digest() or EDITED)[:SHOWN]


def show_versions() -> None:
    """Write :func:`versions` to standard output, one a line."""
    for name, number in versions().items():
        sys.stdout.write(f"{name:18} {number}\n")


@functools.cache
def rooms_digest() -> str | None:
    """Return a hash of the rooms with steps and of the version of Python, None if a source was edited since."""
    paths = [path for room in ROOMS for path in (PACKAGE / room).rglob("*.py")]
    digest = _digest([*paths, *(PACKAGE / name for name in NUMBERS)])
    return None if digest is None else hashlib.sha256(f"{sys.version} {digest}".encode()).hexdigest()


def _digest(paths: Iterable[Path]) -> str | None:
    hasher = hashlib.sha256()
    for path in sorted(paths):
        if path.stat().st_mtime > sources.IMPORTED:
            return None
        hasher.update(path.relative_to(PACKAGE).as_posix().encode())
        hasher.update(path.read_bytes())
    return hasher.hexdigest()


def cache_root() -> Path:
    """Return where compiled code is kept: our folder in NUMBA_CACHE_DIR if set, else in the user's cache folder."""
    shared = os.environ.get("NUMBA_CACHE_DIR")
    if shared:
        return Path(shared) / "tarry"  # the folder is shared with other packages
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "tarry"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "tarry"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tarry"


def make_folder(fingerprint: Fingerprint) -> Path | None:
    """Return the fingerprint's folder, made and marked as used, or None where nothing can be written."""
    folder = cache_root() / f"compiled-{fingerprint.package}" / fingerprint.combination
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            return None
        for used in (folder, folder.parent):
            os.utime(used)
        _forget_old(list(folder.parent.iterdir()), KEPT_COMBINATIONS)
        # Our own names alone: what else lies there is not ours to remove.
        _forget_old(list(cache_root().glob("compiled-" + "[0-9a-f]" * 16)), KEPT_VERSIONS)
    except OSError:
        return None
    return folder


def _forget_old(folders: list[Path], most: int) -> None:
    if len(folders) <= most:
        return
    folders.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for stale in folders[most:]:
        shutil.rmtree(stale, ignore_errors=True)
