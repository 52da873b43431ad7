"""Names of rounds: our numbers, or the caller's own ids."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Container, Hashable

import numpy as np


class Ids:
    """Finds the round of an id: all are round numbers, or all are the caller's; mixing could confuse two rounds.

    The caller's ids are kept for the last ``memory`` rounds and for tracked ones; older ones are unknown.
    """

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self._rounds: OrderedDict[Hashable, int] | None = None

    def find(self, id: Hashable, rounds: int) -> int | None:
        """The round of this id, or None."""
        _check(id)
        if self._rounds is not None:
            return self._rounds.get(id)
        if (type(id) is int or isinstance(id, np.integer)) and 1 <= id <= rounds:
            return int(id)
        return None

    def settle(self, id: Hashable, rounds: int) -> None:
        """Refuse an id of the other kind than those before."""
        if rounds == 0:
            self._rounds = None if id is None else OrderedDict()
        elif (id is None) != (self._rounds is None):
            used = "round numbers" if self._rounds is None else "your own ids"
            raise ValueError(f"this session has used {used} so far, got id={id!r}: give ids always or never")

    def add(self, id: Hashable, t: int, tracked: Container[int]) -> None:
        """Remember that round t has this id; forget the oldest that is neither recent nor tracked."""
        if self._rounds is None:
            return
        self._rounds[id] = t
        surplus = len(self._rounds) - self._memory
        while surplus > 0:
            surplus -= 1
            oldest, s = next(iter(self._rounds.items()))
            if s in tracked:
                self._rounds.move_to_end(oldest)
            else:
                del self._rounds[oldest]
                break


def _check(id: Hashable) -> None:
    try:
        hash(id)
    except TypeError as error:
        raise TypeError(f"an id must be hashable, got {id!r}: use a string or a number") from error
