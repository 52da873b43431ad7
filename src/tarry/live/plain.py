"""Ids as a caller of the command line writes them in JSON."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from tarry.live.values import brief


def is_bytes(plain: Any) -> bool:
    """Return whether a JSON value is how bytes are written."""
    return isinstance(plain, dict) and [*plain] == ["bytes"]


def named(plain: Any) -> Any:
    """Return the id or key that a caller wrote as JSON; raise ValueError for bytes that are not base64."""
    if not is_bytes(plain):
        return plain
    try:
        return b64decode(plain["bytes"], validate=True)
    except (TypeError, ValueError):
        raise ValueError(f"the bytes {brief(plain['bytes'])}, which are not base64") from None
