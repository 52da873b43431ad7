"""Bytes that must survive: arrays in one buffer, fates and ids of past rounds, and which pieces have changed.

A store keeps a region in chunks of ``CHUNK`` bytes. Compiled code and the calls in memory work on the same bytes, so a
session in memory and one in a database run the same lines.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable
from functools import partial
from hashlib import blake2b
from struct import Struct
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from tarry.kernel.views import leaves
from tarry.live.encoding import damaged
from tarry.outcomes import Fate

CHUNK = 984  # four rows of that size fill a page of SQLite; a multiple of 8, so no number straddles two chunks
STATE, FATES, IDS = REGIONS = ("state", "fates", "ids")
HEAD = -1  # the chunk of the state region that says where the session stands
TOTALS = 1 << 32
_NUMBERS = CHUNK // 8  # 64-bit numbers in a chunk
# Slots, token and total. Together with four chunks it just fills a page of SQLite: wider numbers would cost every
# transaction another page.
_HEAD = Struct("<III")


class Chunk(NamedTuple):
    """A piece of a region, with the version it was written at and a checksum of all that."""

    number: int
    version: int
    checksum: int
    data: bytes

    @property
    def is_whole(self) -> bool:
        """Whether the chunk is as it was written; SQLite's columns have no fixed type, so damage may change types."""
        is_chunk = isinstance(self.version, int) and isinstance(self.data, bytes)
        return is_chunk and make_chunk(self.number, self.version, self.data) == self


def make_chunk(number: int, version: int, data: bytes) -> Chunk:
    """Return a chunk with the checksum of its content, its place and its version."""
    return _new_chunk((number, version, crc32(data, crc32(b"%d at %d" % (number, version))), data))


_new_chunk = partial(tuple.__new__, Chunk)  # a named tuple's own constructor is a Python function, and slower


def make_head(version: int, slots: int, token: int, total: int) -> Chunk:
    """Return where a session stands: its version, the slots its state is laid out for, and which history it is of.

    ``token`` is drawn for each transaction, ``total`` is the sum of the checksums of all chunks. A store that went back
    in time, and perhaps on from there, has another token, and chunks that sum to another total.
    """
    return make_chunk(HEAD, version, _HEAD.pack(slots, token, total % TOTALS))


def remade_head(head: Chunk, total: int, where: str) -> Chunk:
    """Return the head of a session whose format is changed, from that of an earlier one: whoever has it open reloads.

    The first format kept the slots alone, so that the ``total`` is that of the chunks which are there; later ones know
    theirs, and what they have lost is noticed after an upgrade too. Raise StoreError about a head that is damaged.
    """
    if len(head.data) < _HEAD.size:
        return make_head(head.version + 1, int.from_bytes(head.data, "little"), 0, total)
    if not head.is_whole:
        raise damaged(where, f"head of tarry_{STATE}")
    slots, _, total = read_head(head)
    return make_head(head.version + 1, slots, 0, total)


def read_head(head: Chunk) -> tuple[int, int, int]:
    """Return slots, token and total of a head that was checked."""
    return _HEAD.unpack(head.data)


class Region:
    """A buffer, the chunks of it that differ from what is stored, and the checksums of those that are stored."""

    def __init__(self, buffer: np.ndarray) -> None:
        self.buffer = buffer
        self.dirty: set[int] = set()
        self._checksums: dict[int, int] = {}
        self.total = 0  # of the checksums: tells one stored content from another

    def changes(self) -> list[tuple[int, bytes]]:
        """Return the changed chunks, whole, by number."""
        return [(i, self.buffer[i * CHUNK : (i + 1) * CHUNK].tobytes()) for i in sorted(self.dirty)]

    def collect(self, version: int) -> list[Chunk]:
        """Return the changed chunks as they are to be stored at this version; from now on they count as stored."""
        chunks = [make_chunk(i, version, data) for i, data in self.changes()]
        self._note(chunks)
        self.dirty.clear()
        return chunks

    def load(self, chunk: Chunk) -> None:
        """Take a chunk from the store."""
        self.buffer[chunk.number * CHUNK : (chunk.number + 1) * CHUNK] = np.frombuffer(chunk.data, np.uint8)
        self._note([chunk])

    def _note(self, chunks: list[Chunk]) -> None:
        """Remember what is stored."""
        known = self._checksums
        for i, _, checksum, _ in chunks:
            self.total += checksum - known.get(i, 0)
            known[i] = checksum

    def renew(self) -> None:
        """Count everything as changed: what is stored is about to be replaced as a whole."""
        self.dirty.update(self._checksums)

    def clear(self) -> None:
        """Forget everything before all chunks are loaded anew: those the store does not have are zero."""
        for i in {*self._checksums, *self.dirty}:  # the rest was never written to, and stays unallocated
            self.buffer[i * CHUNK : (i + 1) * CHUNK] = 0
        self._checksums.clear()
        self.dirty.clear()
        self.total = 0


class Watched(Region):
    """A region that compiled code writes to: changes are found by comparing with what is stored."""

    def __init__(self, buffer: np.ndarray) -> None:
        super().__init__(buffer)
        self._pieces = [slice(start, start + CHUNK) for start in range(0, buffer.size, CHUNK)]
        self._stored = [b""] * len(self._pieces)  # nothing yet: everything is new

    def changes(self) -> list[tuple[int, bytes]]:
        # Slices and comparisons of bytes are cheaper than arrays at the few thousand bytes of a usual state.
        whole = self.buffer.tobytes()
        pairs = enumerate(zip(self._pieces, self._stored, strict=True))
        return [(i, now) for i, (piece, then) in pairs if (now := whole[piece]) != then]

    def renew(self) -> None:
        self._stored = [b""] * len(self._stored)

    def _note(self, chunks: list[Chunk]) -> None:
        super()._note(chunks)
        for i, _, _, data in chunks:
            self._stored[i] = data

    def clear(self) -> None:
        super().clear()
        self.renew()


def zeros(size: int) -> np.ndarray:
    """Return bytes in whole chunks, aligned for 64-bit numbers."""
    return np.zeros(-(-size // CHUNK) * _NUMBERS, np.uint64).view(np.uint8)


def lay_out(tree: Any) -> tuple[np.ndarray, Any]:
    """Return a buffer holding every array of a tree of named tuples, and the same tree with views of it."""
    arrays = leaves(tree)
    sizes = [-(-a.nbytes // 8) * 8 for a in arrays]  # whole numbers of 64 bits, so that every view is aligned
    buffer = zeros(sum(sizes))
    views: dict[int, np.ndarray] = {}
    start = 0
    # Small arrays come first: they change in every round, and so lie together in few chunks.
    for i in sorted(range(len(arrays)), key=lambda i: arrays[i].nbytes):
        a = arrays[i]
        views[i] = buffer[start : start + a.nbytes].view(a.dtype).reshape(a.shape)
        views[i][...] = a
        start += sizes[i]
    return buffer, _rebuild(tree, iter(views[i] for i in range(len(arrays))))


def describe(tree: Any) -> str:
    """Return the arrays of a tree in order, as text: two trees with one description share a layout."""
    return ";".join(f"{a.dtype.str}{'x'.join(map(str, a.shape))}" for a in leaves(tree))


def are_alike(layout: str, other: str) -> bool:
    """Return whether two descriptions lay bytes out alike: empty arrays have none."""
    # Three letters of a type, then the shape.
    one, two = ([part for part in text.split(";") if part[3:] != "0"] for text in (layout, other))
    return one == two


def _rebuild(tree: Any, views: Any) -> Any:
    if isinstance(tree, np.ndarray):
        return next(views)
    parts = [_rebuild(branch, views) for branch in tree]
    return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)


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


class Fates(Region):
    """The fates of the last ``memory`` rounds and whether each was answered; a round's place is (t − 1) mod memory."""

    def __init__(self, memory: int, bits: int = FEW_BITS) -> None:
        per_word, most = 64 // bits, (1 << bits) - 1
        super().__init__(zeros(8 * -(-memory // per_word)))
        self._memory, self._bits, self._per_word, self._most = memory, bits, per_word, most
        self._words = memoryview(self.buffer.view(np.uint64))  # type: ignore[arg-type]
        # Ready-made for each place in a word: what to keep of it, and a code put there.
        keep = tuple(~(most << bits * r) & (1 << 64) - 1 for r in range(per_word))
        put = tuple(tuple(code << bits * r for r in range(per_word)) for code in range(most + 1))
        self._writing = (memory, per_word, self._words, keep, put)  # one look-up for each round

    def remembering(self, memory: int, since: int, rounds: int) -> Fates:
        """Return the same fates of rounds since+1..rounds, with room for another number of them."""
        fates, kept, bits = Fates(memory, self._bits), np.arange(since, rounds), np.uint64(self._bits)
        words, places = np.divmod(kept % self._memory, self._per_word)
        codes = np.asarray(self._words)[words] >> bits * places.astype(np.uint64) & np.uint64(self._most)
        words, places = np.divmod(kept % memory, self._per_word)
        np.bitwise_or.at(np.asarray(fates._words), words, codes << bits * places.astype(np.uint64))
        fates.dirty.update((words // _NUMBERS).tolist())
        return fates

    def write(self, t: int, code: int) -> None:
        """Note what became of round t."""
        memory, per_word, words, keep, put = self._writing
        i, r = divmod((t - 1) % memory, per_word)
        words[i] = words[i] & keep[r] | put[code][r]
        self.dirty.add(i // _NUMBERS)

    def read(self, t: int) -> int:
        """Return the code of round t, which is not tracked."""
        place = (t - 1) % self._memory
        return self._words[place // self._per_word] >> place % self._per_word * self._bits & self._most

    def fate(self, t: int) -> Fate:
        """Return the fate of round t, which is not tracked."""
        return _FATES[self.read(t)]

    def was_answered(self, t: int) -> bool:
        """Return whether feedback, or its end, has come for round t."""
        return _ANSWERED[self.read(t)]


class Ids(Region):
    """An index from the caller's ids to the last ``memory`` rounds: a keyed 64-bit hash each.

    That two of a million ids share a hash has a chance of 3·10⁻⁸; where the id itself is still kept, the tracker
    compares it. Tracked rounds that have left the ring are kept aside.
    """

    def __init__(self, memory: int, seed: int) -> None:
        super().__init__(zeros(8 * memory))
        self._memory = memory
        self._key = str(seed).encode()[:64]
        self._last: tuple[Hashable, int] = (None, 0)
        self._hashes = memoryview(self.buffer.view(np.uint64))  # type: ignore[arg-type]
        # Places of hashes, plus one, by linear probing; kept at most half full.
        self._mask = (1 << max(3, int(2 * memory - 1).bit_length())) - 1
        self._places = memoryview(np.zeros(self._mask + 1, np.int32))  # type: ignore[arg-type]
        self._aside: dict[int, int] = {}

    def remembering(self, memory: int, since: int, rounds: int) -> Ids:
        """Return the same index of rounds since+1..rounds, with room for another number of them."""
        ids, kept = Ids(memory, 0), np.arange(since, rounds)
        ids._key = self._key
        np.asarray(ids._hashes)[kept % memory] = np.asarray(self._hashes)[kept % self._memory]
        ids.dirty.update((kept % memory // _NUMBERS).tolist())
        ids.rebuild()
        return ids

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
            return rounds - (rounds - 1 - place) % self._memory
        return self._aside.get(wanted)

    def add(self, id: Hashable, t: int, tracked: Container[int]) -> None:
        """Give round t this id; the round whose place it takes is kept aside if it is tracked."""
        place = (t - 1) % self._memory
        former = self._hashes[place]
        if former:
            self._remove(former)
            if t - self._memory in tracked:
                self._aside[former] = t - self._memory
        wanted = self.hash(id)
        self._hashes[place] = wanted
        self._places[self._seek(wanted)] = place + 1
        self.dirty.add(place // _NUMBERS)

    def forget(self, id: Hashable) -> None:
        """Forget the id of an old tracked round that has ended."""
        self._aside.pop(self.hash(id), None)

    def chunks_between(self, before: int, rounds: int) -> range | None:
        """Return the chunks that rounds before+1..rounds lie in, or None where the ring came round.

        Then an id may have left one place and come back at an earlier one, so everything is indexed anew.
        """
        if rounds == before:
            return range(0)
        first, last = before % self._memory, (rounds - 1) % self._memory
        if rounds - before >= self._memory or first > last:
            return None
        return range(first // _NUMBERS, last // _NUMBERS + 1)

    def take(self, chunk: Chunk) -> None:
        """Load a chunk that others have written and index what is new in it."""
        theirs = np.frombuffer(chunk.data, np.uint64)
        first = chunk.number * _NUMBERS
        for i in np.flatnonzero(theirs != np.asarray(self._hashes[first : first + _NUMBERS])).tolist():
            if self._hashes[first + i]:
                self._remove(self._hashes[first + i])
            self._hashes[first + i] = int(theirs[i])
            self._places[self._seek(int(theirs[i]))] = first + i + 1
        self.load(chunk)

    def keep_aside(self, aside: Iterable[tuple[Hashable, int]]) -> None:
        """Keep the ids of tracked rounds that have left the ring."""
        self._aside = {self.hash(id): t for id, t in aside}

    def rebuild(self) -> None:
        """Index everything anew after all chunks were loaded."""
        hashes = np.asarray(self._hashes)
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
