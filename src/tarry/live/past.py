"""What is remembered of past rounds: a fate in three or four bits each, and an index of the caller's ids.

Both begin small and double as rounds come, up to the ``memory`` that a session or join was made with.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable
from hashlib import blake2b

import numpy as np

from tarry.outcomes import Fate

FIRST_ROUNDS = 1 << 12  # that there is room for before the first doubling

# Fates: three bits a round, 21 rounds to a 64-bit word, or four where decisions have windows. An even code is a fate
# without an answer yet; the code above it is the same fate, answered. RELEASED was used when its window ended.
UNTRACKED, SATURATED, PREEMPTED, USED, EXPIRED, RELEASED = 0, 2, 4, 6, 7, 8
# A tracked round is known from the tracking set. If it leaves unanswered it was preempted: that stands there from
# the start, so preempting writes nothing.
PENDING = PREEMPTED
FEW_BITS, MANY_BITS = 3, 4
_ANSWERED = (False, True, False, True, False, True, True, True, True)
_LEFT = (Fate.UNTRACKED, Fate.SATURATED, Fate.PREEMPTED)
_FATES = (*(fate for fate in _LEFT for _ in range(2)), Fate.USED, Fate.EXPIRED, Fate.USED)


def room_for(rounds: int, least: int = FIRST_ROUNDS) -> int:
    """Return the room that so many rounds have come to by doubling, or ``least`` if that is more."""
    room = max(FIRST_ROUNDS, least)
    while room < rounds:
        room *= 2
    return room


class Fates:
    """The fates of the last ``memory`` rounds and whether each was answered; round t lies at (t − 1) mod the room."""

    def __init__(self, memory: int, bits: int = FEW_BITS, room: int = FIRST_ROUNDS) -> None:
        per_word, most, room = 64 // bits, (1 << bits) - 1, min(room, memory)
        self._memory, self._bits, self.per_word, self._most, self.room = memory, bits, per_word, most, room
        self.words = np.zeros(-(-room // per_word), np.uint64)
        self._words = memoryview(self.words)  # type: ignore[arg-type]
        # Ready-made for each place in a word: what to keep of it, and a code put there.
        keep = tuple(~(most << bits * r) & (1 << 64) - 1 for r in range(per_word))
        put = tuple(tuple(code << bits * r for r in range(per_word)) for code in range(most + 1))
        self._writing = (room, per_word, self._words, keep, put)  # one look-up for each round

    def remembering(self, memory: int, since: int, rounds: int, room: int = FIRST_ROUNDS) -> Fates:
        """Return the same fates of rounds since+1..rounds, with room for another number of them."""
        fates, rest = Fates(memory, self._bits, room_for(rounds, room)), np.arange(since, rounds)
        bits = np.uint64(self._bits)
        words, places = np.divmod(rest % self.room, self.per_word)
        codes = self.words[words] >> bits * places.astype(np.uint64) & np.uint64(self._most)
        words, places = np.divmod(rest % fates.room, self.per_word)
        np.bitwise_or.at(fates.words, words, codes << bits * places.astype(np.uint64))
        return fates

    def with_room(self, room: int) -> Fates:
        """Return no fates, with this room for them."""
        return Fates(self._memory, self._bits, room)

    def grown(self, rounds: int) -> Fates:
        """Return the same fates with twice the room, when all of it is taken."""
        return self.remembering(self._memory, max(0, rounds - self.room), rounds, 2 * self.room)

    def write(self, t: int, code: int) -> None:
        """Note what became of round t."""
        room, per_word, words, keep, put = self._writing
        i, r = divmod((t - 1) % room, per_word)
        words[i] = words[i] & keep[r] | put[code][r]

    def read(self, t: int) -> int:
        """Return the code of round t, which is not tracked."""
        place = (t - 1) % self.room
        return self._words[place // self.per_word] >> place % self.per_word * self._bits & self._most

    def fate(self, t: int) -> Fate:
        """Return the fate of round t, which is not tracked."""
        return _FATES[self.read(t)]

    def was_answered(self, t: int) -> bool:
        """Return whether feedback, or its end, has come for round t."""
        return _ANSWERED[self.read(t)]


class Ids:
    """An index from the caller's ids to the last ``memory`` rounds: a keyed 64-bit hash each.

    That two of a million ids share a hash has a chance of 3·10⁻⁸; where the id itself is still kept, the tracker
    compares it. Tracked rounds that have left the ring are kept aside.
    """

    def __init__(self, memory: int, seed: int | str, room: int = FIRST_ROUNDS) -> None:
        self._memory, self.room, self._seed = memory, min(room, memory), seed
        self._key = str(seed).encode()[:64]
        self._last: tuple[Hashable, int] = (None, 0)
        self.hashes = np.zeros(self.room, np.uint64)
        self._hashes = memoryview(self.hashes)  # type: ignore[arg-type]
        # Places of hashes, plus one, by linear probing; kept at most half full.
        self._mask = (1 << max(3, int(2 * self.room - 1).bit_length())) - 1
        self._places = memoryview(np.zeros(self._mask + 1, np.int64))  # type: ignore[arg-type]
        self._aside: dict[int, int] = {}

    def remembering(self, memory: int, since: int, rounds: int, room: int = FIRST_ROUNDS) -> Ids:
        """Return the same index of rounds since+1..rounds, with room for another number of them."""
        ids, rest = Ids(memory, self._seed, room_for(rounds, room)), np.arange(since, rounds)
        ids.hashes[rest % ids.room] = self.hashes[rest % self.room]
        ids._aside = self._aside
        ids.rebuild()
        return ids

    def grown(self, rounds: int) -> Ids:
        """Return the same index with twice the room, when all of it is taken."""
        return self.remembering(self._memory, max(0, rounds - self.room), rounds, 2 * self.room)

    def hash(self, id: Hashable) -> int:
        """Return the keyed hash of an id; 0 stands for none."""
        last, hash = self._last
        if last == id:  # a new id is looked for before it is added
            return hash
        if isinstance(id, str):
            text = b"s" + id.encode("utf-8", "surrogatepass")
        elif isinstance(id, bytes):
            text = b"b" + id
        else:
            text = f"i{id}".encode()
        hash = int.from_bytes(blake2b(text, digest_size=8, key=self._key).digest(), "little") or 1
        self._last = id, hash
        return hash

    def find(self, id: Hashable, rounds: int) -> int | None:
        """Return the round of this id when so many have begun, or None."""
        wanted = self.hash(id)
        i = self._seek(wanted)
        if self._places[i]:
            place = self._places[i] - 1
            return rounds - (rounds - 1 - place) % self.room
        return self._aside.get(wanted)

    def add(self, id: Hashable, t: int, tracked: Container[int]) -> None:
        """Give round t this id; the round whose place it takes is kept aside if it is tracked."""
        place = (t - 1) % self.room
        former = self._hashes[place]
        if former:
            self._remove(former)
            if t - self.room in tracked:
                self._aside[former] = t - self.room
        wanted = self.hash(id)
        self._hashes[place] = wanted
        self._places[self._seek(wanted)] = place + 1

    def forget(self, id: Hashable) -> None:
        """Forget the id of an old tracked round that has ended."""
        self._aside.pop(self.hash(id), None)

    def keep_aside(self, aside: Iterable[tuple[Hashable, int]]) -> None:
        """Keep the ids of tracked rounds that have left the ring."""
        self._aside = {self.hash(id): t for id, t in aside}

    def rebuild(self) -> None:
        """Index everything anew after the hashes were put in."""
        hashes = self.hashes
        places = np.asarray(self._places)
        places[:] = 0
        waiting = np.flatnonzero(hashes)
        spots = (hashes[waiting] & np.uint64(self._mask)).astype(np.int64)
        while waiting.size:  # all try a spot; the first to come takes a free one, the others move on
            free = places[spots] == 0
            _, first = np.unique(spots, return_index=True)
            winners = np.zeros(waiting.size, bool)
            winners[first] = True
            winners &= free
            places[spots[winners]] = waiting[winners] + 1
            waiting, spots = waiting[~winners], (spots[~winners] + 1) & self._mask

    def _seek(self, wanted: int) -> int:
        """Return where this hash is indexed, or the free spot where it would be."""
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
