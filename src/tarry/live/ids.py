"""Names of rounds: our numbers, or the caller's own ids."""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable
from hashlib import blake2b
from typing import Any

import numpy as np

from tarry.live.regions import CHUNK, Region

UNDECIDED, OURS, CALLERS = range(3)
_PER_CHUNK = CHUNK // 8
_FAR = 1 << 1024


def as_id(id: Any) -> Hashable:
    """An id that can be stored and compared anywhere: a string, a whole number or bytes."""
    if type(id) is str or (type(id) is int and -_FAR < id < _FAR):
        return id
    if isinstance(id, np.integer):
        return int(id)
    if isinstance(id, str):
        return str.__str__(id)
    if isinstance(id, bytes):
        return bytes(id)
    if isinstance(id, int) and not isinstance(id, bool):
        if -_FAR < id < _FAR:
            return int(id)
        raise ValueError(f"an id that is a number must lie below 2¹⁰²⁴, got one of {id.bit_length()} bits")
    if isinstance(id, float):
        raise TypeError(
            f"an id must be a string, a whole number or bytes, got {id!r}: pandas makes such numbers of a column of "
            "whole ones that has a gap, so drop the rows without an id and give whole numbers or texts"
        )
    way = "leave out rows without one" if id is None else "use str(…) of it"
    raise TypeError(f"an id must be a string, a whole number or bytes, got {id!r}: {way}")


class Ids(Region):
    """Finds the round of a caller's id among the last ``memory`` rounds: eight bytes a round.

    What is kept is a 64-bit hash keyed by the session's seed; that two of a million ids share one has a chance of
    3·10⁻⁸. Tracked rounds that have left the ring are kept aside.
    """

    def __init__(self, memory: int, seed: int) -> None:
        super().__init__(8 * memory)
        self._memory = memory
        self._key = str(seed).encode()[:64]
        self._hashes = memoryview(self.buffer.view(np.uint64))  # type: ignore[arg-type]
        # Places of hashes, plus one, by linear probing; kept at most half full.
        self._mask = (1 << max(3, int(2 * memory - 1).bit_length())) - 1
        self._places = memoryview(np.zeros(self._mask + 1, np.int32))  # type: ignore[arg-type]
        self._aside: dict[int, int] = {}

    def chunks(self, rounds: int) -> int:
        """Every round writes its id when it begins."""
        return -(-rounds // _PER_CHUNK)

    def hash(self, id: Hashable) -> int:
        """The keyed hash of an id; 0 stands for nobody."""
        if isinstance(id, str):
            text = b"s" + id.encode("utf-8", "surrogatepass")
        elif isinstance(id, bytes):
            text = b"b" + id
        else:
            text = f"i{id}".encode()
        return int.from_bytes(blake2b(text, digest_size=8, key=self._key).digest(), "little") or 1

    def find(self, id: Hashable, rounds: int) -> int | None:
        """The round of this id, or None."""
        wanted = self.hash(id)
        i = self._seek(wanted)
        if self._places[i]:
            place = self._places[i] - 1
            return rounds - (rounds - 1 - place) % self._memory
        return self._aside.get(wanted)

    def add(self, id: Hashable, t: int, tracked: Container[int]) -> None:
        """Round t has this id; the round whose place it takes is kept aside if it is tracked."""
        place = (t - 1) % self._memory
        former = self._hashes[place]
        if former:
            self._remove(former)
            if t - self._memory in tracked:
                self._aside[former] = t - self._memory
        wanted = self.hash(id)
        self._hashes[place] = wanted
        self._places[self._seek(wanted)] = place + 1
        self.dirty.add(place // _PER_CHUNK)

    def forget(self, id: Hashable) -> None:
        """An old tracked round has ended."""
        self._aside.pop(self.hash(id), None)

    def chunks_between(self, before: int, rounds: int) -> range | None:
        """The chunks that rounds before+1..rounds lie in, or None where the ring came round.

        Then an id may have left one place and come back at an earlier one, so everything is indexed anew.
        """
        if rounds == before:
            return range(0)
        first, last = before % self._memory, (rounds - 1) % self._memory
        if rounds - before >= self._memory or first > last:
            return None
        return range(first // _PER_CHUNK, last // _PER_CHUNK + 1)

    def take(self, chunk: int, data: bytes) -> None:
        """Load a chunk that others have written and index what is new in it."""
        theirs = np.frombuffer(data, np.uint64)
        first = chunk * _PER_CHUNK
        for i in np.flatnonzero(theirs != np.asarray(self._hashes[first : first + _PER_CHUNK])).tolist():
            if self._hashes[first + i]:
                self._remove(self._hashes[first + i])
            self._hashes[first + i] = int(theirs[i])
            self._places[self._seek(int(theirs[i]))] = first + i + 1

    def keep_aside(self, aside: Iterable[tuple[Hashable, int]]) -> None:
        """The tracked rounds that have left the ring, with their ids."""
        self._aside = {self.hash(id): t for id, t in aside}

    def rebuild(self) -> None:
        """Index everything anew after all chunks were loaded."""
        hashes = np.asarray(self._hashes)
        places = np.asarray(self._places)
        places[:] = 0
        waiting = np.flatnonzero(hashes)
        spots = (hashes[waiting] & np.uint64(self._mask)).astype(np.int64)
        while waiting.size:  # everyone tries a spot; the first to come takes a free one, the others move on
            free = places[spots] == 0
            _, first = np.unique(spots, return_index=True)
            winners = np.zeros(waiting.size, bool)
            winners[first] = True
            winners &= free
            places[spots[winners]] = waiting[winners] + 1
            waiting, spots = waiting[~winners], (spots[~winners] + 1) & self._mask

    def _seek(self, wanted: int) -> int:
        """Where this hash is indexed, or the free spot where it would be."""
        i = wanted & self._mask
        while self._places[i] and self._hashes[self._places[i] - 1] != wanted:
            i = (i + 1) & self._mask
        return i

    def _remove(self, hash: int) -> None:
        places, mask = self._places, self._mask
        hole = i = self._seek(hash)
        while True:
            i = (i + 1) & mask
            if not places[i]:
                break
            home = self._hashes[places[i] - 1] & mask
            # An entry may fill the hole unless its home lies after the hole on the way to it.
            if (i - home) & mask >= (i - hole) & mask:
                places[hole] = places[i]
                hole = i
        places[hole] = 0
