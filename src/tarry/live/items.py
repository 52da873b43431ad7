"""What is kept of a single round: as Python sees it, and as a store's row."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Hashable
from functools import partial
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from tarry.live.texts import text_of
from tarry.results import Answer

_JSON, _BYTES = b"j", b"b"


class Item(NamedTuple):
    """A tracked or recent round: how it was opened, and while it is tracked, what the caller left with it.

    ``gathered`` are the labels that have come so far, where a decision may have several, and ``keys`` the names that
    some of them came under.
    """

    id: Hashable
    tracked: bool
    released: tuple[Hashable, ...]
    answer: Answer
    play: np.ndarray | None
    payload: Any = None
    gathered: tuple[Any, ...] = ()
    keys: tuple[Hashable, ...] = ()


# A named tuple's own constructor is a Python function; this one costs half as much, twice a call.
new_item = partial(tuple.__new__, Item)


def as_shown(play: np.ndarray) -> np.ndarray:
    """A copy that its reader cannot change."""
    copy = play.copy()
    copy.flags.writeable = False
    return copy


class ItemRow(NamedTuple):
    """An item as text and bytes."""

    body: str
    play: bytes
    payload: bytes | None

    def checksum(self, t: int) -> int:
        """A checksum of the row and the round it belongs to; -1 of what is no row."""
        if not (isinstance(self.body, str) and isinstance(self.play, bytes) and isinstance(self.payload or b"", bytes)):
            return -1
        return crc32(self.payload or b"", crc32(self.play, crc32(self.body.encode(), t & 0xFFFFFFFF)))


def encode_item(item: Item) -> ItemRow:
    """An item as a row."""
    body = {
        "id": plain_id(item.id),
        "tracked": item.tracked,
        "released": [plain_id(id) for id in item.released],
        "answer": int(item.answer),
        "gathered": item.gathered,
        "keys": [plain_id(key) for key in item.keys],
    }
    play = b"" if item.play is None else item.play.tobytes()
    return ItemRow(json.dumps(body, allow_nan=False), play, encode_payload(item.payload))


def decode_item(row: ItemRow) -> Item:
    """The item of a row."""
    body = json.loads(row.body)
    play = np.frombuffer(row.play, np.float64)  # read-only, as every play handed out
    return Item(
        id=id_of(body["id"]),
        tracked=body["tracked"],
        released=tuple(id_of(id) for id in body["released"]),
        answer=Answer(body["answer"]),
        play=play,
        payload=_payload_of(row.payload),
        gathered=tuple(body["gathered"]),
        keys=tuple(id_of(key) for key in body["keys"]),
    )


def encode_payload(payload: Any) -> bytes | None:
    """A payload as bytes: bytes as they are, JSON values as text."""
    if payload is None:
        return None
    if isinstance(payload, bytes):
        return _BYTES + payload
    return _JSON + text_of(payload, "features", "JSON values or bytes").encode()


def plain_payload(payload: Any) -> Any:
    """A payload as a JSON value."""
    return {"bytes": b64encode(payload).decode()} if isinstance(payload, bytes) else payload


def _payload_of(data: bytes | None) -> Any:
    if data is None:
        return None
    return bytes(data[1:]) if data[:1] == _BYTES else json.loads(data[1:])


def plain_id(id: Hashable) -> Any:
    """An id as a JSON value."""
    return {"bytes": b64encode(id).decode()} if isinstance(id, bytes) else id


def id_of(plain: Any) -> Hashable:
    """The id of a JSON value."""
    return b64decode(plain["bytes"]) if isinstance(plain, dict) else plain
