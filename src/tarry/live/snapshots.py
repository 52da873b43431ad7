"""Snapshots: the whole of a session or join as one piece of bytes, which stores, copies, files and engines keep.

After a checksum and a length comes a head in JSON (format, version, configuration, items); then the arrays, one after
the other. Whoever is made from it goes on bit for bit.
"""

from __future__ import annotations

import json
from itertools import accumulate
from struct import Struct
from struct import error as StructError  # noqa: N812 - a name of its own
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from tarry._version import __version__
from tarry.errors import StoreError
from tarry.live.configuration import FORMAT, Configuration, other_version, plain_configuration
from tarry.live.encoding import Item, Packed, id_of, pack, pack_label, plain_id
from tarry.live.past import Ids
from tarry.live.tracker import Tracker
from tarry.live.values import to_json
from tarry.outcomes import Answer

_PREFIX = Struct("<II")  # a checksum of the rest, and how long the head is


class Content(NamedTuple):
    """What a snapshot holds: a configuration as plain values, how the arrays lie, items as lists, and their bytes."""

    configuration: dict[str, Any]
    slots: int
    shapes: list[str]
    rooms: list[int]
    items: list[list[Any]]
    arrays: memoryview


def dump(tracker: Tracker) -> bytes:
    """Return everything that a tracker keeps; raise ValueError about features in memory that no store can keep."""
    slots, ids, items = tracker.slots, tracker.ids, tracker.items
    remembered = min(tracker.rounds, tracker.memory)
    past: list[np.ndarray] = [tracker.fates.words[: -(-remembered // tracker.fates.per_word)]]
    past.append(np.zeros(0) if ids is None else ids.hashes[:remembered])
    order = sorted(items)
    plays = [play for t in order if (play := items[t].play) is not None and play.size]
    arrays = [*slots.arrays, *past, *plays]
    head = [
        FORMAT,
        __version__,
        plain_configuration(tracker.configuration),
        slots.size,
        [describe(array) for array in arrays[: len(slots.arrays) + 2]],
        [tracker.fates.room, 0 if ids is None else ids.room],
    ]
    # One after the other: 100,000 items as lists at once would keep the garbage collector busier than the encoder.
    texts = ", ".join([to_json(_plain_item(t, items[t])) for t in order])
    text = f"{to_json(head)[:-1]}, [{texts}]]".encode()
    content = b"".join([text, *(array.tobytes() for array in arrays)])
    return _PREFIX.pack(crc32(content), len(text)) + content


def describe(array: np.ndarray) -> str:
    """Return the type and the shape of an array as text."""
    return f"{array.dtype.str}{'x'.join(map(str, array.shape))}"


def _plain_item(t: int, item: Item) -> list[Any]:
    what = f"features of {item.id!r}"
    gathered = [pack_label(label) for label in item.gathered]
    return [
        t,
        plain_id(item.id),
        item.tracked,
        [plain_id(id) for id in item.released],
        int(item.answer),
        -1 if item.play is None else item.play.size,
        pack(item.payload, what),
        gathered,
        [plain_id(key) for key in item.keys],
    ]


def read(data: bytes, where: str = "") -> Content:
    """Return what bytes hold; raise StoreError about others, and about another version's."""
    try:
        checksum, length = _PREFIX.unpack_from(data)
        content = memoryview(data)[_PREFIX.size :]
        if crc32(content) != checksum:
            raise ValueError("it was altered")
        form, version, *head = json.loads(bytes(content[:length]))
        arrays = content[length:]
    except (ValueError, TypeError, StructError) as error:
        if where:
            raise StoreError(f"{where} is damaged (its snapshot) and was left as it is: restore a copy") from error
        raise StoreError("these bytes are no whole copy of Tarry's: give what to_bytes returned") from error
    if form != FORMAT:
        raise StoreError(f"this is in format {form}, this version of Tarry reads {FORMAT}: use {version}")
    return Content(*(*head, arrays))


def load(tracker: Tracker, content: Content, configuration: Configuration) -> None:
    """Let a tracker go on from what a snapshot holds, whose configuration was built before."""
    tracker.start(configuration)
    slots = tracker.slots
    if content.slots != slots.size:
        slots.clear(content.slots)
    arrays = slots.arrays
    if [describe(array) for array in arrays] != content.shapes[:-2]:
        raise other_version(content.configuration)
    tracker.fates = tracker.fates.with_room(content.rooms[0])
    if content.rooms[1]:
        tracker.ids = Ids(tracker.memory, configuration.seed, content.rooms[1])
    counts = [int(shape[3:]) for shape in content.shapes[-2:]]
    arrays += [tracker.fates.words[: counts[0]]]
    arrays += [tracker.ids.hashes[: counts[1]]] if tracker.ids is not None else []
    ends = [*accumulate(array.nbytes for array in arrays)]
    for array, end in zip(arrays, ends, strict=True):
        part = content.arrays[end - array.nbytes : end]
        array[...] = np.frombuffer(part, array.dtype).reshape(array.shape)
    slots.is_midway = False
    plays = np.frombuffer(content.arrays[ends[-1] :], np.float64)
    taken = 0
    for t, id, is_tracked, released, answer, size, payload, gathered, keys in content.items:
        play = None if size < 0 else plays[taken : taken + size]  # read-only, as every play handed out
        taken += max(size, 0)
        labels = tuple(Packed(label) if isinstance(label, str) else label for label in gathered)
        tracker.items[t] = Item(
            id_of(id),
            is_tracked,
            tuple(map(id_of, released)),
            Answer(answer),
            play,
            None if payload is None else Packed(payload),
            labels,
            tuple(map(id_of, keys)),
        )
    held = slots.state.table.rounds
    tracker.tracked = set(held[held > 0].tolist())
    if tracker.ids is not None:
        tracker.ids.rebuild()
        tracker.keep_old_ids()
