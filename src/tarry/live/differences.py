"""Where two configurations differ, in the words of whoever gave them."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import numpy as np

_ABSENT: Any = object()
_SHOWN = 6  # entries of an array


def difference(was: Any, now: Any) -> tuple[str, str, str]:
    """The first place at which two plain values differ, and what stands there; the place is empty for all of them.

    >>> difference({"labels": "sum"}, {"labels": "first"})
    ('labels', "'sum'", "'first'")
    """
    before, after = _parts(was), _parts(now)
    if before is None or after is None or _kind(was) != _kind(now):
        return "", _shown(was), _shown(now)
    for name in dict.fromkeys([*before, *after]):
        one, other = before.get(name, _ABSENT), after.get(name, _ABSENT)
        if one != other:
            path, then, today = difference(one, other)
            return _joined(name, path), then, today
    return "", _shown(was), _shown(now)


def _joined(name: str, path: str) -> str:
    return f"{name}{'' if not path or path.startswith('[') else '.'}{path}"


def _kind(plain: Any) -> Any:
    return (plain.get("type"), plain.get("array"), plain.get("shape"))


def _parts(plain: Any) -> dict[str, Any] | None:
    """The named parts of a plain value: fields, entries of an array, keys; None where it has none."""
    if not isinstance(plain, dict) or "float" in plain or "function" in plain:
        return None
    if "array" in plain:
        return {str(list(place)): value for place, value in np.ndenumerate(_array(plain))}
    return plain["fields"] if "type" in plain else plain


def _array(plain: dict[str, Any]) -> np.ndarray:
    return np.frombuffer(b64decode(plain["data"]), np.dtype(plain["array"])).reshape(plain["shape"])


def _shown(plain: Any) -> str:
    if plain is _ABSENT:
        return "none"
    if isinstance(plain, np.generic):
        return repr(plain.item())
    if not isinstance(plain, dict):
        return repr(plain)
    if "type" in plain:
        inner = ", ".join(f"{n}={_shown(v)}" for n, v in plain["fields"].items())
        return f"{plain['type'].split(':')[1]}({inner})"
    if "array" in plain:
        entries = _array(plain).ravel()
        listed = ", ".join(repr(entry) for entry in entries[:_SHOWN].tolist())
        return f"[{listed}{', …' if entries.size > _SHOWN else ''}]"
    return str(plain.get("float") or plain.get("function") or plain)
