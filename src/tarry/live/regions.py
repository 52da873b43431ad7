"""Bytes that must survive: arrays in one buffer, and which pieces of it have changed.

A store keeps regions in chunks of ``CHUNK`` bytes. Four rows of that size fill a page of SQLite, and it is a
multiple of 8, so no number straddles two chunks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

CHUNK = 984
STATE, FATES, IDS = range(3)
_WORDS = CHUNK // 8


class Region:
    """A buffer and the chunks of it that differ from what is stored."""

    def __init__(self, size: int) -> None:
        self.buffer = np.zeros(-(-size // CHUNK) * _WORDS, np.uint64).view(np.uint8)
        self.dirty: set[int] = set()

    def changes(self) -> list[tuple[int, bytes]]:
        """The changed chunks, whole."""
        return [(i, self.buffer[i * CHUNK : (i + 1) * CHUNK].tobytes()) for i in sorted(self.dirty)]

    def load(self, chunk: int, data: bytes) -> None:
        """Take a chunk from the store."""
        self.buffer[chunk * CHUNK : (chunk + 1) * CHUNK] = np.frombuffer(data, np.uint8)

    def settle(self) -> None:
        """What is in the buffer is now what is stored."""
        self.dirty.clear()

    def abandon(self) -> None:
        """Forget changed chunks; the store's own are loaded next, those it never had stay zero."""
        for i in self.dirty:
            self.buffer[i * CHUNK : (i + 1) * CHUNK] = 0
        self.dirty.clear()


class Watched(Region):
    """A region that compiled code writes to: changes are found by comparing with a copy (none yet: all is new)."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self._stored = np.zeros_like(self.buffer)
        self._is_new = True

    def changes(self) -> list[tuple[int, bytes]]:
        """The chunks that differ from the copy."""
        now, then = (a.view(np.uint64).reshape(-1, _WORDS) for a in (self.buffer, self._stored))
        differs = (now != then).any(axis=1)
        self.dirty = set(range(differs.size)) if self._is_new else set(np.flatnonzero(differs).tolist())
        return super().changes()

    def load(self, chunk: int, data: bytes) -> None:
        """Take a chunk from the store, and remember it."""
        self._is_new = False
        super().load(chunk, data)
        self._stored[chunk * CHUNK : (chunk + 1) * CHUNK] = self.buffer[chunk * CHUNK : (chunk + 1) * CHUNK]

    def settle(self) -> None:
        """What is in the buffer is now what is stored."""
        self._is_new = False
        for i in self.dirty:
            self._stored[i * CHUNK : (i + 1) * CHUNK] = self.buffer[i * CHUNK : (i + 1) * CHUNK]
        self.dirty.clear()

    def abandon(self) -> None:
        """Back to the copy."""
        self.buffer[:] = self._stored
        self.dirty.clear()


def lay_out(tree: Any) -> tuple[Watched, Any]:
    """A region holding every array of a tree of named tuples, and the same tree with views of it."""
    arrays = leaves(tree)
    region = Watched(sum(_room(a) for a in arrays))
    views, start = [], 0
    for a in arrays:
        view = region.buffer[start : start + a.nbytes].view(a.dtype).reshape(a.shape)
        view[...] = a
        views.append(view)
        start += _room(a)
    return region, _rebuild(tree, iter(views))


def describe(tree: Any) -> str:
    """The arrays of a tree in order, as text: two trees with one description share a layout."""
    return ";".join(f"{a.dtype.str}{'x'.join(map(str, a.shape))}" for a in leaves(tree))


def leaves(tree: Any) -> list[np.ndarray]:
    """The arrays of a tree of tuples, in order."""
    if isinstance(tree, np.ndarray):
        return [tree]
    return [leaf for branch in tree for leaf in leaves(branch)]


def _room(a: np.ndarray) -> int:
    return -(-a.nbytes // 8) * 8


def _rebuild(tree: Any, views: Any) -> Any:
    if isinstance(tree, np.ndarray):
        return next(views)
    parts = [_rebuild(branch, views) for branch in tree]
    return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)
