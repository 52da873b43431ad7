"""Keep what is costly to find again, the latest used, up to so many bytes in all."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")
ENTRY_BYTES = 1 << 10  # of a key and of what stands around a value


class Kept(Generic[T]):
    """Values by key, for all threads; those longest unused go first.

    >>> kept = Kept[str](most=4000)
    >>> [kept.take(key, key.upper(), 500) for key in "abab"]
    ['A', 'B', 'A', 'B']
    >>> kept.take("c", "C", 500), list(kept)
    ('C', ['b', 'c'])
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._lock = threading.Lock()
        self._held: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()  # the latest stand last
        self._bytes = 0

    def __iter__(self) -> Iterator[Hashable]:
        return iter(list(self._held))

    def find(self, key: Hashable) -> T | None:
        """Return a value, None where there is none."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
            return self._held.get(key, (None, 0))[0]

    def take(self, key: Hashable, value: T, size: int = 0) -> T:
        """Return the value that is there, or keep this one."""
        with self._lock:
            if key in self._held:
                value, size = self._held[key][0], self._held[key][1] - ENTRY_BYTES
            self._put(key, value, size)
            return value

    def resize(self, key: Hashable, size: int) -> None:
        """Say that a value has grown, or shrunk; one that has gone stays away."""
        with self._lock:
            if key in self._held:
                self._put(key, self._held[key][0], size)

    def _put(self, key: Hashable, value: T, size: int) -> None:
        self._bytes += ENTRY_BYTES + size - self._held.pop(key, (value, 0))[1]
        self._held[key] = value, ENTRY_BYTES + size
        while self._bytes > self.most:
            self._bytes -= self._held.popitem(last=False)[1][1]
