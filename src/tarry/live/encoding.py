"""Ids and rows as JSON and bytes: what a durable store keeps of a round."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import numpy as np

from tarry.errors import StoreError
from tarry.live.values import brief, check_length, decoded, encoded, has_marks, text_of, to_json
from tarry.outcomes import Answer

if TYPE_CHECKING:
    from tarry.live.stores import Store

_LARGEST_ID = 1 << 1024
# The first byte of a payload says what the others are: bytes, JSON, or JSON that stands for other values.
_BYTES, _JSON, _TYPED = b"b", b"j", b"t"
_LABELS, _TYPED_LABELS = "gathered", "typed"  # so do the names of the labels in a row


class Unreadable(StoreError):
    """A row that this process cannot read, though it is as it was written; other rounds are not harmed."""


def damaged(where: str, place: str) -> StoreError:
    """Return what to raise about a place in the tables."""
    return StoreError(f"{where} is damaged ({place}) and was left as it is: restore a copy")


def as_id(id: Any) -> Hashable:
    """Return an id that can be stored and compared anywhere: a string, a whole number or bytes."""
    if type(id) is str or (type(id) is int and -_LARGEST_ID < id < _LARGEST_ID):
        return id
    if isinstance(id, np.integer):
        return int(id)
    if isinstance(id, str):
        return str.__str__(id)
    if isinstance(id, bytes):
        return bytes(id)
    if isinstance(id, int) and not isinstance(id, bool):
        if -_LARGEST_ID < id < _LARGEST_ID:
            return int(id)
        raise ValueError(f"an id that is a number must lie below 2¹⁰²⁴, got one of {id.bit_length()} bits")
    way = "leave out rows without one" if id is None else "use str(…) of it"
    if isinstance(id, float):
        cause = "pandas makes such numbers of a column of whole ones that has a gap"
        way = f"{cause}, so drop the rows without an id and give whole numbers or texts"
    elif hasattr(id, "_fields") and hasattr(id, "id"):  # a ticket, or a round
        way = f"give {type(id).__name__.lower()}.id, here {id.id!r}"
    raise TypeError(f"an id must be a string, a whole number or bytes, got {id!r}: {way}")


def plain_id(id: Hashable) -> Any:
    """Return an id as a JSON value."""
    return {"bytes": b64encode(id).decode()} if isinstance(id, bytes) else id


def id_of(plain: Any) -> Hashable:
    """Return the id of a JSON value."""
    return b64decode(plain["bytes"]) if isinstance(plain, dict) else plain


class Item(NamedTuple):
    """What is kept of a tracked or recent round: how it was opened, and while tracked, what the caller left with it.

    ``payload`` is as its container packed it. ``gathered`` are the labels that have come so far, where a decision may
    have several, and ``keys`` the names that some of them came under.
    """

    id: Hashable
    tracked: bool
    released: tuple[Hashable, ...]
    answer: Answer
    play: np.ndarray | None
    payload: Any = None
    gathered: tuple[Any, ...] = ()
    keys: tuple[Hashable, ...] = ()


class ItemRow(NamedTuple):
    """An item as text and bytes, with a checksum of them and of the round they belong to."""

    body: str
    play: bytes
    payload: bytes | None
    checksum: int


class Objects(dict[int, Item]):
    """Items by round, in memory: the caller's own objects."""

    def pack(self, value: Any, _: str = "") -> Any:
        """Return a payload or label, which is kept as it was given."""
        return value

    unpack = pack_label = pack

    def stored(self, t: int) -> ItemRow | None:
        """Return the row of round t as a store would keep it; raise ValueError about features that none can."""
        item = self.get(t)
        return None if item is None else row_of(t, item._replace(payload=encode_payload(item.payload)))


def row_checksum(t: int, body: Any, play: Any, payload: Any) -> int:
    """Return a checksum of a row and the round it belongs to; -1 of what is no row."""
    if not (isinstance(body, str) and isinstance(play, bytes) and isinstance(payload or b"", bytes)):
        return -1  # SQLite's columns have no fixed type: damage may turn bytes into a number
    return crc32(payload or b"", crc32(play, crc32(body.encode(), t & 0xFFFFFFFF)))


def encode_payload(payload: Any) -> bytes | None:
    """Return a payload as bytes: bytes as they are, other values as text."""
    if payload is None:
        return None
    if type(payload) is bytes:
        check_length(payload, "features")
        return _BYTES + payload
    text = text_of(payload, "features")
    return (_TYPED if has_marks(text) else _JSON) + text.encode()


def decode_payload(payload: bytes | None) -> Any:
    """Return the payload of bytes; raise Unreadable if this process cannot read it."""
    if payload is None:
        return None
    if payload[:1] == _BYTES:
        return bytes(payload[1:])
    try:
        plain = json.loads(payload[1:])
        return decoded(plain) if payload[:1] == _TYPED else plain
    except (RecursionError, ValueError, KeyError, TypeError) as error:  # a zone of another machine is a key
        said = brief(str(error))
        raise Unreadable(f"the features stored here cannot be read ({said}): expire their round") from error


def _labels(gathered: tuple[Any, ...]) -> dict[str, Any]:
    """Return the labels of a row as JSON has them, under the name that says how to read them."""
    plain = [encoded(label, "a label") for label in gathered]
    return {_TYPED_LABELS if has_marks(to_json(plain)) else _LABELS: plain}


def row_of(t: int, item: Item) -> ItemRow:
    """Return the row of round t, whose payload is packed."""
    body = {
        "id": plain_id(item.id),
        "tracked": item.tracked,
        "released": [plain_id(id) for id in item.released],
        "answer": int(item.answer),
        **(_labels(item.gathered) if item.gathered else {_LABELS: ()}),
        "keys": [plain_id(key) for key in item.keys],
    }
    play, text = b"" if item.play is None else item.play.tobytes(), to_json(body)
    return ItemRow(text, play, item.payload, row_checksum(t, text, play, item.payload))


def item_of(t: int, row: ItemRow) -> Item:
    """Return the item of a row, its payload packed; raise Unreadable if this process cannot read it."""
    try:
        body = json.loads(row.body)
        return Item(
            id=id_of(body["id"]),
            tracked=body["tracked"],
            released=tuple(id_of(id) for id in body["released"]),
            answer=Answer(body["answer"]),
            play=np.frombuffer(row.play, np.float64),  # read-only, as every play handed out
            payload=row.payload,
            gathered=tuple(decoded(body[_TYPED_LABELS]) if _TYPED_LABELS in body else body[_LABELS]),
            keys=tuple(id_of(key) for key in body["keys"]),
        )
    except (RecursionError, ValueError, KeyError, TypeError) as error:
        raise Unreadable(f"the row of round {t} cannot be read ({brief(str(error))}): expire it") from error


class Restored(Objects):
    """Items of a join that was made from bytes: those nobody asks for stay as they came."""

    def __init__(self, rows: dict[int, ItemRow]) -> None:
        super().__init__()
        self._rows = rows

    def get(self, t: int, default: Any = None) -> Any:
        """Return the item of round t; raise Unreadable if this process cannot read it."""
        kept = super().get(t, default)
        row = self._rows.get(t) if kept is default else None
        if row is None:
            return kept
        item = item_of(t, row)
        return item._replace(payload=decode_payload(item.payload))

    def __setitem__(self, t: int, item: Item) -> None:
        self._rows.pop(t, None)
        super().__setitem__(t, item)

    def pop(self, t: int, default: Any = None) -> Any:
        """Keep nothing for round t any more."""
        self._rows.pop(t, None)
        return super().pop(t, default)

    def stored(self, t: int) -> ItemRow | None:
        """Return the row of round t, as it came where nothing has changed it."""
        return self._rows.get(t) or super().stored(t)


class Rows:
    """Items by round, in a store: read when they are asked for, written with the next commit."""

    def __init__(self, store: Store) -> None:
        self._store, self.pack, self.unpack = store, encode_payload, decode_payload
        self._kept: dict[int, Item] = {}
        self.touched: dict[int, ItemRow | None] = {}
        self.writes = 0  # how often something was touched

    def get(self, t: int) -> Item | None:
        """Return the item of round t, its payload packed; raise StoreError if its row is damaged or unreadable here."""
        kept = self._kept.get(t)
        row = self.stored(t) if kept is None and t not in self.touched else None
        if row is None:
            return kept
        kept = item_of(t, row)
        if t > 0:  # rows of an outbox are read once, and may be many
            self._kept[t] = kept
        return kept

    def stored(self, t: int) -> ItemRow | None:
        """Return the row of round t as it is in the store; raise StoreError if it is damaged."""
        row = self._store.row(t)
        if row is not None and row_checksum(t, *row[:3]) != row.checksum:
            raise damaged(self._store.where, f"round {t} of tarry_items")
        return row

    def __setitem__(self, t: int, item: Item) -> None:
        self.touched[t] = row_of(t, item)
        self.writes += 1
        if t > 0:
            self._kept[t] = item

    def pop(self, t: int, default: None = None) -> None:
        """Keep nothing for round t any more."""
        self._kept.pop(t, default)
        self.touched[t] = None
        self.writes += 1

    def clear(self) -> None:
        """Forget what was read and what was to be written."""
        self._kept.clear()
        self.touched.clear()

    def pack_label(self, label: Any, what: str) -> Any:
        """Return a label as other processes will read it; the caller's own object may change."""
        text = text_of(label, what)
        plain = json.loads(text)
        return decoded(plain) if has_marks(text) else plain
