"""Copies of sessions and joins: from a store to another, and as a file of JSON lines that can be read and imported.

In one piece of bytes a copy is what an engine of streams keeps as the state of a key.

The first line of a file says what it is, then comes a line for each round that is kept (``round``), for each row of an
outbox (``row``) and for each piece of the state (``region``); the last one counts the others and has their checksum.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from copy import deepcopy
from struct import Struct
from struct import error as StructError  # noqa: N812 - a name of its own
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from tarry._version import __version__
from tarry.errors import StoreError
from tarry.live.buffers import CHUNK, FATES, IDS, STATE, Ids, Region, make_chunk
from tarry.live.configuration import FORMAT, JOIN, OUTBOX, WINDOW, Configuration
from tarry.live.core import ACKED
from tarry.live.encoding import ItemRow, Restored, row_checksum
from tarry.live.tracker import Tracker
from tarry.live.transactions import lay_out, written
from tarry.live.values import to_json
from tarry.times import PER_SECOND

# A payload by its first byte: bytes as they are, JSON, and JSON that stands for other values (see ``live.values``).
_PAYLOADS = {b"b": "bytes", b"j": "features", b"t": "typed_features"}
_SHOWN = ("round", "row", "fate", "weight", "due", "play", *_PAYLOADS.values())  # beside what a row has in its body
_NOTHING = bytes(CHUNK)
_PREFIX = Struct("<II")  # of a copy as bytes: their checksum, and how long its head is
_LAST = 100  # letters that the last line of an export never has


class Copy(NamedTuple):
    """All that a store holds of a session: its configuration as text, and the bytes of its regions and rows.

    ``facts`` are what to show of each round: its fate, its weight if its label came now, the end of its window.
    """

    configuration: str
    slots: int
    chunks: dict[str, dict[int, bytes]]
    rows: dict[int, ItemRow]
    facts: dict[int, dict[str, Any]]


def copy_of(tracker: Tracker, *, with_facts: bool = True) -> Copy:
    """Return all that is kept by a tracker; raise ValueError about features in memory that no store can keep."""
    slots, buffers = tracker.slots, {STATE: tracker.slots.buffer, FATES: tracker.fates.buffer}
    if tracker.ids is not None:
        buffers[IDS] = tracker.ids.buffer
    chunks = {name: _chunks(buffer) for name, buffer in buffers.items()}
    recent = range(max(1, tracker.rounds - tracker.recent + 1), tracker.rounds + 1)
    numbers = sorted({*tracker.tracked, *recent})
    if OUTBOX in tracker.configuration.options:
        numbers += range(-slots.marks[ACKED] - 1, -slots.given - 1, -1)
    found = {t: tracker.items.stored(t) for t in numbers}
    rows = {t: row for t, row in found.items() if row is not None}
    facts = _facts(tracker, [t for t in rows if t > 0]) if with_facts else {}
    return Copy(written(tracker)[0], slots.size, chunks, rows, facts)


def restored(copy: Copy, plain: dict[str, Any], configuration: Configuration) -> Tracker:
    """Return a tracker in memory that goes on from a copy, whose configuration was read before."""
    tracker = Tracker(configuration, Restored(dict(copy.rows)))
    lay_out(tracker, plain)
    if copy.slots != tracker.slots.size:
        tracker.slots.clear(copy.slots)
    regions = {STATE: Region(tracker.slots.buffer), FATES: tracker.fates}
    if IDS in copy.chunks:
        regions[IDS] = tracker.ids = Ids(tracker.memory, configuration.seed)
    for name, region in regions.items():
        for i, data in copy.chunks.get(name, {}).items():
            region.load(make_chunk(i, 0, data))
    held = tracker.slots.state.table.rounds
    tracker.tracked = set(held[held > 0].tolist())
    if tracker.ids is not None:
        tracker.ids.rebuild()
        tracker.keep_old_ids()
    return tracker


def packed(copy: Copy) -> bytes:
    """Return a copy as one piece of bytes: a head in JSON that counts the pieces, and the pieces."""
    rows = [[t, len(row.body.encode()), len(row.play), _length(row.payload)] for t, row in copy.rows.items()]
    regions = {name: [*chunks] for name, chunks in copy.chunks.items()}
    head = to_json([FORMAT, __version__, copy.configuration, copy.slots, regions, rows]).encode()
    pieces = [data for chunks in copy.chunks.values() for data in chunks.values()]
    pieces += [part for row in copy.rows.values() for part in (row.body.encode(), row.play, row.payload or b"")]
    content = b"".join([head, *pieces])
    return _PREFIX.pack(crc32(content), len(head)) + content


def _length(payload: bytes | None) -> int:
    return -1 if payload is None else len(payload)


def unpacked(data: bytes) -> Copy:
    """Return the copy in one piece of bytes; raise StoreError about others, and about another version's."""
    try:
        checksum, length = _PREFIX.unpack_from(data)
        content = memoryview(data)[_PREFIX.size :]
        if crc32(content) != checksum:
            raise ValueError("it was altered")
        form, version, configuration, slots, regions, counts = json.loads(bytes(content[:length]))
    except (ValueError, TypeError, StructError) as error:
        raise StoreError("these bytes are no whole copy of Tarry's: give what to_bytes returned") from error
    if form != FORMAT:
        raise StoreError(f"these bytes are in format {form}, this version of Tarry reads {FORMAT}: use {version}")
    place = length

    def take(count: int) -> bytes:
        nonlocal place
        place += count
        return bytes(content[place - count : place])

    chunks = {name: {i: take(CHUNK) for i in numbers} for name, numbers in regions.items()}
    rows: dict[int, ItemRow] = {}
    for t, body, play, payload in counts:
        parts = take(body).decode(), take(play), None if payload < 0 else take(payload)
        rows[t] = ItemRow(*parts, row_checksum(t, *parts))
    return Copy(configuration, slots, chunks, rows, {})


def _chunks(buffer: np.ndarray) -> dict[int, bytes]:
    """Return the chunks that are not all zero: the others need not be stored."""
    pieces = ((i // CHUNK, buffer[i : i + CHUNK].tobytes()) for i in range(0, buffer.size, CHUNK))
    return {i: data for i, data in pieces if data != _NOTHING}


def _facts(tracker: Tracker, rounds: list[int]) -> dict[int, dict[str, Any]]:
    """Return the fates of rounds; of those that wait in a join also what a label would weigh now, and until when."""
    weights: dict[int, float] = {}
    if tracker.configuration.kind == JOIN:
        twin = deepcopy(tracker.slots)  # to answer a round changes the slots
        weights = {t: twin.answer(t) for t in sorted(tracker.tracked)}
    facts: dict[int, dict[str, Any]] = {}
    for t in rounds:
        is_tracked = t in tracker.tracked
        fate = "pending" if is_tracked else tracker.fates.fate(t).name.lower()
        facts[t] = {"fate": fate} | ({"weight": weights[t]} if t in weights else {})
        if is_tracked and WINDOW in tracker.configuration.options:
            facts[t]["due"] = tracker.slots.end_of(t) / PER_SECOND
    return facts


def lines_of(copy: Copy) -> Iterator[dict[str, Any]]:
    """Yield a copy as JSON objects, one for each line of a file."""
    configuration = json.loads(copy.configuration)
    checksum, count = 0, 0
    head = {"tarry": configuration["kind"], "version": __version__, "format": FORMAT}
    for line in _content(head | {"slots": copy.slots, "configuration": configuration}, copy):
        checksum, count = _checksum(line, checksum), count + 1
        yield line
    yield {"lines": count, "checksum": checksum}


def _checksum(line: dict[str, Any], before: int) -> int:
    return crc32(to_json(line).encode(), before)  # of what it says, however that is written


def _content(head: dict[str, Any], copy: Copy) -> Iterator[dict[str, Any]]:
    yield head
    for t, row in copy.rows.items():
        line = {"round": t, **copy.facts[t]} if t > 0 else {"row": -t}
        if row.play:
            line["play"] = np.frombuffer(row.play).tolist()
        yield line | _parts(row)
    for name, chunks in copy.chunks.items():
        for i, data in chunks.items():
            yield {"region": name, "chunk": i, "data": b64encode(data).decode()}


def _parts(row: ItemRow) -> dict[str, Any]:
    """Return body and payload of a row; as they are stored where this process cannot read them: others may."""
    payload = row.payload
    try:
        parts: dict[str, Any] = json.loads(row.body)
        if payload is not None:
            name = _PAYLOADS[payload[:1]]
            parts[name] = b64encode(payload[1:]).decode() if name == "bytes" else json.loads(payload[1:])
    except (RecursionError, ValueError, KeyError):
        return {"body": row.body, "payload": None if payload is None else b64encode(payload).decode()}
    return parts


def sections_of(lines: Iterable[str]) -> list[list[str]]:
    """Return the lines of a file as the exports in it: of a join with shards, one of the join and one for each."""
    sections: list[list[str]] = [[]]
    is_open = True
    for text in lines:
        if not text.strip():
            continue
        if not is_open:
            sections.append([])
        sections[-1].append(text)
        # The last line of an export has these two words and nothing else.
        is_open = not (len(text) < _LAST and '"lines"' in text and '"checksum"' in text)
    return sections


def read_copy(lines: Iterable[str], where: str) -> Copy:
    """Return the copy in the lines of a file; raise StoreError about one that is no such file, not whole, or later."""
    found, checksum = [], 0
    try:
        for text in lines:
            if text.strip():
                found.append(json.loads(text))
        head, *content = found[:-1]
        if head["format"] != FORMAT:
            raise StoreError(
                f"{where} is in format {head['format']}, this version of Tarry reads {FORMAT}: import it with the "
                f"version that wrote it, {head['version']}, and upgrade the store"
            )
        for line in found[:-1]:
            checksum = _checksum(line, checksum)
        is_whole = found[-1] == {"lines": len(found) - 1, "checksum": checksum}
        rows = dict(_row(line) for line in content if "region" not in line)
        chunks: dict[str, dict[int, bytes]] = {}
        for line in content:
            if "region" in line:
                chunks.setdefault(line["region"], {})[line["chunk"]] = b64decode(line["data"])
        copy = Copy(json.dumps(head["configuration"]), head["slots"], chunks, rows, {})
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise StoreError(f"{where} is no export of Tarry's; nothing was changed: export it again") from error
    if not is_whole:
        raise StoreError(f"{where} is not all of an export, or was altered since; nothing was changed: export it again")
    return copy


def _row(line: dict[str, Any]) -> tuple[int, ItemRow]:
    """Return the number of a round, or minus that of a row in an outbox, and what is stored of it."""
    t = line["round"] if "round" in line else -line["row"]
    play = np.array(line.get("play", ()), float).tobytes()
    payload: bytes | None = None
    if "body" in line:
        body, payload = line["body"], None if line["payload"] is None else b64decode(line["payload"])
    else:
        body = to_json({name: part for name, part in line.items() if name not in _SHOWN})
        for letter, name in _PAYLOADS.items():
            if name in line:
                payload = letter + (b64decode(line[name]) if name == "bytes" else to_json(line[name]).encode())
    return t, ItemRow(body, play, payload, row_checksum(t, body, play, payload))
