"""Values as JSON text, or a sentence that names the part which JSON does not have."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

_DEEP = 30  # letters of a path; a value may contain itself


def text_of(value: Any, what: str, takes: str = "JSON values") -> str:
    """A value as JSON text.

    >>> text_of({"a": [1, None]}, "features")
    '{"a": [1, null]}'
    """
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        part, path = _offender(value)
        raise ValueError(
            f"a durable store takes {takes}, got {brief(part)} as {what}{path and f' at {path}'}: {_way_out(part)}"
        ) from error
    alike = _alike(value)
    if alike is not None:
        raise ValueError(
            f"a durable store writes keys as texts, and {what} would have the key {alike} twice: rename one of the two"
        )
    return text


def _alike(value: Any) -> str | None:
    """The text that two keys of a dictionary, here or further in, have in JSON."""
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            keys = [json.dumps(key if isinstance(key, str) else json.dumps(key)) for key in value]
            if len(set(keys)) < len(keys):
                return next(key for i, key in enumerate(keys) if key in keys[:i])
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return None
    return next((found for part in value if (found := _alike(part)) is not None), None)


def brief(value: Any) -> str:
    """A value as a few words."""
    kind = f"a {type(value).__name__}"
    try:
        text = kind if isinstance(value, (list, tuple, dict)) else repr(value)
    except ValueError:  # a whole number of too many digits
        text = kind
    return text if len(text) <= 80 else f"{text[:77]}…"


def _offender(value: Any, path: str = "") -> tuple[Any, str]:
    """The innermost part that is no JSON value, and where it is."""
    parts: Any = ()
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, (list, tuple)):
        parts = enumerate(value)
    for key, part in parts:
        if len(path) < _DEEP and not _is_json(part):
            return _offender(part, f"{path}[{key!r}]")
    return value, path


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _way_out(part: Any) -> str:
    if isinstance(part, float) and not isfinite(part):
        return "JSON has no such number, so give None or a text instead"
    if isinstance(part, (dict, list, tuple)):
        return "keys must be texts, and nothing may contain itself"
    if hasattr(part, "tolist"):
        return "convert it, for example with .tolist()"
    return "convert it to texts, numbers, and lists or dictionaries of them"
