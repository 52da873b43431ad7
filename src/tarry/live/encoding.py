"""Values, ids and rows as JSON and bytes: what a durable store can hold, checked before anything is stored.

The limits are the same for every process, whatever its own recursion limit is: what one may write, all can read.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Hashable
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import numpy as np

from tarry.errors import StoreError
from tarry.outcomes import Answer

if TYPE_CHECKING:
    from tarry.live.stores import Store

DEEPEST = 100  # levels of nesting: Python reads about ten times as many, unless it is deep in calls already
LARGEST_TEXT = 1 << 26  # bytes of one payload or label: far below what SQLite and PostgreSQL take for one value
_MOST_DIGITS = 4000  # of a whole number: Python refuses to read more than 4300
_MOST_BITS = int(_MOST_DIGITS * 3.3)
_LONG_PATH = 60  # letters of a path that are shown
_LARGEST_ID = 1 << 1024
_to_json = json.JSONEncoder(allow_nan=False).encode  # json.dumps would make an encoder for each call
_JSON, _BYTES = b"j", b"b"  # the first byte of a payload says what the others are


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


def text_of(value: Any, what: str, takes: str = "JSON values") -> str:
    """Return a value as JSON text; raise ValueError naming the part that JSON does not have or that is too much."""
    _check_json(value, what, takes)
    text = _to_json(value)
    _check_length(text, what)
    return text


def _check_length(data: str | bytes, what: str) -> None:
    """Refuse a text or bytes that are too long to be stored."""
    if len(data) > LARGEST_TEXT:
        problem = f"a durable store takes at most {LARGEST_TEXT} bytes at once, got {len(data)} as {what}"
        raise ValueError(f"{problem}: keep them elsewhere and store where they are")


def _check_json(value: Any, what: str, takes: str, path: tuple[Any, ...] = ()) -> None:
    """Raise ValueError naming the part of a value that JSON does not have, or that not every process could read."""
    if value is None or isinstance(value, str) or (isinstance(value, float) and isfinite(value)):
        return
    if isinstance(value, int):
        if value.bit_length() > _MOST_BITS:
            most = f"whole numbers of at most {_MOST_DIGITS} digits"
            raise ValueError(f"a durable store takes {most}, got more in {what}: write a text")
        return
    is_known = isinstance(value, (list, tuple, dict))
    if isinstance(value, dict) and not all(isinstance(key, str) for key in value):
        try:
            keys = [_to_json({key: 0})[1:-4] for key in value]
        except (TypeError, ValueError):
            is_known = False
        else:
            again = next((key for i, key in enumerate(keys) if key in keys[:i]), None)
            if again is not None:
                problem = f"a durable store writes keys as texts, and {what} would have the key {again} twice"
                raise ValueError(f"{problem}: rename one of the two")
    if not is_known:
        place = "".join(f"[{key!r}]" for key in path)
        place = f" at {place if len(place) < _LONG_PATH else f'{place[:_LONG_PATH]}…'}" if place else ""
        raise ValueError(f"a durable store takes {takes}, got {brief(value)} as {what}{place}: {_way_out(value)}")
    if len(path) == DEEPEST:
        problem = f"a durable store takes at most {DEEPEST} levels of nesting, got more in {what}"
        raise ValueError(f"{problem}: flatten it; nothing may contain itself")
    for key, part in value.items() if isinstance(value, dict) else enumerate(value):
        _check_json(part, what, takes, (*path, key))


def brief(value: Any) -> str:
    """Return a value as a few words."""
    kind = f"a {type(value).__name__}"
    try:
        text = kind if isinstance(value, (list, tuple, dict)) else repr(value)
    except ValueError:  # a whole number of too many digits
        text = kind
    return text if len(text) <= 80 else f"{text[:77]}…"


def _way_out(part: Any) -> str:
    if isinstance(part, float) and not isfinite(part):
        return "JSON has no such number, so give None or a text instead"
    if isinstance(part, dict):
        return "keys must be texts"
    if hasattr(part, "tolist"):
        return "convert it, for example with .tolist()"
    return "convert it to texts, numbers, and lists or dictionaries of them"


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


def row_checksum(t: int, body: Any, play: Any, payload: Any) -> int:
    """Return a checksum of a row and the round it belongs to; -1 of what is no row."""
    if not (isinstance(body, str) and isinstance(play, bytes) and isinstance(payload or b"", bytes)):
        return -1  # SQLite's columns have no fixed type: damage may turn bytes into a number
    return crc32(payload or b"", crc32(play, crc32(body.encode(), t & 0xFFFFFFFF)))


def encode_payload(payload: Any) -> bytes | None:
    """Return a payload as bytes: bytes as they are, JSON values as text."""
    if payload is None:
        return None
    if isinstance(payload, bytes):
        _check_length(payload, "features")
        return _BYTES + payload
    return _JSON + text_of(payload, "features", "JSON values or bytes").encode()


class Rows:
    """Items by round, in a store: read when they are asked for, written with the next commit."""

    def __init__(self, store: Store) -> None:
        self._store, self.pack = store, encode_payload
        self._kept: dict[int, Item] = {}
        self.touched: dict[int, ItemRow | None] = {}

    def get(self, t: int) -> Item | None:
        """Return the item of round t, its payload packed; raise StoreError if its row is damaged or unreadable here."""
        kept = self._kept.get(t)
        row = self._store.row(t) if kept is None and t not in self.touched else None
        if row is None:
            return kept
        if row_checksum(t, *row[:3]) != row.checksum:
            raise damaged(self._store.where, f"round {t} of tarry_items")
        try:
            body = json.loads(row.body)
            kept = Item(
                id=id_of(body["id"]),
                tracked=body["tracked"],
                released=tuple(id_of(id) for id in body["released"]),
                answer=Answer(body["answer"]),
                play=np.frombuffer(row.play, np.float64),  # read-only, as every play handed out
                payload=row.payload,
                gathered=tuple(body["gathered"]),
                keys=tuple(id_of(key) for key in body["keys"]),
            )
        except (RecursionError, ValueError, KeyError, TypeError) as error:
            raise Unreadable(f"the row of round {t} cannot be read ({brief(str(error))}): expire it") from error
        if t > 0:  # rows of an outbox are read once, and may be many
            self._kept[t] = kept
        return kept

    def __setitem__(self, t: int, item: Item) -> None:
        body = {
            "id": plain_id(item.id),
            "tracked": item.tracked,
            "released": [plain_id(id) for id in item.released],
            "answer": int(item.answer),
            "gathered": item.gathered,
            "keys": [plain_id(key) for key in item.keys],
        }
        play = b"" if item.play is None else item.play.tobytes()
        text = _to_json(body)
        self.touched[t] = ItemRow(text, play, item.payload, row_checksum(t, text, play, item.payload))
        if t > 0:
            self._kept[t] = item

    def pop(self, t: int, default: None = None) -> None:
        """Keep nothing for round t any more."""
        self._kept.pop(t, default)
        self.touched[t] = None

    def clear(self) -> None:
        """Forget what was read and what was to be written."""
        self._kept.clear()
        self.touched.clear()

    def unpack(self, payload: bytes | None) -> Any:
        """Return the payload of bytes; raise Unreadable if this process cannot read it."""
        if payload is None:
            return None
        if payload[:1] == _BYTES:
            return bytes(payload[1:])
        try:
            return json.loads(payload[1:])
        except (RecursionError, ValueError) as error:
            said = brief(str(error))
            raise Unreadable(f"the features stored here cannot be read ({said}): expire their round") from error

    def pack_label(self, label: Any, what: str) -> Any:
        """Return a label as other processes will read it; the caller's own object may change."""
        return json.loads(text_of(label, what))
