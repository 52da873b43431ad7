"""Ids and answers as JSON has them, for the command line and the service."""

from __future__ import annotations

from base64 import b64decode
from datetime import date
from math import isfinite
from typing import Any

import numpy as np

from tarry.live.batches import is_missing
from tarry.live.encoding import plain_id
from tarry.live.values import brief
from tarry.outcomes import Answer


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


def plain(value: Any) -> Any:
    """Return a value as JSON has it: names for answers, objects for named tuples, null for numbers not finite.

    Features may be dates, decimals and the like, which are printed as texts; the row is given out and must not be lost.
    """
    if isinstance(value, Answer):  # before numbers, for to JSON it would be one
        return value.name.lower()
    if isinstance(value, bytes):
        return plain_id(value)
    if hasattr(value, "_asdict"):  # before tuples, for a named one is an object
        return plain(value._asdict())
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray):
        return [plain(part) for part in value] if value.ndim else plain(value[()])
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if isinstance(value, np.floating):
        value = float(value)
    if isinstance(value, (np.integer, np.bool_)):
        value = value.item()
    if value is None or isinstance(value, (str, int)):
        return value
    if is_missing(value):
        return None
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value.isoformat() if isinstance(value, date) else str(value)
