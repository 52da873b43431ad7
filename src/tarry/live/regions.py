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

    def chunks(self, rounds: int) -> int:
        """How many of them are stored when so many rounds are remembered."""
        return self.buffer.size // CHUNK

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
    """A region that compiled code writes to: changes are found by comparing with what is stored."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self._starts = range(0, self.buffer.size, CHUNK)
        self._stored = [b""] * len(self._starts)  # nothing yet: everything is new

    def changes(self) -> list[tuple[int, bytes]]:
        """The chunks that differ from what is stored."""
        whole = self.buffer.tobytes()
        pieces = (whole[start : start + CHUNK] for start in self._starts)
        # Slices and comparisons of bytes are cheaper than arrays at the few thousand bytes of a usual state.
        found = [(i, now) for i, (now, then) in enumerate(zip(pieces, self._stored, strict=True)) if now != then]
        self.dirty = {i for i, _ in found}
        return found

    def load(self, chunk: int, data: bytes) -> None:
        """Take a chunk from the store, and remember it."""
        super().load(chunk, data)
        self._stored[chunk] = bytes(data)

    def settle(self) -> None:
        """What is in the buffer is now what is stored."""
        for i in self.dirty:
            self._stored[i] = self.buffer[i * CHUNK : (i + 1) * CHUNK].tobytes()
        self.dirty.clear()

    def abandon(self) -> None:
        """Back to what is stored."""
        for i, data in enumerate(self._stored):
            if data:
                super().load(i, data)
        self.dirty.clear()


def lay_out(tree: Any) -> tuple[Watched, Any]:
    """A region holding every array of a tree of named tuples, and the same tree with views of it.

    Small arrays come first: they change in every round, and so lie together in few chunks.
    """
    arrays = leaves(tree)
    region = Watched(sum(_room(a) for a in arrays))
    views: dict[int, np.ndarray] = {}
    start = 0
    for i in sorted(range(len(arrays)), key=lambda i: arrays[i].nbytes):
        a = arrays[i]
        views[i] = region.buffer[start : start + a.nbytes].view(a.dtype).reshape(a.shape)
        views[i][...] = a
        start += _room(a)
    return region, _rebuild(tree, iter(views[i] for i in range(len(arrays))))


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
