"""A session laid open: its ledger, the fates of its last rounds, and everything it keeps, as plain values."""

from __future__ import annotations

import json
from typing import Any

from tarry._version import __version__
from tarry.live.configuration import encode
from tarry.live.items import encode_payload, plain_id, plain_payload
from tarry.live.status import Status, read_status
from tarry.live.tracker import Tracker


def ledger_of(tracker: Tracker, last: int = 0) -> dict[str, Any]:
    """Rounds by fate with their sum, and the fates of the last rounds, newest first."""
    with tracker.vault.lock, tracker.vault.reading:
        fates = tracker.ledger()
        told: dict[str, Any] = {"rounds": tracker.rounds, "fates": fates, "sum": sum(fates.values())}
        if last:
            oldest = max(0, tracker.rounds - min(last, tracker.memory))
            told["last"] = [_entry(tracker, t) for t in range(tracker.rounds, oldest, -1)]
    return told


def export_of(tracker: Tracker, *, payloads: bool) -> dict[str, Any]:
    """Configuration, status, ledger and tracked rounds."""
    with tracker.vault.lock, tracker.vault.reading:
        status = read_status(tracker)
        tracked = [_kept(tracker, t, payloads) for t in sorted(tracker.vault.tracked)]
        is_numbered = tracker.is_numbered
    return {
        "version": __version__,
        "configuration": json.loads(encode(tracker.configuration)),
        "is_numbered": is_numbered,
        "status": _plain_status(status),
        "tracked": tracked,
    }


def _plain_status(status: Status) -> dict[str, Any]:
    """A status as plain values: its parts are named tuples."""
    parts = status._asdict().items()
    return {name: part._asdict() if hasattr(part, "_asdict") else part for name, part in parts}


def _entry(tracker: Tracker, t: int) -> dict[str, Any]:
    """A round with its fate; its id where that is still kept."""
    vault, item = tracker.vault, tracker.vault.item(t)
    number = t if tracker.is_numbered else None
    return {
        "round": t,
        "id": number if item is None else plain_id(item.id),
        "fate": "pending" if t in vault.tracked else vault.fates.fate(t).name.lower(),
        "answered": vault.fates.was_answered(t),
    }


def _kept(tracker: Tracker, t: int, payloads: bool) -> dict[str, Any]:
    item = tracker.vault.item(t)
    assert item is not None  # a tracked round is always kept
    kept: dict[str, Any] = {"round": t, "id": plain_id(item.id)}
    if item.play is not None and item.play.size:
        kept["play"] = item.play.tolist()
    if payloads:
        kept["payload"] = plain_payload(item.payload)
    else:
        kept["payload_bytes"] = _size(item.payload)
    return kept | {"gathered": list(item.gathered), "keys": [plain_id(key) for key in item.keys]}


def _size(payload: Any) -> int | None:
    """Bytes a payload takes in a store; nothing is known of objects that could not be stored."""
    try:
        data = encode_payload(payload)
    except ValueError:
        return None
    return 0 if data is None else len(data) - 1
